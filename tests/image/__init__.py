"""The container image: built from the Dockerfile without a registry, and run."""
