"""Tests of the dry run."""
