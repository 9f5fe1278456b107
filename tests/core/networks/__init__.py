"""Tests of the networks annotation and of networks."""
