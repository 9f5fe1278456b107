"""Run a command in a container, with the caller's right to create pods/exec.

The one module that imports the client library's stream (websocket-client): what runs in pods never comes here. Source:
kubernetes.io/docs/reference/kubernetes-api, Pod exec; protocol v4.channel.k8s.io and v5: stdout on channel 1, the Status on channel 3.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson

from webhook.kube.answer import RequestFailed, status_message
from webhook.kube.catalogue import PODS
from webhook.kube.connection import CONNECT_SECONDS
from webhook.kube.credentials import Credentials, Pem
from webhook.kube.resource import Key

_STDOUT, _STATUS = 1, 3

_IMPORTING = threading.Lock()
"""The library's modules import each other: of several threads that import it at once, one may see half of it."""


@dataclass(frozen=True, slots=True)
class ExecAnswer:
    """Hold what a command wrote to *stdout*; *problem*: why it was not run or failed, empty where it ended with 0."""

    stdout: bytes
    problem: str = ""


def run_in_container(
    credentials: Credentials, pod: Key, container: str, command: Sequence[str], *, seconds: float, most_bytes: int
) -> ExecAnswer:
    """Run it without a terminal and without input; raise RequestFailed where the API server refuses or does not answer.

    What is written beyond *most_bytes*, or after *seconds*, is not read.
    """
    with _IMPORTING:
        import websocket
        from kubernetes.client import Configuration
        from kubernetes.stream.ws_client import WSClient

    path = f"{PODS.object_path(pod)}/exec"
    query = [("container", container), ("stdout", "true"), ("stderr", "false")]
    query += [("command", word) for word in command]
    url = f"ws{credentials.server.removeprefix('http')}{path}?{urlencode(query)}"
    websocket.setdefaulttimeout(CONNECT_SECONDS)  # the library has no other way to bound the handshake
    with tempfile.TemporaryDirectory() as folder:
        configuration = Configuration()
        _fill(configuration, credentials, Path(folder))
        authorization = credentials.authorization()
        headers = {"authorization": authorization} if authorization else {}
        try:
            client: Any = WSClient(  # type: ignore[no-untyped-call]  # the library gives it no types
                configuration, url, headers, capture_all=False, binary=True
            )
        except websocket.WebSocketBadStatusException as error:
            text = status_message(error.resp_body or b"")
            raise RequestFailed(f"GET {path} answered {error.status_code}: {text}", error.status_code) from None
        except (websocket.WebSocketException, OSError, ValueError) as error:
            raise RequestFailed(f"GET {path}: {error}") from None
    try:
        return _read(client, path, time.monotonic() + seconds, most_bytes)
    except (websocket.WebSocketException, OSError, ValueError) as error:
        raise RequestFailed(f"GET {path}: {error}") from None
    finally:
        client.sock.shutdown()  # its own close() leaves the socket open where the other side has closed first


def _read(client: Any, path: str, deadline: float, most_bytes: int) -> ExecAnswer:
    stdout, status = b"", b""
    while client.is_open() and len(stdout) + len(status) <= most_bytes:
        left = deadline - time.monotonic()
        if left <= 0:
            raise RequestFailed(f"GET {path}: the command did not end in time")
        client.update(timeout=left)
        stdout += client.read_channel(_STDOUT)
        status += client.read_channel(_STATUS)
    return ExecAnswer(stdout[:most_bytes], _problem(status))


def _problem(status: bytes) -> str:
    try:
        value = orjson.loads(status)
    except ValueError:
        return "the connection ended before the command did"
    if isinstance(value, dict) and value.get("status") == "Success":
        return ""
    return status_message(status)


def _fill(configuration: Any, credentials: Credentials, folder: Path) -> None:
    """Tell the library what it takes by the names of files, which are there until the handshake is over."""
    configuration.verify_ssl = credentials.verify
    configuration.ssl_ca_cert = _file(credentials.ca, folder / "ca.crt")
    configuration.cert_file = _file(credentials.certificate, folder / "tls.crt")
    configuration.key_file = _file(credentials.key, folder / "tls.key")
    configuration.tls_server_name = credentials.server_name or None
    configuration.proxy = credentials.proxy or None
    configuration.no_proxy = None


def _file(pem: Pem | None, file: Path) -> str | None:
    if pem is None or isinstance(pem, Path):
        return None if pem is None else str(pem)
    file.touch(mode=0o600)
    file.write_bytes(pem)
    return str(file)
