"""A connection to the API server that can be cut, and slowed."""

import socket
import threading
import time
from contextlib import suppress


class Relay:
    """Passes bytes between an address of its own and the API server, until it is cut; *delay_seconds* holds each piece up."""

    def __init__(self, target: int, address: tuple[str, int] = ("127.0.0.1", 0)) -> None:
        self._target = target
        self._listener = socket.create_server(address)
        self._sockets: set[socket.socket] = set()
        self._is_cut = False
        self.delay_seconds = 0.0
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def cut(self) -> None:
        """Break all connections, and each new one at once."""
        self._is_cut = True
        for sock in list(self._sockets):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        """Let connections through again."""
        self._is_cut = False

    def close(self) -> None:
        """End for good."""
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self._is_cut:
                    near.close()
                    continue
                try:
                    far = self._connect()
                except OSError:
                    near.close()
                    continue
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self._target))

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        self._sockets.add(source)
        with suppress(OSError):
            while data := source.recv(65536):
                time.sleep(self.delay_seconds)
                sink.sendall(data)
        self._sockets.discard(source)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)
        source.close()
