"""Form a process group as torch does and exchange data: one line of JSON tells what this rank found and which interface carried it.

Rank 0 hosts the store on MASTER_PORT of all interfaces, the others connect to MASTER_ADDR. Data flows, as with gloo, between
the addresses of the interface GLOO_SOCKET_IFNAME, else between the addresses that the host names resolve to.
With HOLD_SECONDS in the environment it waits that long before it ends.
"""

import fcntl
import json
import os
import re
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

CHUNK = bytes(64 * 1024)
CHUNKS = 64
SECONDS = 120
SIOCGIFADDR = 0x8915


def main() -> None:
    """Meet, exchange, report."""
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    report: dict[str, Any] = {"rank": rank, "environment": dict(os.environ)}
    port = int(os.environ.get("MASTER_PORT", "29500"))
    if world > 1:
        with _listen("", 0) as data:
            mine = [_own_address(), data.getsockname()[1]]
            host = os.environ["MASTER_ADDR"]
            peers = _store(port, world, mine) if rank == 0 else _join(host, port, mine)
            report["store"] = peers.pop("store")
            report["before"] = _counters()
            _send_to(data, world - 1) if rank == 0 else _receive_from(*peers["rank0"])
            report["after"] = _counters()
    report |= {"addresses": _addresses(), "shared_memory": _shared_memory()}
    report["capabilities"] = _capabilities()
    print(json.dumps({"train": report}), flush=True)
    time.sleep(float(os.environ.get("HOLD_SECONDS", "0")))


def _store(port: int, world: int, mine: list[Any]) -> dict[str, Any]:
    """Tell every other rank where rank 0's data is."""
    joined: list[socket.socket] = []
    with _listen("", port) as server:
        while len(joined) < world - 1:
            stream = server.accept()[0]
            joined.append(stream)
            stream.recv(1)
    for stream in joined:
        stream.sendall(json.dumps({"rank0": mine}).encode() + b"\n")
    return {"rank0": mine, "store": joined[0].getsockname()[0].removeprefix("::ffff:")}


def _join(host: str, port: int, mine: list[Any]) -> dict[str, Any]:
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            with socket.create_connection((host, port), timeout=SECONDS) as stream:
                stream.sendall(b"?")
                found: dict[str, Any] = json.loads(stream.makefile().readline())
                return {**found, "store": stream.getpeername()[0]}
        except OSError as error:
            if time.monotonic() > deadline:
                raise
            print(f"train: {host}:{port}: {error}", file=sys.stderr, flush=True)
            time.sleep(0.2)


def _send_to(server: socket.socket, peers: int) -> None:
    """Send every peer all chunks, and take as many back, one after the other."""
    for _ in range(peers):
        with server.accept()[0] as stream:
            for _ in range(CHUNKS):
                stream.sendall(CHUNK)
            _read(stream, CHUNKS * len(CHUNK))
            stream.sendall(b".")


def _receive_from(host: str, port: int) -> None:
    with socket.create_connection((host, port), timeout=SECONDS) as stream:
        _read(stream, CHUNKS * len(CHUNK))
        for _ in range(CHUNKS):
            stream.sendall(CHUNK)
        _read(stream, 1)


def _read(stream: socket.socket, size: int) -> None:
    while size:
        received = len(stream.recv(min(size, 1 << 20)))
        if not received:
            raise EOFError(f"the peer left with {size} bytes still to come")
        size -= received


def _listen(host: str, port: int) -> socket.socket:
    return socket.create_server((host or "::", port), family=socket.AF_INET6, dualstack_ipv6=True)


def _own_address() -> str:
    interface = os.environ.get("GLOO_SOCKET_IFNAME")
    found = _addresses().get(interface) if interface else None
    return str(found[0]) if found else socket.gethostbyname(socket.gethostname())


def _addresses() -> dict[str, list[str]]:
    """Give each interface's addresses but the link-local ones, IPv4 first."""
    found: dict[str, list[str]] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(probe, SIOCGIFADDR, struct.pack("256s", name.encode()))
                found.setdefault(name, []).append(socket.inet_ntoa(answer[20:24]))
            except OSError:
                found.setdefault(name, [])
    for line in Path("/proc/net/if_inet6").read_text().splitlines():
        digits, *_, name = line.split()
        address = socket.inet_ntop(socket.AF_INET6, bytes.fromhex(digits))
        if not address.startswith("fe80"):
            found.setdefault(name, []).append(address)
    return found


def _counters() -> dict[str, int]:
    """Give the bytes that each interface has received and sent."""
    lines = Path("/proc/net/dev").read_text().splitlines()[2:]
    parts = (line.replace(":", " ").split() for line in lines)
    return {fields[0]: int(fields[1]) + int(fields[9]) for fields in parts}


def _shared_memory() -> list[Any]:
    """Give the kind of file system at /dev/shm and its size in bytes."""
    mounts = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    kinds = [kind for _, place, kind, *_ in mounts if place == "/dev/shm"]
    status = os.statvfs("/dev/shm")
    return [kinds[-1], status.f_blocks * status.f_frsize]


def _capabilities() -> int:
    found = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found.group(1), 16)


if __name__ == "__main__":
    main()
