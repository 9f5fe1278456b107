"""What stays on the machine after tests that were killed: nothing."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests import ROOT
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
    time.sleep(600)
"""
SLEEP = f"6{os.getpid()}"
"""Seconds; so unlike others' that the process is known by it."""


def test_tests_that_were_killed_leave_nothing(tmp_path: Path) -> None:
    """Processes and mounts end with the tests' process; the next tests remove its links."""
    if reason := not_possible(tmp_path / "try"):
        pytest.skip(reason)
    command = [sys.executable, "-c", KILLED % SLEEP, str(tmp_path / "node")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        bridge = process.stdout.readline().strip()
        wait_until(_sleeps, "the process in the namespaces", 60)
        assert bridge in _links()
        process.send_signal(signal.SIGKILL)
    wait_until(lambda: not _sleeps(), "the end of the process in the namespaces", 60)
    with Links() as links:
        assert bridge not in _links()
        assert links.bridge in _links()
    assert links.bridge not in _links()


def _sleeps() -> bool:
    commands = (_command(process) for process in Path("/proc").glob("[0-9]*"))
    return f"sleep\0{SLEEP}\0".encode() in commands


def _command(process: Path) -> bytes:
    with suppress(OSError):  # it has ended since
        return (process / "cmdline").read_bytes()
    return b""


def _links() -> str:
    listed = ["ip", "-o", "link", "show"]
    return subprocess.run(listed, check=True, capture_output=True, text=True).stdout
