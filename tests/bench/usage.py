"""What processes use of the machine: processor time and memory."""

import os
from contextlib import suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Return the processor time, user and system."""
    return sum(map(int, _fields(pid)[11:13])) / _TICKS


def megabytes(pid: int, key: str = "VmRSS") -> float:
    """Read a figure of the process's status, such as VmHWM. Raises LookupError."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) / 1024
    raise LookupError(key)


def processes(command: str) -> list[int]:
    """Return the processes of servers that this process started with the word *command*.

    Each server is the leader of a session, in which its children are too.
    """
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            pid = int(folder.name)
            words = (folder / "cmdline").read_bytes().decode().split("\0")
            found[pid] = words, _fields(pid)
    ours = [
        pid
        for pid, (words, fields) in found.items()
        if int(fields[1]) == os.getpid() and command in words
    ]
    return [pid for pid, (_, fields) in found.items() if int(fields[3]) in ours]


def _fields(pid: int) -> list[str]:
    """Return those behind the program's name: state, parent, group, session."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
