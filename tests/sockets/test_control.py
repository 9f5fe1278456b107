"""The process of ``control``: how it starts, and that it ends whatever the API server does."""

import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.cluster.objects import write_kubeconfig
from tests.cluster.processes import run_command
from tests.fake_apiserver import PODS, FakeApiServer, hang
from tests.sockets.server import Server
from tests.waiting import wait_until

CONTROL = (sys.executable, "-m", "webhook", "control", "--metrics-listen=127.0.0.1:0")
LEASE = "/apis/coordination.k8s.io/v1/namespaces/fabric-injector/leases/fabric-injector"


Start: TypeAlias = Callable[..., Server]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start the process on a free port, which is gone after the test."""
    with ExitStack() as stack:

        def start(url: str, *options: str) -> Server:
            monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(tmp_path / "kubeconfig", url)))
            process = Server(tmp_path / "log", *options, command=CONTROL, begun="controlling")
            return stack.enter_context(process)

        yield start


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        yield server


def test_without_an_api_server_it_goes_on_trying_and_says_why_it_is_not_ready(start: Start) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        process = start(f"http://127.0.0.1:{unused.getsockname()[1]}")
        wait_until(lambda: b"refused" in process.get("/readyz").body, "the reason")
        assert process.get("/readyz").status == 503
        assert process.get("/livez").status == 200
        assert b"fabric_injector_leader 0.0" in process.get("/metrics").body
        assert process.end() == 0


def test_ends_though_the_api_server_never_answers(start: Start, server: FakeApiServer) -> None:
    server.misbehave("list", PODS, hang)
    server.misbehave("get", LEASE, *[hang] * 20)
    process = start(server.url)
    wait_until(lambda: server.asked("list", PODS) and server.asked("get", LEASE), "the requests")
    assert process.end() == 0


@pytest.mark.parametrize("fault", ["kubeconfig", "port", "option"])
def test_refuses_to_start_with_what_cannot_be_used(tmp_path: Path, fault: str) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1] if fault == 'port' else 0}"
        options = ["--lease=x"] if fault == "option" else []
        chosen = tmp_path / "none" if fault == "kubeconfig" else kubeconfig
        result = run_command([*CONTROL[:-1], f"--metrics-listen={address}", *options], chosen)
    assert result.returncode == 2, result.stderr
    assert "Traceback" not in result.stderr
    told = {"kubeconfig": str(tmp_path / "none"), "port": address, "option": "--lease"}[fault]
    assert told in result.stderr
