"""A TCP balancer that stands for a Service of the cluster."""

import random
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from .relay import Relay


class Balancer(Relay):
    """Sends each new connection to an endpoint that is ready; those that are open stay where they are.

    Endpoints are ports of 127.0.0.1. Each is asked for its readiness every *period_seconds*, as a kubelet does, and leaves when it
    is not ready; until then connections to a dead one fail.
    """

    def __init__(self, period_seconds: float = 0.3) -> None:
        super().__init__(0)
        self._period = period_seconds
        self._endpoints: dict[int, Callable[[], bool]] = {}
        self._ready: list[int] = []
        self._ended = threading.Event()
        self._probe = threading.Thread(target=self._follow, daemon=True)
        self._probe.start()

    def add(self, port: int, is_ready: Callable[[], bool]) -> None:
        """Take an endpoint; connections are sent there once it is ready."""
        self._endpoints[port] = is_ready

    def remove(self, port: int) -> None:
        """Forget an endpoint, as when its pod is gone."""
        self._endpoints.pop(port, None)

    def serves(self, port: int) -> bool:
        """Tell whether connections are sent there."""
        return port in self._ready

    def close(self) -> None:
        """End for good."""
        self._ended.set()
        self._probe.join(30)
        super().close()

    def _connect(self) -> socket.socket:
        ready = self._ready
        if not ready:
            raise ConnectionRefusedError
        return socket.create_connection(("127.0.0.1", random.choice(ready)))

    def _follow(self) -> None:
        while not self._ended.is_set():
            begun = time.monotonic()
            self._ready = [
                port for port, is_ready in list(self._endpoints.items()) if self._is_ready(is_ready)
            ]
            self._ended.wait(max(0.0, begun + self._period - time.monotonic()))

    @staticmethod
    def _is_ready(is_ready: Callable[[], bool]) -> bool:
        with suppress(OSError):
            return is_ready()
        return False
