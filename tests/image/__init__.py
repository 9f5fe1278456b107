"""The container image: built from the Dockerfile without a registry, and run as a cluster would run it."""
