"""Measure what an admission costs, beside the peer in the same run: ``make bench``."""
