"""Another way to the API server, which can be slowed and ended."""

import socket
import threading
import time
from contextlib import suppress


class Relay:
    """Passes bytes between an address of its own and the API server, with delays."""

    def __init__(self, target: int, address: tuple[str, int] = ("127.0.0.1", 0)) -> None:
        self._target, self._listener = target, socket.create_server(address)
        self._sockets: set[socket.socket] = set()
        self.delay_seconds = 0.0
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """End for good, and break all connections."""
        self._listener.close()
        for sock in [*self._sockets]:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with suppress(OSError), near, socket.create_connection(("127.0.0.1", self._target)) as far:
            back = threading.Thread(target=self._pass, args=(far, near), daemon=True)
            back.start()
            self._pass(near, far)
            back.join()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        self._sockets.add(source)
        with suppress(OSError):
            while data := source.recv(65536):
                time.sleep(self.delay_seconds)
                sink.sendall(data)
        self._sockets.discard(source)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)
