"""Make what a release publishes: ``python -m tests.release --help``, which the workflow and `make release-dry-run` call."""
