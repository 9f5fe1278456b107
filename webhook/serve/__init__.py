"""Serve admission, dry runs, health and metrics over HTTP.

``run`` prepares what is served, and serves it on one event loop until SIGTERM. ``admission``
answers reviews at once, and in a thread those that must ask the cluster. ``dry_runs`` answers on a
loopback port, in a thread of its own. ``watches`` look again and again at what changes outside.
"""
