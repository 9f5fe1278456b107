"""Wait for published addresses: ``fabric-injector wait`` does what wait.sh does, without a shell.

Imports little: it starts in each member of a job.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn

import click

_PAUSE_SECONDS = 0.2
_TIME_IS_UP = 75


@click.command("wait", hidden=True)
@click.argument("needs", metavar="FILE[:own]...", nargs=-1)
def command(needs: tuple[str, ...]) -> None:
    """Wait until each file holds an address or device names; an :own address must be here.

    The wait container runs it, with rendezvous.waitImage: installed. Exit status 75: the time is
    up, or file wait-ends says why no address will come.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(143))
    limit = int(os.environ.get("FABRIC_INJECTOR_TIMEOUT") or 1800)
    waiting = _Wait()
    click.echo(f"fabric-injector-wait: job {_job()}: waiting for {' '.join(needs)}")
    end = time.monotonic() + limit
    settle = float(os.environ.get("FABRIC_INJECTOR_SETTLE") or 2)  # wait.sh says what for
    while True:
        _hold_back(waiting, needs, end=end, limit=limit)
        time.sleep(settle)
        if not waiting.first_missing(needs):
            break
    _leave(waiting.line("master-addr"))


def _hold_back(waiting: _Wait, needs: tuple[str, ...], *, end: float, limit: int) -> None:
    """Return once nothing is missing."""
    while missing := waiting.first_missing(needs):
        if cause := waiting.line("wait-ends"):
            _give_up(cause)
        if time.monotonic() >= end:
            _give_up(_time_is_up(*missing, limit))
        time.sleep(_PAUSE_SECONDS)


def _time_is_up(file: str, why: str, limit: int) -> str:
    zero = os.environ.get("FABRIC_INJECTOR_RANK_ZERO") or ""
    place = os.environ.get("FABRIC_INJECTOR_ADDRESS_ANNOTATION") or "network-status"
    annotation = place if " " in place else f"that pod's {place} annotation"
    whose = f"its rank-0 pod {zero}" if file.startswith("master-") else "this pod"
    where = f"the Events of {whose}, at {annotation}"
    controller = "and at the fabric-injector controller"
    return f"{file} of job {_job()} {why} after {limit} s. Look at {where}, {controller}."


def _job() -> str:
    return os.environ.get("FABRIC_INJECTOR_JOB") or "unknown"


class _Wait:
    """Read the published addresses, and those of this pod."""

    def __init__(self) -> None:
        self._folder = Path(os.environ.get("FABRIC_INJECTOR_DIR") or "/etc/fabric-injector")
        self._net = Path(os.environ.get("FABRIC_INJECTOR_PROC_NET") or "/proc/net")
        self._told = False

    def line(self, file: str) -> str:
        """Return the first line of a file; empty where there is none."""
        try:
            text = (self._folder / file).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return text.partition("\n")[0].strip()

    def first_missing(self, needs: tuple[str, ...]) -> tuple[str, str] | None:
        """Return the first file without an address that counts, and why; None if all are there."""
        for need in needs:
            file, _, own = need.partition(":")
            address = self.line(file)
            if not address:
                return file, "was not published"
            if own and not self._is_here(address):
                return file, f"is {address}, which is on no interface of this pod,"
        return None

    def _is_here(self, address: str) -> bool:
        name = "if_inet6" if ":" in address else "fib_trie"
        try:
            table = (self._net / name).read_text(encoding="ascii")
        except OSError:
            if not self._told:
                problem = f"cannot read {self._net / name}"
                unknown = "not checked that the address is on an interface here"
                click.echo(f"fabric-injector-wait: {problem}: {unknown}", err=True)
            self._told = True
            return True
        if ":" in address:
            return _hexadecimal(address) in [line.split(" ")[0] for line in table.splitlines()]
        seen = ""
        for words in map(str.split, table.splitlines()):
            if words[:1] == ["|--"]:
                seen = words[1]
            elif seen == address and words[:3] == ["/32", "host", "LOCAL"]:
                return True
        return False


def _hexadecimal(address: str) -> str:
    """Write an IPv6 address as /proc/net/if_inet6 does; anything else stays as it is."""
    try:
        return ipaddress.IPv6Address(address).packed.hex()
    except ValueError:
        return address


def _give_up(why: str) -> NoReturn:
    text = f"fabric-injector: {why}"
    click.echo(text, err=True)
    _leave(text)
    sys.exit(_TIME_IS_UP)


def _leave(text: str) -> None:
    """Write the last words, which the pod's status shows."""
    path = os.environ.get("FABRIC_INJECTOR_TERMINATION_LOG") or "/dev/termination-log"
    with contextlib.suppress(OSError):  # else the kubelet takes the end of the log
        Path(path).write_text(f"{text}\n")
