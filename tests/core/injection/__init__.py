"""Tests of what is injected."""
