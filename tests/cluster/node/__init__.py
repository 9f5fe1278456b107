"""A node that runs pods: kubelet, containerd, Multus and macvlan on this machine."""
