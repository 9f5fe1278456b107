"""``test-rank``: two ranks meet over sockets, and what cannot be reached is told and not raised."""

from __future__ import annotations

import json
import socket
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from webhook.cli import main, test_rank


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        number: int = free.getsockname()[1]
    return number


def test_two_ranks_meet_and_measure_both_networks(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_rank, "_BULK_SECONDS", 0.05)
    deadline = time.monotonic() + 60
    served: list[int] = []
    zero = threading.Thread(target=lambda: served.extend(test_rank.serve(1, deadline, "127.0.0.2", port)))
    zero.start()
    found = test_rank.meet(1, "127.0.0.1", deadline, port)
    zero.join()
    assert served == [1]
    assert found["met"]["at"] == "127.0.0.1"
    for network in ("fabric", "podNetwork"):
        assert found[network]["gbits"] > 0
        assert found[network]["micros"] > 0


def test_rank_zero_out_of_reach(port: int) -> None:
    found = test_rank.meet(1, "127.0.0.1", time.monotonic() + 0.5, port)
    assert found == {"met": {"at": "127.0.0.1", "problem": "[Errno 111] Connection refused"}}


@pytest.mark.parametrize("rank", ["0", "1"])
def test_a_rank_that_is_told_no_address_waits_for_nobody(rank: str, tmp_path: Path) -> None:
    file = tmp_path / "log"
    environ = {"JOB_COMPLETION_INDEX": rank, "FABRIC_INJECTOR_TERMINATION_LOG": str(file)}
    words = ["test-rank", "--seconds=3600", "torchrun", "--nnodes=2", "--master_addr=fabric-test-1-0.fabric-test-1"]
    assert CliRunner().invoke(main, words, env=environ).exit_code == 0
    assert json.loads(file.read_text())["met"]["problem"] == "no address was told"


def test_strangers_do_not_end_the_service(port: int) -> None:
    served: list[int] = []
    deadline = time.monotonic() + 60
    zero = threading.Thread(target=lambda: served.extend(test_rank.serve(1, deadline, "", port)))
    zero.start()
    for words in (b"bye one\n", b"\xff\n", b"GET / HTTP/1.1\r\n\r\n", b"x" * 5000):
        with _connect(port, deadline) as stranger:
            stranger.sendall(words)
    with _connect(port, deadline) as worker:
        worker.sendall(b"bye 3\n")
        assert worker.recv(1) == b"\n"
    zero.join()
    assert served == [3]


def test_the_report_fits_into_a_termination_message(tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "log"
    monkeypatch.setattr(test_rank, "_PORT", port)
    environ = {"JOB_COMPLETION_INDEX": "1", "FABRIC_INJECTOR_TERMINATION_LOG": str(file)}
    words = ["test-rank", "--seconds=0", "torchrun", "--nnodes=2", "--master_addr=" + "n" * 9000]
    done = CliRunner().invoke(main, words, env=environ)
    assert done.exit_code == 0, done.output
    assert len(file.read_bytes()) <= 4096
    report = json.loads(file.read_text())
    assert report["rank"] == 1
    assert report["met"]["problem"]
    assert report["sharedMemory"] >= 0


def _connect(port: int, deadline: float) -> socket.socket:
    while time.monotonic() < deadline:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=5)
        except ConnectionRefusedError:
            time.sleep(0.01)
    raise AssertionError("rank 0 does not listen")
