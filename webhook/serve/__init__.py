"""Serve admission, dry runs, health and metrics over HTTP.

``run`` prepares what is served from the settings; ``process`` serves it on one event loop until SIGTERM. Of ``webhook.http``,
``listener`` and ``connection`` own sockets, TLS and HTTP/1.1, and ``endpoint`` takes whole bodies within bounds. ``admission`` answers
reviews at once, and in a thread of ``pool`` those that must ask the cluster.

Dry run, page and state are a Flask application in ``page``, which another process runs: ``page_process`` starts it and passes bytes on,
``questions`` tells it what it asks of the cluster. ``profiles_process`` reads the profiles in a process too; ``slot`` lets one of the
two run at a time.
"""
