"""Serve HTTP, whoever it is for."""
