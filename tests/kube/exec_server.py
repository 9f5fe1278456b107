"""A server on loopback that answers ``exec`` as the API server does: a WebSocket of frames that begin with their channel."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, urlsplit

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455
SUCCESS = {"metadata": {}, "status": "Success"}

Answer = tuple[int, bytes, object]
"""HTTP status; what the command writes; the Status object, None where the connection just ends. Other than 101: the body's message."""


class ExecServer:
    """Ask *answer* for each command; ``asked``: path and words of each."""

    def __init__(self, answer: Callable[[Sequence[str]], Answer]) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                words = tuple(value for key, value in parse_qsl(parts.query) if key == "command")
                outer.asked.append((parts.path, words))
                status, stdout, told = answer(words)
                self.close_connection = True
                if status != 101:
                    body = json.dumps({"kind": "Status", "code": status, "message": told}).encode()
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                    return
                key = hashlib.sha1(f"{self.headers['Sec-WebSocket-Key']}{_GUID}".encode()).digest()
                self.send_response(101)
                self.send_header("Upgrade", "websocket")
                self.send_header("Connection", "Upgrade")
                self.send_header("Sec-WebSocket-Accept", base64.b64encode(key).decode())
                self.send_header("Sec-WebSocket-Protocol", "v4.channel.k8s.io")
                self.end_headers()
                for begin in range(0, len(stdout), 1000):
                    self._send(2, b"\x01" + stdout[begin : begin + 1000])
                if told is not None:
                    self._send(2, b"\x03" + json.dumps(told).encode())
                self._send(8, struct.pack("!H", 1000))

            def _send(self, code: int, data: bytes) -> None:
                length = (
                    bytes([len(data)]) if len(data) < 126 else struct.pack("!BH", 126, len(data))
                )
                self.wfile.write(bytes([0x80 | code]) + length + data)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as the base class calls it
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
