"""Tests of what `check` judges."""
