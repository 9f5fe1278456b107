"""The node's cards, macvlan interfaces that DRANET moves into pods, and the service that tells DRANET each card's address."""

import json
import subprocess
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from tests.cluster.node.links import Links

COUNT = 8


class Cards:
    """Interfaces of the machine, from entering the `with` block until it is left; `addresses` maps each one's name to its own, as CIDR.

    An interface loses its addresses where it moves into a pod or back: DRANET asks the *url* for them, as its webhook for
    clouds (pkg/cloudprovider/webhook).
    """

    def __init__(self, links: Links) -> None:
        """Prepare cards on the links' macvlan parent."""
        self._links = links
        self.prefix = links.macvlan_parent.removesuffix("v") + "c"
        network = links.fabric.removesuffix(".0/24")
        self.addresses: Mapping[str, str] = {
            f"{self.prefix}{n}": f"{network}.{n + 200}/24" for n in range(COUNT)
        }

    def __enter__(self) -> Self:
        """Make the interfaces, and answer; the links' end removes the interfaces."""
        for name in self.addresses:
            parent = ["link", self._links.macvlan_parent]
            subprocess.run(
                ["ip", "link", "add", *parent, name, "type", "macvlan", "mode", "bridge"],
                check=True,
            )
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self.addresses))
        threading.Thread(target=self._server.serve_forever, name="cards", daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        return self

    def __exit__(self, *_: object) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()


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
