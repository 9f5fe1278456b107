"""What is said where no node can run, and what stays on the machine after tests that were killed: nothing."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.node.links import Links
from tests.cluster.node.requirements import not_possible
from tests.waiting import wait_until

KILLED = """\
import sys, time
from pathlib import Path
from tests.cluster.node.links import Links
from tests.cluster.node.linux_namespaces import LinuxNamespaces
folder = Path(sys.argv[1])
with Links() as links, LinuxNamespaces(folder) as namespaces:
    namespaces.start(["sleep", "%s"], folder / "log")
    print(links.bridge, flush=True)
    time.sleep(60)
"""
SLEEP = f"6{os.getpid()}"
"""Seconds; so unlike others' that the process is known by it."""


@pytest.fixture
def possible(tmp_path: Path) -> None:
    """Skip where this machine could not run a node anyway."""
    if reason := not_possible(tmp_path / "try"):
        pytest.skip(reason)


def test_a_user_who_is_not_root_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert not_possible(tmp_path / "try") == "a kubelet needs root, these tests run as uid 1000"


@pytest.mark.usefixtures("possible")
def test_a_machine_without_macvlan_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And what was made to find out is gone."""
    real = shutil.which("ip")
    fake = tmp_path / "ip"
    fake.write_text(
        f'#!/bin/sh\ncase "$*" in *macvlan*) echo "Unknown device type." >&2; exit 2 ;; esac\nexec {real} "$@"\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert not_possible(tmp_path / "again") == "no macvlan can be made: Unknown device type."
    assert "fitry" not in _links()


@pytest.mark.usefixtures("possible")
def test_tests_that_were_killed_leave_nothing(tmp_path: Path) -> None:
    """Processes and mounts end with the tests' process; the next tests remove its links."""
    command = [sys.executable, "-c", KILLED % SLEEP, str(tmp_path / "node")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as process:
        assert process.stdout is not None
        bridge = process.stdout.readline().strip()
        wait_until(lambda: len(_sleeping()) > 0, "the process in the namespaces", 10)
        assert bridge in _links()
        process.send_signal(signal.SIGKILL)
    wait_until(lambda: not _sleeping(), "the end of the process in the namespaces", 10)
    with Links() as links:
        assert bridge not in _links()
        assert links.bridge in _links()
    assert links.bridge not in _links()


def _sleeping() -> list[Path]:
    wanted = f"sleep\0{SLEEP}\0".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == wanted:
                found.append(path)
        except OSError:  # it has ended since
            continue
    return found


def _links() -> str:
    return subprocess.run(
        ["ip", "-o", "link", "show"], check=True, capture_output=True, text=True
    ).stdout
