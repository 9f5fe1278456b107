"""Measure what an admission costs, beside a floor measured in the same run: ``python -m tests.bench.admission``."""
