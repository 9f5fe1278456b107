"""Broken situations on two nodes, and what is said of each first: the table is situations.py."""
