"""Serve admission, dry runs, health and metrics over HTTP.

``run`` prepares what is served from the settings; ``process`` serves it on one event loop until SIGTERM.
``admission`` answers reviews at once, and in a thread those that must ask the cluster. ``dry_runs``
serves dry runs on a loopback port, in threads of its own.
"""
