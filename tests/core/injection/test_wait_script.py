"""The wait step, run for real: the script under every POSIX shell, and our own program."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.tables import grouped_file
from webhook.core import names
from webhook.core.injection import wait
from webhook.core.model import Object

SHELLS = [["sh"], ["dash"], ["bash", "--posix"], ["busybox", "ash"]]
PROGRAM = [sys.executable, "-m", "webhook", "wait"]
FIB_TRIE = """Main:
  +-- 0.0.0.0/0 3 0 5
     +-- 10.56.217.0/24 2 0 2
        |-- 10.56.217.0
           /24 link UNICAST
        |-- 10.56.217.171
           /32 host LOCAL
        |-- 10.56.217.255
           /32 link BROADCAST
Local:
  |-- 127.0.0.1
     /32 host LOCAL
"""
IF_INET6 = """00000000000000000000000000000001 01 80 10 80       lo
fd0e0011000000000000000000000011 03 40 00 80     net1
20010db8000000000000ff0000428329 03 40 00 80     net1
"""


@pytest.fixture(params=[*SHELLS, PROGRAM], ids=[*("-".join(shell) for shell in SHELLS), "program"])
def shell(request: pytest.FixtureRequest) -> list[str]:
    command: list[str] = request.param
    return [installed(command[0]), *command[1:]]


def installed(program: str) -> str:
    """Return the path of a shell; fails where the machine has none, with what to install."""
    return shutil.which(program) or pytest.fail(
        f"{program} is not installed: apt-get install dash busybox"
    )


class Sandbox:
    """Stand for the pod: a folder of published addresses and a /proc/net."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.net = folder / "addresses", folder / "net"
        self.log = folder / "termination-log"
        self.more: dict[str, str] = {}
        self.folder.mkdir()
        self.net.mkdir()
        (self.net / "fib_trie").write_text(FIB_TRIE)
        (self.net / "if_inet6").write_text(IF_INET6)

    def start(self, shell: list[str], *needs: str, timeout: int = 0) -> subprocess.Popen[str]:
        environment = {
            "PATH": "/usr/bin:/bin",
            "FABRIC_INJECTOR_DIR": str(self.folder),
            "FABRIC_INJECTOR_PROC_NET": str(self.net),
            "FABRIC_INJECTOR_TIMEOUT": str(timeout),
            "FABRIC_INJECTOR_SETTLE": "0",
            "FABRIC_INJECTOR_JOB": "bert-4e2b1a474f",
            "FABRIC_INJECTOR_RANK_ZERO": "bert-master-0",
            "FABRIC_INJECTOR_TERMINATION_LOG": str(self.log),
            **self.more,
        }
        command = [*shell, *needs]
        if shell != PROGRAM:
            command = [*shell, "-c", wait.SCRIPT, "fabric-injector-wait", *needs]
        return subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    @contextmanager
    def waiting(self, shell: list[str], *needs: str) -> Iterator[subprocess.Popen[str]]:
        """Start it, and go on once it waits."""
        with self.start(shell, *needs, timeout=60) as process:
            assert process.stdout is not None
            assert f"waiting for {' '.join(needs)}" in process.stdout.readline()
            yield process

    def run(self, shell: list[str], *needs: str) -> int:
        with self.start(shell, *needs) as process:
            _, self.errors = process.communicate(timeout=20)
            return process.returncode


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


def rows() -> list[Any]:
    return [
        pytest.param({**group, **row}, id=name)
        for name, group, row in grouped_file(__file__, "wait_script.yaml")
    ]


@pytest.mark.parametrize("row", rows())
def test_a_row_ends_as_it_says(sandbox: Sandbox, shell: list[str], row: Object) -> None:
    for name, content in row["files"].items():
        (sandbox.folder / name).write_text(content)
    assert sandbox.run(shell, *row["needs"]) == row["status"]
    log = sandbox.log.read_text() if sandbox.log.exists() else ""
    assert log == row.get("log", log)
    assert log.startswith(row.get("begins", ""))
    assert [one for one in row.get("says", ()) if one not in log] == []
    if row["status"]:
        assert log == sandbox.errors


def test_our_own_program_names_the_annotation_of_another_source(sandbox: Sandbox) -> None:
    """The script has it in its text, see tests of addresses."""
    sandbox.more = {names.ENV_ADDRESS_ANNOTATION: "pod-ips"}
    assert sandbox.run(PROGRAM, "master-addr") == 75
    assert "at that pod's pod-ips annotation" in sandbox.log.read_text()


CAUSE = "rank 0 of job bert-4e2b1a474f, pod bert-master-0, is 'left' alone: $(label) it"


def test_a_cause_ends_the_wait_with_it_as_the_last_words(
    sandbox: Sandbox, shell: list[str]
) -> None:
    with sandbox.waiting(shell, "local-addr", "master-addr") as process:
        (sandbox.folder / "wait-ends").write_text(CAUSE)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 75
    assert sandbox.log.read_text() == errors == f"fabric-injector: {CAUSE}\n"


def test_a_wait_that_is_started_again_goes_on_once_the_cause_is_gone(
    sandbox: Sandbox, shell: list[str]
) -> None:
    (sandbox.folder / "wait-ends").write_text(CAUSE)
    assert sandbox.run(shell, "master-addr") == 75
    (sandbox.folder / "wait-ends").write_text("")
    with sandbox.waiting(shell, "master-addr") as process:
        assert process.poll() is None
        (sandbox.folder / "master-addr").write_text("10.9.9.9")
        assert process.wait(timeout=20) == 0


def test_what_cannot_be_checked_is_said_and_passed(sandbox: Sandbox, shell: list[str]) -> None:
    (sandbox.net / "fib_trie").unlink()
    (sandbox.folder / "local-addr").write_text("10.0.0.1")
    assert sandbox.run(shell, "local-addr:own") == 0
    assert "not checked" in sandbox.errors


def test_it_waits_for_an_address_that_comes_late(sandbox: Sandbox, shell: list[str]) -> None:
    with sandbox.waiting(shell, "master-addr") as process:
        assert process.poll() is None
        (sandbox.folder / "master-addr").write_text("10.9.9.9")
        assert process.wait(timeout=20) == 0


def test_it_stays_beyond_the_next_look_at_the_containers(
    sandbox: Sandbox, shell: list[str]
) -> None:
    """The volume may be ahead of the pod by which the kubelet starts containers."""
    sandbox.more = {"FABRIC_INJECTOR_SETTLE": ""}
    (sandbox.folder / "master-addr").write_text("10.9.9.9")
    with sandbox.waiting(shell, "master-addr") as process:
        for address in ("", "10.9.9.10"):
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=0.5)
            (sandbox.folder / "master-addr").write_text(address)
        assert process.wait(timeout=20) == 0
    assert sandbox.log.read_text() == "10.9.9.10\n"


def test_it_ends_when_told_to(sandbox: Sandbox, shell: list[str]) -> None:
    with sandbox.waiting(shell, "master-addr") as process:
        process.terminate()
        assert process.wait(timeout=20) == 143


def test_nothing_published_is_run_as_a_command(
    sandbox: Sandbox, shell: list[str], tmp_path: Path
) -> None:
    (sandbox.folder / "local-addr").write_text(
        f"$(touch {tmp_path}/pwned):`touch {tmp_path}/pwned`"
    )
    assert sandbox.run(shell, "local-addr:own") == 75
    assert not (tmp_path / "pwned").exists()


def test_the_kubelet_leaves_the_script_as_it_is() -> None:
    assert "$$" not in wait.SCRIPT
    assert "\n#" not in wait.SCRIPT
