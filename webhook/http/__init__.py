"""Serve HTTP for both processes: connections and their bounds, refusals, health, metrics, logs."""
