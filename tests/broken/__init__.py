"""Broken situations on a real cluster of two nodes, and what `explain` and `status` say of each first: the table is situations.py."""
