"""Jobs whose cards are claims: DRANET and Kubernetes' DRA test driver, with containerd 2."""
