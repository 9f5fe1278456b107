"""The cluster's DNS, as far as tests go: a pod's name or hostname gives its own address."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster.client import Client

A, IN = 1, 1


@contextmanager
def names(api: Client, address: str) -> Iterator[None]:
    """Answer on UDP port 53 of the address, from the API server's pods."""
    stopping = threading.Event()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind((address, 53))
        listening.settimeout(0.2)
        thread = threading.Thread(target=_serve, args=(api, listening, stopping), daemon=True)
        thread.start()
        try:
            yield
        finally:
            stopping.set()
            thread.join(5)


def _serve(api: Client, listening: socket.socket, stopping: threading.Event) -> None:
    while not stopping.is_set():
        try:
            query, sender = listening.recvfrom(512)
        except TimeoutError:
            continue
        listening.sendto(_answer(api, query), sender)


def _answer(api: Client, query: bytes) -> bytes:
    labels, end = _question(query)
    (kind,) = struct.unpack_from("!H", query, end)
    address = _find(api, labels)
    count = 1 if address and kind == A else 0
    flags = 0x8500 | (0 if address else 3)  # authoritative answer; NXDOMAIN
    header = query[:2] + struct.pack("!HHHHH", flags, 1, count, 0, 0)
    record = struct.pack("!HHHIH", 0xC00C, A, IN, 1, 4) + socket.inet_aton(address or "0.0.0.0")
    return header + query[12 : end + 4] + record * count


def _find(api: Client, labels: list[str]) -> str:
    """Find the pod of HOST[.SUBDOMAIN].NAMESPACE."""
    if labels[-3:] != ["svc", "cluster", "local"] or len(labels) < 5:
        return ""
    path = f"/api/v1/namespaces/{labels[-4]}"
    for pod in api.expect("GET", f"{path}/pods")["items"]:
        if labels[0] in (pod["metadata"]["name"], pod["spec"].get("hostname")):
            return str(pod["status"].get("podIP", ""))
    return ""


def _question(query: bytes) -> tuple[list[str], int]:
    """Give the labels of the name that is asked for, and where its type stands."""
    labels, position = [], 12
    while length := query[position]:
        labels.append(query[position + 1 : position + 1 + length].decode().lower())
        position += 1 + length
    return labels, position + 1
