"""Start a process beside this one that lasts, ends with it, and takes no more than it is given."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys

NICENESS = 10
"""Admissions go first where both want the processor."""
_PR_SET_PDEATHSIG = 1


def start_child(module: str, *arguments: str, inherited: tuple[int, ...]) -> subprocess.Popen[bytes]:
    """Start *module* with the arguments, the number of this process and those of the files that it inherits.

    It ends with the thread that started it. Raises OSError where it cannot be started.
    """
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments, *map(str, (os.getpid(), *inherited))],
        stdin=subprocess.DEVNULL,
        pass_fds=inherited,
        start_new_session=True,  # Ctrl-C is for this process, which ends that one
    )


def settle(parent: int, data_bytes: int) -> None:
    """Be the process that *parent* has started: end with it, yield to it, and have at most so much memory for data."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # a busy interpreter sees no socket close
    if os.getppid() != parent:  # it ended before it was asked for
        os._exit(0)
    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_DATA, (data_bytes, data_bytes))


def how_ended(status: int) -> str:
    """Say how a process with this exit status has ended, ``Killed`` or ``status 1``."""
    return (signal.strsignal(-status) if status < 0 else "") or f"status {status}"
