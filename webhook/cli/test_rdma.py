"""Measure RDMA between two ranks of a test with perftest's ``ib_write_bw`` and ``ib_read_lat``, where the image has them.

Imports the standard library alone. nccl-tests are not run: between pods ``all_reduce_perf`` needs MPI and accelerators, for which
the pods of a test do not ask.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Any

BANDWIDTH, LATENCY = "ib_write_bw", "ib_read_lat"
_OPTIONS = {BANDWIDTH: ("--report_gbits", "-s", "1048576", "-n", "2000"), LATENCY: ("-s", "8", "-n", "1000")}
_COLUMN = {BANDWIDTH: "BW average", LATENCY: "t_typical"}
_MIB_BITS = 8 * (1 << 20) / 1e9
_UNITS = {"Gb/sec": 1.0, "MB/sec": _MIB_BITS, "MiB/sec": _MIB_BITS, "usec": 1.0}
"""Into Gbit/s and µs. What perftest calls MB is 2^20 bytes, also in the versions before it wrote MiB."""
_HEADER = re.compile(r"#\w+|[^\[\]#]+\[[^\]]+\]")
_PORT = 29401
_SECONDS = 20
_LAST_SECONDS = 2
"""How long the server may stay once its client has ended."""
_GOODBYE_SECONDS = 10
_MOST_TEXT = 240
_LONGEST_LINE = 256
_PAUSE_SECONDS = 0.3
_MOST_GIDS = 256
_UNCONNECTED = "Couldn't connect"
_STAYED = "not done after"
_WITHOUT_ACCESS = re.compile(
    r"permission denied|operation not permitted|cannot allocate memory|couldn't get context|(?:allocate|create) MR|not on PATH|"
    r"no RDMA device that can be opened",
    re.IGNORECASE,
)
"""What is said where the pod lacks a right, a device or memory that it may lock: of the fabric it says nothing."""


@dataclass(frozen=True, slots=True)
class RdmaPort:
    """Name the *port* of an RDMA *device*, with the index of its GID; None where perftest is to choose it."""

    device: str
    port: int
    gid: int | None

    def options(self) -> list[str]:
        """Return it as options of perftest."""
        chosen = [] if self.gid is None else ["-x", str(self.gid)]
        return ["-d", self.device, "-i", str(self.port), *chosen]


def parse(tool: str, output: str) -> float | None:
    """Return the Gbit/s of ``ib_write_bw`` or the µs of ``ib_read_lat`` (typical); None where its table has no row."""
    column, factor, found = -1, 1.0, None
    for line in output.splitlines():
        if line.strip().startswith("#bytes"):
            names = [name.strip() for name in _HEADER.findall(line)]
            column = next((at for at, name in enumerate(names) if name.startswith(_COLUMN[tool] + "[")), -1)
            factor = _UNITS.get(names[column].partition("[")[2].rstrip("]"), 0.0)
            continue
        cells = line.split()
        if 0 <= column < len(cells) and all(cell.isdigit() for cell in cells[:2]):
            with contextlib.suppress(ValueError):
                found = float(cells[column]) * factor
    return found or None


def last_line(output: str) -> str:
    """Return what a tool said last, but for the rules of its table."""
    lines = [line.strip() for line in output.splitlines() if line.strip(" \t-*")]
    return lines[-1][:_MOST_TEXT] if lines else ""


def choose_port(
    address: str, environ: Mapping[str, str] = os.environ, system: Path = Path("/sys"), dev: Path = Path("/dev")
) -> RdmaPort | None:
    """Return the port whose GID is this address on the fabric; else the first active one that NCCL would take; None without device.

    Takes only devices that can be opened here: /sys shows a container those of the whole node.
    """
    fixed = environ.get("NCCL_IB_GID_INDEX", "")
    index = int(fixed) if fixed.isascii() and fixed.isdigit() and len(fixed) < 4 else None
    active = None
    for device, port, folder in _ports(environ.get("NCCL_IB_HCA", ""), system, dev):
        at = _gid_of(folder, address)
        if at is not None:
            return RdmaPort(device, port, at if index is None else index)
        if active is None and "ACTIVE" in _read(folder / "state"):
            active = RdmaPort(device, port, index)
    return active


def _ports(wanted: str, system: Path, dev: Path) -> Iterator[tuple[str, int, Path]]:
    for verbs in sorted((system / "class/infiniband_verbs").glob("uverbs*")):
        device = _read(verbs / "ibdev")
        if not device or not os.access(dev / "infiniband" / verbs.name, os.R_OK | os.W_OK):
            continue
        for folder in sorted((system / "class/infiniband" / device / "ports").glob("[0-9]*")):
            if folder.name.isdigit() and _is_wanted(wanted, device, folder.name):
                yield device, int(folder.name), folder


def _is_wanted(wanted: str, device: str, port: str) -> bool:
    """Read NCCL_IB_HCA as NCCL does: prefixes, or with ``=`` whole names; with ``^`` those that are left out; each may name a port."""
    text = wanted.strip()
    excludes = text.startswith("^")
    text = text.removeprefix("^")
    exact = text.startswith("=")
    names = [name.strip().partition(":") for name in text.removeprefix("=").split(",") if name.strip()]
    if not names:
        return True
    named = any(
        (device == name if exact else device.startswith(name)) and only in ("", port) for name, _, only in names
    )
    return named != excludes


def _gid_of(folder: Path, address: str) -> int | None:
    """Return the index of the GID that is this address, of RoCE v2 where there are several."""
    try:
        own = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    mapped = own if own.version == 6 else IPv6Address(f"::ffff:{own}")
    found = None
    for index in range(_MOST_GIDS):
        try:
            gid = IPv6Address(_read(folder / "gids" / str(index)))
        except ValueError:
            break
        if gid == mapped:
            found = index
            if "v2" in _read(folder / "gid_attrs/types" / str(index)):
                break
    return found


def serve_tool(stream: Any, tool: str, address: str, port: int = _PORT) -> None:
    """Be perftest's server for one run: write ``ready`` or why not, and its last line once the client has ended."""
    try:
        command = _command(tool, address, port)
    except LookupError as problem:
        stream.write(f"{problem.args[0]}\n".encode())
        return
    with _started(command) as process:
        stream.write(b"ready\n")
        with contextlib.suppress(OSError):
            stream.readline(_LONGEST_LINE)
        output = _ended(process, _LAST_SECONDS)
    stream.write(f"{last_line(output)}\n".encode())


