"""Tests of `check` and `explain`."""
