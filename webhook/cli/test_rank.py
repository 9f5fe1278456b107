"""Be one rank of a test of the fabric: ``fabric-injector test-rank``, which the pods of ``fabric-injector test`` run.

Imports the standard library alone; what it finds becomes the pod's termination message, which may hold 4,096 bytes.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
import statistics
import threading
import time
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import click

from webhook.cli.test_rdma import measure_rdma, serve_tool

_PORT = 29400
_MOST_DEVICES = 16
_MOST_TEXT = 240
_LONGEST_LINE = 256
_CAP_IPC_LOCK = 1 << 14
_PINGS = 200
_BULK_SECONDS = 1.0
_PIECE = 1 << 18
_PAUSE_SECONDS = 0.2
_TOOL_SECONDS = 30


@click.command("test-rank", hidden=True)
@click.argument("launcher")
@click.option("--seconds", type=int, default=90)
@click.option("--nnodes", type=int, default=2)
@click.option("--master_addr", "master", required=True)
def command(launcher: str, seconds: int, nnodes: int, master: str) -> None:
    """Look at what this pod has, meet rank 0, measure both networks, and write it all as termination message.

    Takes options as torch's LAUNCHER does. Ends with 0 whatever was found: the message tells it.
    """
    rank = int(os.environ.get("JOB_COMPLETION_INDEX") or 0)
    report: dict[str, Any] = {"rank": rank, **look_around()}
    deadline = time.monotonic() + seconds
    if not _is_address(master):
        # The name that the Job was written with, behind which nothing is: nobody told an address.
        report["met"] = {"at": master[:_MOST_TEXT], "problem": "no address was told"}
    elif rank == 0:
        report["served"] = serve(nnodes - 1, deadline, os.environ.get("POD_IP", ""))
    else:
        report |= meet(rank, master, deadline)
    text = json.dumps(report)
    click.echo(text)
    with contextlib.suppress(OSError):  # the log then holds it
        Path(os.environ.get("FABRIC_INJECTOR_TERMINATION_LOG") or "/dev/termination-log").write_text(text)


def look_around() -> dict[str, Any]:
    """Return what the container has: devices with what keeps each from being opened, memory that may be locked, /dev/shm in bytes."""
    devices = {}
    folder = Path("/dev/infiniband")
    for device in sorted(folder.glob("*"))[:_MOST_DEVICES] if folder.is_dir() else ():
        try:
            os.close(os.open(device, os.O_RDWR | os.O_CLOEXEC))
            devices[str(device)] = ""
        except OSError as error:
            devices[str(device)] = (error.strerror or str(error))[:_MOST_TEXT]
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    found: dict[str, Any] = {"devices": devices, "memlock": -1 if limit == resource.RLIM_INFINITY else limit}
    with contextlib.suppress(OSError, ValueError):
        status = Path("/proc/self/status").read_text()
        found["ipcLock"] = bool(int(status.partition("CapEff:")[2].split()[0], 16) & _CAP_IPC_LOCK)
    with contextlib.suppress(OSError):
        room = os.statvfs("/dev/shm")
        found["sharedMemory"] = room.f_blocks * room.f_frsize
    return found


def serve(workers: int, deadline: float, own_address: str, port: int = _PORT) -> list[int]:
    """Answer so many workers till each has said goodbye or the time is up; return which have."""
    gone: set[int] = set()
    tools = threading.Lock()
    try:
        listener = socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    except (OSError, ValueError):  # a kernel without IPv6
        listener = socket.create_server(("", port))
    with listener:
        while len(gone) < workers and (left := deadline - time.monotonic()) > 0:
            listener.settimeout(min(left, 1.0))
            with contextlib.suppress(OSError):
                connection, _ = listener.accept()
                threading.Thread(target=_answer, args=(connection, own_address, gone, tools), daemon=True).start()
    return sorted(gone)


def _answer(connection: socket.socket, own_address: str, gone: set[int], tools: threading.Lock) -> None:
    """Answer one line: hello with the own address, ping with each byte again, bulk with the number of bytes that came.

    After ``rdma TOOL`` perftest's server runs, once *tools* is free: one worker at a time has the device, and the port.
    """
    with connection, contextlib.suppress(OSError, ValueError), connection.makefile("rwb", buffering=0) as stream:
        connection.settimeout(10)
        word, _, rank = stream.readline(_LONGEST_LINE).decode("ascii").strip().partition(" ")
        if word == "hello":
            stream.write(own_address.encode() + b"\n")
        elif word == "ping":
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while byte := stream.read(1):
                stream.write(byte)
        elif word == "bulk":
            received, buffer = 0, bytearray(_PIECE)
            while size := connection.recv_into(buffer):
                received += size
            stream.write(b"%d\n" % received)
        elif word == "rdma":
            with tools:
                connection.settimeout(_TOOL_SECONDS)
                serve_tool(stream, rank, _plain(connection.getsockname()[0]))
        elif word == "bye":
            stream.write(b"\n")
            gone.add(int(rank))


def meet(rank: int, master: str, deadline: float, port: int = _PORT) -> dict[str, Any]:
    """Meet rank 0 where the variable says, learn its address on the pod network, and measure both; problems are part of the answer."""
    begun, problem = time.monotonic(), "the time was up before it was tried"
    while time.monotonic() < deadline:
        try:
            with _connected(master, port, b"hello") as first:
                at, own = first.getpeername()[0], first.getsockname()[0]
                beside = first.makefile("rb").readline(_LONGEST_LINE).decode("ascii", "replace").strip()
            break
        except OSError as error:
            problem = str(error)[:_MOST_TEXT]
            time.sleep(_PAUSE_SECONDS)
    else:
        return {"met": {"at": master[:_MOST_TEXT], "problem": problem}}
    seconds = round(time.monotonic() - begun, 3)
    found = {"met": {"at": at, "from": own, "seconds": seconds}, "fabric": measure(master, port)}
    if beside and beside != at:
        found["podNetwork"] = measure(beside, port)
    if rdma := measure_rdma(_plain(at), _plain(own), deadline, lambda line: _connected(master, port, line)):
        found["rdma"] = rdma
    with contextlib.suppress(OSError), _connected(master, port, b"bye %d" % rank) as last:
        last.recv(1)
    return found


def measure(address: str, port: int) -> dict[str, Any]:
    """Return the Gbit/s of one TCP connection and the µs of a byte there and back (the median), or the problem."""
    try:
        with _connected(address, port, b"ping") as connection:
            times = []
            for _ in range(_PINGS):
                begun = time.perf_counter()
                connection.sendall(b"x")
                if not connection.recv(1):
                    return {"problem": "rank 0 ended the connection"}
                times.append(time.perf_counter() - begun)
        with _connected(address, port, b"bulk") as connection:
            begun, piece = time.perf_counter(), bytes(_PIECE)
            while time.perf_counter() - begun < _BULK_SECONDS:
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)
            received = int(connection.makefile("rb").readline(_LONGEST_LINE))
            seconds = time.perf_counter() - begun
    except (OSError, ValueError) as error:
        return {"problem": f"{address}: {error}"[:_MOST_TEXT]}
    return {"gbits": round(received * 8 / seconds / 1e9, 3), "micros": round(statistics.median(times) * 1e6, 1)}


def _connected(address: str, port: int, line: bytes) -> socket.socket:
    connection = socket.create_connection((address, port), timeout=5)
    try:
        connection.settimeout(10)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(line + b"\n")
    except OSError:
        connection.close()
        raise
    return connection


def _is_address(text: str) -> bool:
    with contextlib.suppress(ValueError):
        return bool(ip_address(text))
    return False


def _plain(address: str) -> str:
    """Return an IPv4 address as such, which a socket of both families writes as one of IPv6."""
    return address.removeprefix("::ffff:")
