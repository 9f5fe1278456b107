"""Stand-ins for torch: `torchrun`, which finds the nodes of a job, and the script that it runs.

Kept from torchrun 2.6 and newer: options over PET_* variables, who hosts the c10d store, order of
nodes by address as text, MASTER_ADDR of group rank 0, static rendezvous by node rank; one process
per node, whatever --nproc_per_node says. Source: torch/distributed/run.py and
elastic/rendezvous/c10d_rendezvous_backend.py.

The script meets as torch does, at MASTER_ADDR, and exchanges data as gloo does, between addresses
of GLOO_SOCKET_IFNAME, else between those of the host names. A line of JSON tells what this rank
found, and which interface carried how much. It waits for HOLD_SECONDS before it ends.
"""

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

OPTIONS = (
    *("rdzv_backend", "rdzv_endpoint", "rdzv_id", "rdzv_conf", "local_addr", "max_restarts"),
    *("nnodes", "nproc_per_node", "node_rank", "master_addr", "master_port", "tee", "role"),
)
DATA = bytes(4 << 20)
SECONDS = 120


def torchrun() -> int:
    """Meet, then run the script with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT."""
    print(json.dumps({"torchrun": dict(os.environ)}), flush=True)
    parser = argparse.ArgumentParser()
    for name in OPTIONS:
        default = os.environ.get(f"PET_{name.upper()}", "")
        parser.add_argument(f"--{name}", f"--{name.replace('_', '-')}", default=default)
    parser.add_argument("--standalone", action="store_true")
    parser.add_argument("script", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.standalone:  # the number of nodes stays what an option or variable says
        options.rdzv_backend, options.rdzv_endpoint = "c10d", "localhost:0"
    nodes = int((options.nnodes or "1").split(":")[-1])
    if options.rdzv_backend == "c10d":
        rank, host, port = _c10d(options, nodes)
    else:
        endpoint = f"{options.master_addr or '127.0.0.1'}:{options.master_port or '29500'}"
        host, port = _split(options.rdzv_endpoint or endpoint)
        rank = int(options.node_rank or 0)
    found = {"RANK": str(rank), "WORLD_SIZE": str(nodes), "MASTER_ADDR": host}
    environment = {**os.environ, **found, "MASTER_PORT": str(port)}
    return subprocess.call([sys.executable, *options.script], env=environment)


def _c10d(options: argparse.Namespace, nodes: int) -> tuple[int, str, int]:
    host, port = _split(options.rdzv_endpoint)
    is_host = "is_host=1" in options.rdzv_conf or _is_this_machine(host)
    with _listen(0) as free:
        own_port = free.getsockname()[1]
    own = [options.local_addr or socket.getfqdn(), os.getpid(), own_port]
    members, _ = _meet("" if is_host else host, port, nodes, own)
    members.sort()
    address, _, port = members[0]
    return members.index(own), address, port


def _is_this_machine(host: str) -> bool:
    name = socket.gethostname()
    known = {"localhost", "127.0.0.1", "::1", name, socket.getfqdn()}
    return host in known | {found[4][0] for found in socket.getaddrinfo(name, None)}


def _split(endpoint: str) -> tuple[str, int]:
    host, _, port = endpoint.rpartition(":")
    return host.strip("[]"), int(port)


def train() -> None:
    """Meet, exchange, report."""
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    report: dict[str, Any] = {"rank": rank, "environment": dict(os.environ)}
    if world > 1:
        with _listen(0) as listening:
            own = [rank, _own_address(), listening.getsockname()[1]]
            host = os.environ["MASTER_ADDR"] if rank else ""
            members, report["store"] = _meet(host, int(os.environ["MASTER_PORT"]), world, own)
            report["before"] = _counters()
            if rank:
                with _connect(*min(members)[1:]) as stream:
                    _receive(stream)
                    stream.sendall(DATA)
                    stream.recv(1)  # until rank 0 has it all
            else:
                for _ in range(world - 1):
                    with listening.accept()[0] as stream:
                        stream.sendall(DATA)  # first, as it has begun to count
                        _receive(stream)
            report["after"] = _counters()
    report |= {"addresses": _addresses(), "shared_memory": _shared_memory()}
    (capabilities,) = re.findall(r"CapEff:\s*(\w+)", Path("/proc/self/status").read_text())
    report["capabilities"] = int(capabilities, 16)
    print(json.dumps({"train": report}), flush=True)
    time.sleep(float(os.environ.get("HOLD_SECONDS", "0")))


def _meet(host: str, port: int, world: int, own: list[Any]) -> tuple[list[Any], str]:
    """Give all members once they have come, and the store's address; host it where no host is."""
    if host:
        with _connect(host, port) as stream:
            stream.sendall(json.dumps(own).encode() + b"\n")
            return json.loads(stream.makefile().readline()), stream.getpeername()[0]
    members, joined = [own], []
    with _listen(port) as server:
        while len(members) < world:
            stream, _ = server.accept()
            members.append(json.loads(stream.makefile().readline()))
            joined.append(stream)
    for stream in joined:
        stream.sendall(json.dumps(members).encode() + b"\n")
    address = joined[0].getsockname()[0] if joined else ""
    return members, address.removeprefix("::ffff:")


def _connect(host: str, port: int) -> socket.socket:
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return socket.create_connection((host, port), timeout=SECONDS)
        except OSError as error:
            if time.monotonic() > deadline:
                raise
            print(f"{sys.argv[0]}: {host}:{port}: {error}", file=sys.stderr, flush=True)
            time.sleep(0.5)


def _listen(port: int) -> socket.socket:
    return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)


def _receive(stream: socket.socket) -> None:
    if len(stream.makefile("rb").read(len(DATA))) < len(DATA):
        raise EOFError("the peer left while it sent")


def _own_address() -> str:
    found = _addresses().get(os.environ.get("GLOO_SOCKET_IFNAME", ""))
    return found[0] if found else socket.gethostbyname(socket.gethostname())


def _interfaces() -> dict[str, Any]:
    """Give what `ip` tells of each interface."""
    command = ("ip", "-json", "-stats", "address")
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return {one["ifname"]: one for one in json.loads(done.stdout)}


def _addresses() -> dict[str, list[str]]:
    """Give each interface's addresses but the link-local ones, IPv4 first."""
    return {
        name: [each["local"] for each in one["addr_info"] if each["scope"] == "global"]
        for name, one in _interfaces().items()
    }


def _counters() -> dict[str, int]:
    """Give the bytes that each interface has received and sent."""
    counted = {name: one["stats64"] for name, one in _interfaces().items()}
    return {name: one["rx"]["bytes"] + one["tx"]["bytes"] for name, one in counted.items()}


def _shared_memory() -> list[Any]:
    """Give the kind of file system at /dev/shm and its size in bytes."""
    mounts = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    kinds = [kind for _, place, kind, *_ in mounts if place == "/dev/shm"]
    status = os.statvfs("/dev/shm")
    return [kinds[-1], status.f_blocks * status.f_frsize]


if __name__ == "__main__":
    train()
