"""See on a watch when the last pod of a job was told its address, at little cost to what is measured."""

from __future__ import annotations

import re
import threading
import time
from contextlib import suppress
from pathlib import Path

import urllib3
import urllib3.exceptions

from webhook.core import names

_NAME = re.compile(rb'"name":"([^"]+)"')
_TOLD = re.compile(rb'"%s":"([^"]*)"' % re.escape(names.MASTER_ADDR).encode())


class Witness:
    """Watch the pods of a namespace from now on; ``writes`` counts the events in which an address had changed."""

    def __init__(self, url: str, authority: Path, token: str, namespace: str) -> None:
        self._pool = urllib3.PoolManager(ca_certs=str(authority), retries=False)
        self._url = f"{url}/api/v1/namespaces/{namespace}/pods"
        self._headers = {"Authorization": f"Bearer {token}"}
        self._told: dict[bytes, bytes] = {}
        self._changed = threading.Condition()
        self.writes = 0
        version = self._pool.request("GET", f"{self._url}?limit=1", headers=self._headers).json()["metadata"][
            "resourceVersion"
        ]
        threading.Thread(target=self._watch, args=(version,), daemon=True).start()

    def wait(self, address: str, pods: int, seconds: float) -> float:
        """Return the monotonic time at which that many pods had been told *address*. Raises TimeoutError."""
        wanted = address.encode()
        deadline = time.monotonic() + seconds
        with self._changed:
            while sum(1 for found in self._told.values() if found == wanted) < pods:
                if not self._changed.wait(deadline - time.monotonic()):
                    raise TimeoutError(f"not all of {pods} pods were told {address} within {seconds:g} s")
            return time.monotonic()

    def _watch(self, version: str) -> None:
        partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
        response = self._pool.request(
            "GET",
            f"{self._url}?watch=true&resourceVersion={version}",
            headers={**self._headers, "Accept": partial},
            preload_content=False,
        )
        rest = b""
        with suppress(urllib3.exceptions.ProtocolError):  # the server ends before this does
            while piece := response.read1(1 << 16):
                *lines, rest = (rest + piece).split(b"\n")
                self._see(lines)

    def _see(self, lines: list[bytes]) -> None:
        with self._changed:
            for line in lines:
                name, told = _NAME.search(line), _TOLD.search(line)
                if name and told and self._told.get(name[1]) != told[1]:
                    self._told[name[1]] = told[1]
                    self.writes += 1
            self._changed.notify()
