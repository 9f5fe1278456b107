"""Inject what a plan asks for: one file for each row of the injection table."""
