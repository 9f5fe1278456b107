"""Tests of what `explain` judges."""
