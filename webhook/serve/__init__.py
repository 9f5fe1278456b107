"""Serve admission, dry runs, health and metrics over HTTP.

``run`` prepares what is served from the settings; ``process`` serves it on one event loop until SIGTERM. Of ``webhook.http``,
``listener`` and ``connection`` own sockets and TLS, and ``bridge`` reads whole bodies and hands them to a Flask application in a thread
of ``pool``. Flask knows nothing of uvicorn, nor uvicorn of Flask.

Dry run, page and state are in ``page``, which another process runs: ``page_process`` starts it and passes bytes on, ``questions`` tells
it what it asks of the cluster. ``profiles_process`` reads the profiles in a process too; ``slot`` lets one of the two run at a time.
"""