def run_tool(
    connection: socket.socket, tool: str, own: str, address: str, seconds: float, port: int = _PORT
) -> dict[str, Any]:
    """Be perftest's client over a connection that asked rank 0 for it; return the figure, or the problem in the tool's own words.

    *failed* tells that it ran and failed, and not for want of rights or of access to a device. A client that cannot connect has failed
    where rank 0's side waited for it to the end; where that had ended by itself, or nothing is known of it, there was nobody to reach.
    Waits so many *seconds* for its turn, since rank 0 runs it with one worker at a time.
    """
    with connection, connection.makefile("rwb", buffering=0) as stream:
        connection.settimeout(max(seconds, 1))
        answer = _line(stream.readline(_LONGEST_LINE))
        connection.settimeout(_GOODBYE_SECONDS)
        if answer != "ready":
            return {"problem": f"rank 0: {answer}"[:_MOST_TEXT]}
        command = [*_command(tool, own, port), address]
        deadline = time.monotonic() + _SECONDS
        while True:
            with _started(command) as process:
                output = _ended(process, max(deadline - time.monotonic(), 0))
            if _UNCONNECTED not in output or time.monotonic() > deadline - _SECONDS / 2:
                break
            time.sleep(_PAUSE_SECONDS)  # the server has started, and may not listen yet
        theirs = "nothing is known"
        with contextlib.suppress(OSError):  # what was measured stays
            stream.write(b"done\n")
            theirs = _line(stream.readline(_LONGEST_LINE))
    figure = parse(tool, output) if process.returncode == 0 else None
    if figure is not None:
        return {"figure": round(figure, 3)}
    said = last_line(output) or f"ended with {process.returncode} and said nothing"
    had_server = _UNCONNECTED not in output or theirs.startswith(_STAYED)
    failed = process.returncode != 0 and had_server and not _WITHOUT_ACCESS.search(f"{output}\n{theirs}")
    return {"problem": f"{tool}: {said}; at rank 0: {theirs}"[:_MOST_TEXT], "failed": failed}


def measure_rdma(rank_zero: str, own: str, deadline: float, ask: Callable[[bytes], socket.socket]) -> dict[str, Any]:
    """Return the device, Gbit/s and µs of RDMA to rank 0, or the problem; empty without device or perftest.

    *ask* connects to rank 0 and sends a line.
    """
    port = choose_port(own) if shutil.which(BANDWIDTH) else None
    if port is None:
        return {}
    found: dict[str, Any] = {"device": port.device}
    for tool, figure in ((BANDWIDTH, "gbits"), (LATENCY, "micros")):
        if shutil.which(tool) is None:
            continue
        try:
            result = run_tool(ask(f"rdma {tool}".encode()), tool, own, rank_zero, deadline - time.monotonic())
        except (OSError, LookupError) as error:
            result = {"problem": f"{tool}: {error}"[:_MOST_TEXT]}
        if "figure" not in result:
            return {**found, **result}
        found[figure] = result["figure"]
    return found


def _command(tool: str, address: str, port: int) -> list[str]:
    path = shutil.which(tool) if tool in _OPTIONS else None
    if path is None:
        raise LookupError(f"{tool} is not on PATH")
    chosen = choose_port(address)
    if chosen is None:
        raise LookupError(f"no RDMA device that can be opened and is active, for {address}")
    family = ["--ipv6-addr"] if ":" in address else []
    return [path, *chosen.options(), "-F", "-p", str(port), *_OPTIONS[tool], *family]


@contextlib.contextmanager
def _started(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _ended(process: subprocess.Popen[str], seconds: float) -> str:
    """Return all that it wrote, once it has ended or the time is up."""
    try:
        return process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0] + f"\n{_STAYED} {seconds:.0f} s"


def _line(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").strip()[:_MOST_TEXT] or "it said nothing"


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except (OSError, ValueError):
        return ""
