"""Tests of what admission asks of a cluster."""
