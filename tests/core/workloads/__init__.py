"""Tests of the training systems."""
