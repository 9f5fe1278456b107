"""Tests with pods that run: a real kubelet, containerd, Multus and macvlan on this machine."""
