"""Tests of how a test of the fabric is made and judged."""
