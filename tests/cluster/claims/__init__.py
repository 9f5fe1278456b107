"""Devices by claims: DRANET and the test driver of Kubernetes, on a node with containerd 2."""
