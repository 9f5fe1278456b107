"""Tests of workload manifests."""
