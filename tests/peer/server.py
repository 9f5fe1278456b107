"""Build network-resources-injector's own server, and run it on loopback beside a stand-in for its API server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.fake_apiserver import NETWORKS, FakeApiServer
from tests.peer.suite import GO, build
from tests.sockets.server import Server
from tests.waiting import wait_until

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
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "stand-in",
                    "clusters": [{"name": "stand-in", "cluster": {"server": api.url}}],
                    "users": [{"name": "nobody", "user": {}}],
                    "contexts": [
                        {"name": "stand-in", "context": {"cluster": "stand-in", "user": "nobody"}}
                    ],
                }
            )
        )
        port, health = free_port(), free_port()
        command = [
            program,
            "-insecure",
            "-bind-address=127.0.0.1",
            f"-port={port}",
            f"-health-check-port={health}",
        ]
        command += [
            f"-tls-cert-file={tls_dir / 'tls.crt'}",
            f"-tls-private-key-file={tls_dir / 'tls.key'}",
            "-logtostderr",
        ]
        with (folder / "peer.log").open("wb") as log:
            process = subprocess.Popen(
                list(map(str, command)),
                stderr=log,
                env={
                    **os.environ,
                    "KUBECONFIG": str(kubeconfig),
                    "KUBE_FEATURE_WatchListClient": "false",
                },
                start_new_session=True,
            )
        try:
            wait_until(
                lambda: process.poll() is not None or is_open(port),
                "the peer to listen",
                seconds=60,
            )
            if process.poll() is not None:
                raise AssertionError(f"the peer ended:\n{(folder / 'peer.log').read_text()}")
            server = Server(folder / "peer.log")
            server.process, server.addresses = process, {"admission": f"https://127.0.0.1:{port}"}
            yield server
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


def free_port() -> int:
    """Give a port that was free a moment ago: the peer takes none of its own choice."""
    with closing(socket.create_server(("127.0.0.1", 0))) as sock:
        port: int = sock.getsockname()[1]
        return port


def is_open(port: int) -> bool:
    """Tell whether somebody listens on the port."""
    with closing(socket.socket()) as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0
