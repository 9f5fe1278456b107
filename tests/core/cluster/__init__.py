"""Tests of what profiles need of a cluster."""
