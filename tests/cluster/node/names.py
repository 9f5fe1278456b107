"""The cluster's DNS, as far as tests go: a Service's name gives its address, a pod's name or hostname its own on the pod network."""

import socket
import struct
import threading
from types import TracebackType
from typing import Self

from tests.cluster.client import Client

A, IN = 1, 1


class Names:
    """Answers on UDP port 53 of one address, from entering the `with` block until it is left."""

    def __init__(self, api: Client, address: str) -> None:
        """Prepare answers from the API server's Services and pods."""
        self._api = api
        self._address = address

    def __enter__(self) -> Self:
        """Listen."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((self._address, 53))
        self._socket.settimeout(0.2)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="names", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop listening."""
        self._stopping.set()
        self._thread.join(5)
        self._socket.close()

    def _serve(self) -> None:
        while not self._stopping.is_set():
            try:
                query, sender = self._socket.recvfrom(512)
            except TimeoutError:
                continue
            self._socket.sendto(self._answer(query), sender)

    def _answer(self, query: bytes) -> bytes:
        labels, end = _question(query)
        (kind,) = struct.unpack_from("!H", query, end)
        address = self._find(labels)
        count = 1 if address and kind == A else 0
        flags = 0x8500 | (0 if address else 3)  # authoritative answer; NXDOMAIN
        header = query[:2] + struct.pack("!HHHHH", flags, 1, count, 0, 0)
        answer = (
            struct.pack("!HHHIH", 0xC00C, A, IN, 1, 4) + socket.inet_aton(address) if count else b""
        )
        return header + query[12 : end + 4] + answer

    def _find(self, labels: list[str]) -> str:
        """Find the Service of NAME.NAMESPACE.svc.cluster.local, or the pod of HOST[.SUBDOMAIN].NAMESPACE.svc.cluster.local."""
        if labels[-3:] != ["svc", "cluster", "local"] or len(labels) < 5:
            return ""
        if len(labels) == 5:
            found = self._api.request(
                "GET", f"/api/v1/namespaces/{labels[-4]}/services/{labels[0]}"
            )
            if (
                found.status == 200
                and (address := found.json["spec"].get("clusterIP", "None")) != "None"
            ):
                return str(address)
        pods = self._api.expect("GET", f"/api/v1/namespaces/{labels[-4]}/pods")["items"]
        for pod in pods:
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
