"""Start the real server process, and talk to it as well-behaved and broken clients do."""

import http.client
import json
import signal
import socket
import ssl
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from tests.cluster import processes
from tests.cluster.objects import write_kubeconfig as write_kubeconfig
from tests.waiting import wait_until

ANY_PORT = "127.0.0.1:0"
SERVE = (sys.executable, "-m", "webhook", "serve")
SERVE_ANYWHERE = (
    *SERVE,
    *(f"--{name}={ANY_PORT}" for name in ("listen", "dry-run-listen", "metrics-listen")),
)
ROOT = Path(__file__).resolve().parents[2]


class Reply(NamedTuple):
    """Hold an HTTP answer; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @classmethod
    def of(cls, response: http.client.HTTPResponse) -> Self:
        """Read the answer."""
        headers = {name.lower(): value for name, value in response.getheaders()}
        return cls(response.status, headers, response.read())

    def json(self) -> Any:
        return json.loads(self.body)


class Program(processes.Server):
    """Run a command of ours, until the ``with`` block is left."""

    seconds_to_end = 10.0

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End it in less than the 30 s that the kubelet grants; give the exit status."""
        self.process.send_signal(number)
        return self.process.wait(25)


class Server(Program):
    """Run ``serve`` on free ports, or another *command*, until the ``with`` block is left.

    Attributes:
        addresses: The fields of the log's line that says *begun*: the listeners' addresses.
        authority: The file of the CA of its certificate.
    """

    def __init__(
        self,
        log: Path,
        *options: str | Path,
        command: Sequence[str] = SERVE_ANYWHERE,
        begun: str = "serving",
    ) -> None:
        super().__init__([*command, *options], log, lambda: self.lines(begun))
        self.addresses: dict[str, str] = {}
        self.begun = begun
        folders = [str(option) for option in options if str(option).startswith("--tls-dir=")]
        self.authority = Path(folders[-1].partition("=")[2], "ca.crt") if folders else Path()

    def __enter__(self) -> Self:
        self.start()
        self.addresses = self.lines(self.begun)[0]
        self.authority = Path(self.addresses.get("ca", self.authority))
        return self

    def lines(self, message: str = "") -> list[dict[str, Any]]:
        """Return the log's lines whose message begins with *message*."""
        text = self.log.read_bytes()
        found = [
            json.loads(line)
            for line in text[: text.rfind(b"\n") + 1].splitlines()
            if line.startswith(b"{")
        ]
        return [line for line in found if line["message"].startswith(message)]

    def peak_megabytes(self) -> float:
        """Return the most memory that the process has had, without that of its children."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1000

    def connect(
        self, which: str = "admission", timeout: float = 10, source: str = ""
    ) -> socket.socket:
        """Open a TCP connection to one of the listeners."""
        parts = urlsplit(self.addresses[which])
        target = str(parts.hostname), int(parts.port or 0)
        return socket.create_connection(target, timeout, (source, 0) if source else None)

    def connect_tls(self, authority: Path | None = None, timeout: float = 10) -> ssl.SSLSocket:
        """Open a TLS connection to the admission listener as the API server does."""
        context = ssl.create_default_context(cafile=authority or self.authority)
        context.set_alpn_protocols(["h2", "http/1.1"])
        return context.wrap_socket(self.connect(timeout=timeout), server_hostname="localhost")

    def client(
        self, authority: Path | None = None, timeout: float = 20
    ) -> http.client.HTTPSConnection:
        """Return a connection for admission requests that is kept alive."""
        context = ssl.create_default_context(cafile=authority or self.authority)
        port = urlsplit(self.addresses["admission"]).port
        return http.client.HTTPSConnection("localhost", port, timeout=timeout, context=context)

    def admit(self, review: bytes, timeout: float = 20) -> Reply:
        """Ask for one admission over a connection of its own."""
        with closing(self.client(timeout=timeout)) as client:
            return admit(client, review)

    def get(self, path: str, which: str = "metrics") -> Reply:
        """Ask one of the plain listeners."""
        return self.plain("GET", path, which=which)

    def metric(self, name: str) -> float:
        """Return a metric by its name and labels as a scrape shows them; 0 if absent."""
        lines = self.get("/metrics").body.decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(f"{name} "))

    def plain(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        which: str = "dryRun",
        timeout: float = 20,
    ) -> Reply:
        """Send one request to one of the plain listeners."""
        return ask_at(self.addresses[which], method, path, body, headers, timeout)


def ask_at(
    url: str,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
    timeout: float = 60,
) -> Reply:
    """Send one request over a connection of its own."""
    with closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=timeout)) as connection:
        return ask(connection, method, path, body, headers)


def ask(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> Reply:
    """Send one request over an open connection and read the answer."""
    connection.request(method, path, body, headers or {})
    return Reply.of(connection.getresponse())


def admit(connection: http.client.HTTPConnection, review: bytes) -> Reply:
    """Send an AdmissionReview as the API server does."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, */*"}
    return ask(connection, "POST", "/mutate?timeout=5s", review, headers)


@contextmanager
def admitting(server: Server, review: bytes) -> Iterator[list[int]]:
    """Ask for admissions all the while; give their statuses, some before and after what is done."""
    enough, statuses = threading.Event(), list[int]()

    def ask() -> None:
        with closing(server.client()) as client:
            while not enough.is_set():
                statuses.append(admit(client, review).status)

    with ThreadPoolExecutor(1) as clients:
        asking = clients.submit(ask)
        try:
            wait_until(lambda: len(statuses) > 3, "the first admissions")
            yield statuses
            before = len(statuses)
            wait_until(lambda: asking.done() or len(statuses) > before + 3, "more admissions")
        finally:
            enough.set()
        asking.result()


def is_closed(connection: socket.socket) -> bool:
    """Wait for the server to close a connection that has nothing to read; tell whether it did."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def read_all(connection: socket.socket) -> bytes:
    """Read until the server closes."""
    received = b""
    while piece := connection.recv(65536):
        received += piece
    return received


def read_reply(connection: socket.socket) -> Reply:
    """Read one answer that has a Content-Length."""
    response = http.client.HTTPResponse(connection)
    response.begin()
    return Reply.of(response)
