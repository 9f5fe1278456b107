"""What the servers that this process has started use of the machine: processor time and memory, by program."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Set
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")


class Process(NamedTuple):
    """A process of one of the servers, its children included."""

    folder: Path
    program: str
    cpu_seconds: float

    def megabytes(self, key: str) -> float:
        """Read a figure of its status, such as VmRSS. Raises LookupError."""
        for line in (self.folder / "status").read_text().splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1]) / 1024
        raise LookupError(key)


def processes() -> Iterator[Process]:
    """Give the processes of all servers; each server is the leader of a session, in which its children are too."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            found[int(folder.name)] = fields, (folder / "cmdline").read_bytes().decode().split("\0")
    ours = {pid: words for pid, (fields, words) in found.items() if int(fields[1]) == os.getpid()}
    for pid, (fields, _) in found.items():
        if (session := int(fields[3])) in ours:
            cpu = sum(map(int, fields[11:13])) / _TICKS
            yield Process(Path(f"/proc/{pid}"), _program(ours[session]), cpu)


def cpu_seconds() -> Counter[str]:
    """Sum the processor time used until now, user and system, by program."""
    used: Counter[str] = Counter()
    for each in processes():
        used[each.program] += each.cpu_seconds  # type: ignore[assignment]  # a Counter adds what it is given
    return used


def megabytes(program: str, key: str = "VmRSS") -> list[float]:
    """Give this figure of each process of a program, the largest first."""
    return sorted(
        (each.megabytes(key) for each in processes() if each.program == program), reverse=True
    )


def pin(cores: Set[int]) -> None:
    """Let all servers, and what this process starts from now on, run on these cores only."""
    os.sched_setaffinity(0, cores)
    for each in processes():
        for task in (each.folder / "task").iterdir():
            with suppress(OSError):  # the thread has ended
                os.sched_setaffinity(int(task.name), cores)


def _program(words: list[str]) -> str:
    """Name a server by its program; our own by the command, since both are Python."""
    own = {"serve": "webhook", "control": "controller"}
    return next((own[word] for word in words if word in own), Path(words[0]).name)
