"""Find the other nodes of a job and its MASTER_ADDR by the rules of torchrun (torch 2.6 and newer), then run the script.

Kept from torchrun: options over PET_* variables, who hosts the c10d store (is_host, else a host that is this machine's own name
or address), order of nodes by address as text, MASTER_ADDR of group rank 0, static rendezvous by node rank.
One process per node, whatever --nproc_per_node says. Source: torch/distributed/run.py, elastic/rendezvous/c10d_rendezvous_backend.py.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from typing import Any, TextIO

RENDEZVOUS = ("rdzv_backend", "rdzv_endpoint", "rdzv_id", "rdzv_conf", "local_addr")
OPTIONS = ("nnodes", "nproc_per_node", "node_rank", "master_addr", "master_port", "tee", "role")
STANDALONE = {"rdzv_backend": "c10d", "rdzv_endpoint": "localhost:0"}
"""What --standalone sets; the number of nodes stays what an option or variable says."""
SECONDS_TO_JOIN = 120


def main() -> int:
    """Meet, then run the script with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT."""
    print(json.dumps({"torchrun": dict(os.environ)}), flush=True)
    options = _options()
    nodes = int((options.nnodes or "1").split(":")[-1])
    rank, host, port = _c10d(options, nodes) if options.rdzv_backend == "c10d" else _static(options)
    ranks = {"RANK": str(rank), "WORLD_SIZE": str(nodes)}
    environment = {**os.environ, **ranks, "MASTER_ADDR": host, "MASTER_PORT": str(port)}
    return subprocess.call([sys.executable, *options.script], env=environment)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in (*RENDEZVOUS, *OPTIONS, "max_restarts"):
        default = os.environ.get(f"PET_{name.upper()}", "")
        parser.add_argument(f"--{name}", f"--{name.replace('_', '-')}", default=default)
    parser.add_argument("--standalone", action="store_true")
    parser.add_argument("script", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.standalone:
        vars(options).update(STANDALONE)
    return options


def _static(options: argparse.Namespace) -> tuple[int, str, int]:
    host, port = options.master_addr or "127.0.0.1", options.master_port or "29500"
    if options.rdzv_endpoint:
        host, port = _split(options.rdzv_endpoint)
    return int(options.node_rank or 0), host, int(port)


def _c10d(options: argparse.Namespace, nodes: int) -> tuple[int, str, int]:
    host, port = _split(options.rdzv_endpoint)
    settings = dict(part.split("=", 1) for part in options.rdzv_conf.split(",") if part)
    said = settings.get("is_host", "").lower()
    is_host = said in ("1", "true", "t", "yes", "y") if said else _is_this_machine(host)
    address = options.local_addr or socket.getfqdn()
    own = {"address": address, "pid": os.getpid(), "port": _free_port()}
    if is_host:
        members = _host(int(port), nodes, own)
    else:
        with _connect(host, int(port)) as peer:
            members = _exchange(peer, own)
    members.sort(key=lambda member: (member["address"], member["pid"]))
    rank = next(index for index, member in enumerate(members) if member == own)
    return rank, members[0]["address"], members[0]["port"]


def _host(port: int, nodes: int, own: dict[str, Any]) -> list[dict[str, Any]]:
    """Keep the store on all interfaces until every node has come, and tell each of them all."""
    members, joined = [own], []
    with socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        while len(members) < nodes:
            stream = server.accept()[0].makefile("rw")
            members.append(json.loads(stream.readline()))
            joined.append(stream)
    for stream in joined:
        _write(stream, members)
    return members


def _exchange(peer: socket.socket, own: dict[str, Any]) -> list[dict[str, Any]]:
    stream = peer.makefile("rw")
    _write(stream, own)
    members: list[dict[str, Any]] = json.loads(stream.readline())
    return members


def _write(stream: TextIO, value: object) -> None:
    stream.write(json.dumps(value) + "\n")
    stream.flush()


def _connect(host: str, port: int) -> socket.socket:
    deadline = time.monotonic() + SECONDS_TO_JOIN
    while True:
        try:
            return socket.create_connection((host, port), timeout=SECONDS_TO_JOIN)
        except OSError as error:
            if time.monotonic() > deadline:
                raise
            print(f"torchrun: {host}:{port}: {error}", file=sys.stderr, flush=True)
            time.sleep(0.5)


def _is_this_machine(host: str) -> bool:
    name = socket.gethostname()
    if host in ("localhost", "127.0.0.1", "::1", name, socket.getfqdn()):
        return True
    return any(found[4][0] == host for found in socket.getaddrinfo(name, None))


def _split(endpoint: str) -> tuple[str, str]:
    host, _, port = endpoint.rpartition(":")
    return host.strip("[]"), port


def _free_port() -> int:
    with socket.create_server(("", 0)) as server:
        return int(server.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
