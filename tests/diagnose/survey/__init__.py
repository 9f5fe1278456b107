"""Tests of what `survey` judges."""
