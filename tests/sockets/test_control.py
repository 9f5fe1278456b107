"""The process of ``control``: what it needs to start, and that it ends in time whatever the API server does."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

import pytest
import urllib3
import yaml

from tests.fake_apiserver import PODS, FakeApiServer, hang
from tests.waiting import wait_until

pytestmark = pytest.mark.sockets

LEASE = "/apis/coordination.k8s.io/v1/namespaces/fabric-injector/leases/fabric-injector"


def environment(kubeconfig: Path) -> dict[str, str]:
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("KUBE", "FABRIC_INJECTOR_"))
    }
    return {**kept, "KUBECONFIG": str(kubeconfig)}


def write_kubeconfig(path: Path, url: str) -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": url}}],
        "users": [{"name": "test", "user": {"token": "secret"}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "current-context": "test",
    }
    path.write_text(yaml.safe_dump(config))
    return path


class Process:
    """``fabric-injector control`` on a free port, whose log tells where it answers."""

    def __init__(self, folder: Path, url: str, *options: str) -> None:
        self.log = folder / "log"
        command = [
            sys.executable,
            "-m",
            "webhook",
            "control",
            "--metrics-listen=127.0.0.1:0",
            *options,
        ]
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                command,
                stderr=output,
                stdout=output,
                env=environment(write_kubeconfig(folder / "kubeconfig", url)),
            )
        wait_until(
            lambda: self.log.read_text().count('"controlling"'), "the first line of the log", 30
        )

    def get(self, path: str) -> urllib3.BaseHTTPResponse:
        started = (
            json.loads(line)
            for line in self.log.read_text().splitlines()
            if '"controlling"' in line
        )
        return urllib3.request("GET", next(started)["metrics"] + path, retries=False, timeout=10)

    def end(self) -> int:
        """End it in less than the 30 s that the kubelet grants; give the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(25)


Start: TypeAlias = Callable[..., Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start the process, which is gone after the test."""
    with ExitStack() as stack:

        def start(url: str, *options: str) -> Process:
            process = Process(tmp_path, url, *options)
            stack.callback(process.process.kill)
            return process

        yield start


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        yield server


def test_without_an_api_server_it_goes_on_trying_and_says_why_it_is_not_ready(start: Start) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        process = start(f"http://127.0.0.1:{unused.getsockname()[1]}")
        wait_until(lambda: b"refused" in process.get("/readyz").data, "the reason")
        assert process.get("/readyz").status == 503
        assert process.get("/livez").status == 200
        assert b"fabric_injector_leader 0.0" in process.get("/metrics").data
        assert process.end() == 0


def test_ends_in_time_where_the_api_server_takes_requests_and_never_answers(
    start: Start, server: FakeApiServer
) -> None:
    server.misbehave("list", PODS, hang)
    server.misbehave("get", LEASE, *[hang] * 20)
    process = start(server.url)
    wait_until(lambda: server.asked("list", PODS) and server.asked("get", LEASE), "the requests")
    assert process.end() == 0


def test_faults_of_the_profiles_are_told_and_addresses_published_all_the_same(
    tmp_path: Path, start: Start, server: FakeApiServer
) -> None:
    profiles = tmp_path / "profiles.yaml"
    profiles.write_text("profiles: {shared: {networks: [{netwrok: default/rdma-net}]}}")
    process = start(server.url, f"--profiles={profiles}")
    wait_until(lambda: process.get("/readyz").status == 200, "readiness")
    assert "netwrok" in process.log.read_text()
    assert process.end() == 0


def test_answers_every_probe_while_many_clients_ask_for_metrics(
    start: Start, server: FakeApiServer
) -> None:
    process, enough = start(server.url), threading.Event()
    wait_until(lambda: process.get("/readyz").status == 200, "readiness")

    def scrape() -> None:
        while not enough.is_set():
            process.get("/metrics")

    with ThreadPoolExecutor(48) as clients:
        for _ in range(48):
            clients.submit(scrape)
        probes = [process.get(path).status for path in ("/livez", "/readyz") for _ in range(10)]
        enough.set()
    assert probes == [200] * 20
    assert process.end() == 0


@pytest.mark.parametrize("fault", ["kubeconfig", "port", "option"])
def test_refuses_to_start_with_what_cannot_be_used(tmp_path: Path, fault: str) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1] if fault == 'port' else 0}"
        options = ["--lease=x"] if fault == "option" else []
        result = subprocess.run(
            [sys.executable, "-m", "webhook", "control", f"--metrics-listen={address}", *options],
            env=environment(tmp_path / "none" if fault == "kubeconfig" else kubeconfig),
            capture_output=True,
            text=True,
            timeout=30,
        )
    assert result.returncode == 2, result.stderr
    assert "Traceback" not in result.stderr
    told = {"kubeconfig": str(tmp_path / "none"), "port": address, "option": "--lease"}[fault]
    assert told in result.stderr
