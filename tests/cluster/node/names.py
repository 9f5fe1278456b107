"""The cluster's DNS, as far as tests go: a pod's name or hostname gives its own address."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseRequestHandler, UDPServer

from tests.cluster.client import Client

A, IN = 1, 1


@contextmanager
def names(api: Client, address: str) -> Iterator[None]:
    """Answer on UDP port 53 of the address, from the API server's pods."""

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            query, answers = self.request
            answers.sendto(_answer(api, query), self.client_address)

    with UDPServer((address, 53), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


def _answer(api: Client, query: bytes) -> bytes:
    labels, end = [], 12
    while length := query[end]:
        labels.append(query[end + 1 : end + 1 + length].decode().lower())
        end += 1 + length
    (kind,) = struct.unpack_from("!H", query, end + 1)
    address = _find(api, labels)
    count = 1 if address and kind == A else 0
    flags = 0x8500 | (0 if address else 3)  # authoritative answer; NXDOMAIN
    header = query[:2] + struct.pack("!HHHHH", flags, 1, count, 0, 0)
    record = struct.pack("!HHHIH", 0xC00C, A, IN, 1, 4) + socket.inet_aton(address or "0.0.0.0")
    return header + query[12 : end + 5] + record * count


def _find(api: Client, labels: list[str]) -> str:
    """Find the address of the pod HOST[.SUBDOMAIN].NAMESPACE; empty where there is none."""
    if labels[-3:] != ["svc", "cluster", "local"] or len(labels) < 5:
        return ""
    for pod in api.expect("GET", f"/api/v1/namespaces/{labels[-4]}/pods")["items"]:
        if labels[0] in (pod["metadata"]["name"], pod["spec"].get("hostname")):
            return str(pod["status"].get("podIP", ""))
    return ""
