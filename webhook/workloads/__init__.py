"""Recognise the pods of training systems: one file for each system."""
