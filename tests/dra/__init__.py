"""Jobs whose cards are claims: DRANET and Kubernetes' DRA test driver on a node with containerd 2, which has CDI and NRI."""
