"""Make what a release publishes: ``python -m tests.release --help``."""
