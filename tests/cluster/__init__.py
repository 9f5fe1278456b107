"""Clusters for tests: API servers, nodes that run pods, operators and claims, for every tier."""
