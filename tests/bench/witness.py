"""See on a watch when the last pod of a job was told its address, at little cost to what is measured."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import urllib3
import urllib3.exceptions

from webhook.core import names

_NAME = re.compile(rb'"name":"([^"]+)"')
_PARTIAL = "application/json;as={};g=meta.k8s.io;v=v1"
_TOLD = re.compile(rb'"%s":"([^"]*)"' % re.escape(names.MASTER_ADDR).encode())


class Witness:
    """Watch the pods of a namespace from now on; ``writes`` counts the changes of an address that were seen."""

    def __init__(self, url: str, authority: Path, token: str, namespace: str) -> None:
        self._pool = urllib3.PoolManager(ca_certs=str(authority), retries=False)
        self._url = f"{url}/api/v1/namespaces/{namespace}/pods"
        self._headers = {"Authorization": f"Bearer {token}"}
        self._told: dict[str, str] = {}
        self._pods_by_address: Counter[str] = Counter()
        self._changed = threading.Condition()
        self.writes = 0
        version = self._list(limit="1")["metadata"]["resourceVersion"]
        threading.Thread(target=self._follow, args=(version,), daemon=True).start()

    def wait(self, address: str, pods: int, seconds: float) -> float:
        """Return the monotonic time at which that many pods had been told *address*. Raises TimeoutError."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while (found := self._pods_by_address[address]) < pods:
                if not self._changed.wait(deadline - time.monotonic()):
                    raise TimeoutError(
                        f"{found} of {pods} pods were told {address} within {seconds:g} s"
                    )
            return time.monotonic()

    def _list(self, **query: str) -> Any:
        headers = {**self._headers, "Accept": _PARTIAL.format("PartialObjectMetadataList")}
        return self._pool.request("GET", self._url, fields=query, headers=headers).json()

    def _follow(self, version: str) -> None:
        """Watch; the API server ends the watch of one that reads too slowly, and all is listed then."""
        with suppress(urllib3.exceptions.HTTPError):  # the server ends before this does
            while True:
                self._watch(version)
                found = self._list()
                version = found["metadata"]["resourceVersion"]
                annotations = (
                    (pod["metadata"]["name"], pod["metadata"].get("annotations", {}))
                    for pod in found["items"]
                )
                self._see(
                    (name, told[names.MASTER_ADDR])
                    for name, told in annotations
                    if names.MASTER_ADDR in told
                )

    def _watch(self, version: str) -> None:
        response = self._pool.request(
            "GET",
            self._url,
            fields={"watch": "true", "resourceVersion": version},
            headers={**self._headers, "Accept": _PARTIAL.format("PartialObjectMetadata")},
            preload_content=False,
        )
        rest = b""
        with suppress(urllib3.exceptions.ProtocolError):  # it was cut off
            while piece := response.read1(1 << 16):
                *lines, rest = (rest + piece).split(b"\n")
                found = ((_NAME.search(line), _TOLD.search(line)) for line in lines)
                self._see(
                    (name[1].decode(), told[1].decode()) for name, told in found if name and told
                )

    def _see(self, found: Iterable[tuple[str, str]]) -> None:
        with self._changed:
            for name, told in found:
                before = self._told.get(name)
                if before != told:
                    self._told[name] = told
                    self._pods_by_address[told] += 1
                    self._pods_by_address[before or ""] -= 1
                    self.writes += 1
            self._changed.notify()
