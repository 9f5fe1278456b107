"""The node's cards, macvlan interfaces that DRANET moves into pods, and the service that tells DRANET each card's address."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from tests.cluster.node.links import Links

COUNT = 8


class Cards(NamedTuple):
    """Interfaces of the machine, whose names begin with *prefix*.

    *addresses* maps each one's name to its own, as CIDR. An interface loses its addresses where it
    moves into a pod or back: DRANET asks the *url* for them, as its webhook for clouds
    (pkg/cloudprovider/webhook).
    """

    prefix: str
    addresses: Mapping[str, str]
    url: str


@contextmanager
def running_cards(links: Links) -> Iterator[Cards]:
    """Make the interfaces on the links' macvlan parent, which removes them, and answer."""
    prefix, network = links.interface("c"), links.fabric.removesuffix(".0/24")
    addresses = {f"{prefix}{n}": f"{network}.{n + 200}/24" for n in range(COUNT)}
    for name in addresses:
        links.add_macvlan(name)
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(addresses)) as server:
        threading.Thread(target=server.serve_forever, name="cards", daemon=True).start()
        yield Cards(prefix, addresses, f"http://127.0.0.1:{server.server_port}")
        server.shutdown()


def _handler(addresses: Mapping[str, str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({"cloudProvider": True, "profileProvider": False})

        def do_POST(self) -> None:
            device = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            address = addresses.get(device["name"])
            known = self.path == "/GetDeviceConfig" and address
            self._answer({"interface": {"addresses": [address]}} if known else {})

        def _answer(self, content: object) -> None:
            body = json.dumps(content).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 named as in http.server
            """Write nothing."""

    return Handler
