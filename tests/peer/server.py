"""Build network-resources-injector's own server, and run it on loopback beside a stand-in for its API server."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Self

from tests.cluster.objects import write_kubeconfig
from tests.cluster.processes import free_port
from tests.fake_apiserver import NETWORKS, FakeApiServer
from tests.peer.suite import GO, build
from tests.sockets.server import Server

_PACKAGES = {"pkg/webhook/webhook.go": "webhook", "pkg/tools/cache.go": "cache"}
"""Files that ask for the service account's configuration, and their packages."""


def build_server(folder: Path, source: Path) -> Path:
    """Build the server, changed to take a kubeconfig; give the program."""
    for name, package in _PACKAGES.items():
        file = source / name
        text = file.read_text()
        if "rest.InClusterConfig()" not in text:
            raise LookupError(f"{file} asks for no rest.InClusterConfig(); look where it does now")
        file.write_text(
            text.replace(
                "rest.InClusterConfig()", "func() (*rest.Config, error) { return configured() }()"
            )
        )
        helper = (GO / "kubeconfig.go").read_text().replace("package PACKAGE", f"package {package}")
        (file.parent / "kubeconfig.go").write_text(helper)
    return build(source, folder / "webhook", "build", "./cmd/webhook")


@contextmanager
def peer_server(
    folder: Path, program: Path, tls_dir: Path, networks: Iterable[dict[str, Any]]
) -> Iterator[Server]:
    """Run the program with the certificate of *tls_dir*, once it knows the NetworkAttachmentDefinitions *networks*."""
    with FakeApiServer() as api:
        for network in networks:
            metadata = network["metadata"]
            api.put(
                NETWORKS,
                metadata["name"],
                metadata["namespace"],
                annotations=metadata["annotations"],
                spec=network["spec"],
            )
        kubeconfig = write_kubeconfig(folder / "kubeconfig", api.url)
        port = free_port()
        command = [
            *("env", f"KUBECONFIG={kubeconfig}", "KUBE_FEATURE_WatchListClient=false"),
            *(str(program), "-insecure", "-logtostderr", "-bind-address=127.0.0.1"),
            *(f"-port={port}", f"-health-check-port={free_port()}"),
            f"-tls-cert-file={tls_dir / 'tls.crt'}",
            f"-tls-private-key-file={tls_dir / 'tls.key'}",
        ]
        with Peer(folder / "peer.log", port, command) as server:
            yield server


class Peer(Server):
    """Its process, which listens on the port."""

    def __init__(self, log: Path, port: int, command: list[str]) -> None:
        super().__init__(log, command=command)
        self.port, self.ready = port, lambda: is_open(port)

    def __enter__(self) -> Self:
        self.start()
        self.addresses = {"admission": f"https://127.0.0.1:{self.port}"}
        return self


def is_open(port: int) -> bool:
    """Tell whether somebody listens on the port."""
    with closing(socket.socket()) as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0
