"""Tests of what `check` and `explain` read."""
