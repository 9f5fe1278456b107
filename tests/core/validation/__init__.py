"""Tests of what is said of namespaces and profiles."""
