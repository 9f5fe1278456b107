"""Operators that run as pods of the node, with torch, and the jobs that they are given."""
