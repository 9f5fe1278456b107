"""Serve admission, dry runs, health and metrics over HTTP.

``run`` wires one process: three listeners on one event loop. ``connection`` and ``listener`` own sockets and TLS, ``bridge``
reads whole bodies and hands them to a Flask application (``admission``, ``dry_run``, ``health``) in a thread of ``pool``. Flask
knows nothing of uvicorn, and uvicorn nothing of Flask.
"""
