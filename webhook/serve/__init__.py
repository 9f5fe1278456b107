"""Serve admission, dry runs, health and metrics over HTTP.

``run`` prepares what is served from the settings; ``process`` serves it with three listeners on one event loop until SIGTERM. Of
``webhook.http``, ``listener`` and ``connection`` own sockets and TLS, and ``bridge`` reads whole bodies and hands them to a Flask
application (``admission``, ``dry_run``, ``health``) in a thread of ``pool``. Flask knows nothing of uvicorn, nor uvicorn of Flask.
"""
