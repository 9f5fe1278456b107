"""Write merge patches as fast as the standard library can: the floor of the scale bench."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit


def patch_all(
    url: str,
    authority: Path,
    token: str,
    namespace: str,
    pods: Sequence[str],
    value: str,
    connections: int,
) -> float:
    """Patch one annotation of each pod's status over as many kept-alive connections; return the seconds. Raises AssertionError."""
    context = ssl.create_default_context(cafile=authority)
    host = urlsplit(url).netloc
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/merge-patch+json",
        "Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    }
    failures: list[str] = []

    def work(mine: Sequence[str]) -> None:
        connection = http.client.HTTPSConnection(host, context=context, timeout=30)
        for pod in mine:
            body = json.dumps(
                {"metadata": {"annotations": {"example.com/a": value, "example.com/b": value}}}
            )
            connection.request(
                "PATCH", f"/api/v1/namespaces/{namespace}/pods/{pod}/status", body, headers
            )
            response = connection.getresponse()
            response.read()
            if response.status != 200:
                failures.append(f"{pod}: {response.status}")
        connection.close()

    threads = [
        Thread(target=work, args=(pods[number::connections],)) for number in range(connections)
    ]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise AssertionError(f"{len(failures)} patches failed: {failures[0]}")
    return time.monotonic() - begun
