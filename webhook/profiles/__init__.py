"""Describe fabrics: what an admin writes in profiles.yaml."""
