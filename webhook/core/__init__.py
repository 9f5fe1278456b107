"""Decide about a pod: values in, values out."""
