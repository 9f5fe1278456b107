"""Inject what a plan asks for: one file for each row of the injection table, in the order that steps.py gives."""
