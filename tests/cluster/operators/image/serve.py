"""Meet as servers of models do, which bind to the name that they are given; then train.

serve.py zmq|grpc|ray LEADER:PORT RANK. zmq: vLLM's data-parallel coordinator and SGLang's
dp-attention; grpc: JAX's coordinator before 0.4.30; ray: the head registers the address of its
default route, and a worker takes it from there.
"""

import os
import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

SECONDS = 120


def main() -> None:
    """Meet the other member, then form a process group at the leader's name."""
    kind, endpoint, rank = sys.argv[1:4]
    leader, _, _ = endpoint.rpartition(":")
    meet: dict[str, Callable[[str, int], object]] = {"zmq": _zmq, "grpc": _grpc, "ray": _ray}
    meet[kind](endpoint, int(rank))
    os.environ |= {"MASTER_ADDR": leader, "MASTER_PORT": "29500", "RANK": rank, "WORLD_SIZE": "2"}
    import train

    train.main()


def _zmq(endpoint: str, rank: int) -> None:
    import zmq

    host, _, port = endpoint.rpartition(":")
    place = f"tcp://{_look_up(host)}:{port}"  # zmq binds to no name that is not an interface's
    with zmq.Context() as context, context.socket(zmq.REP if rank == 0 else zmq.REQ) as link:
        link.setsockopt(zmq.RCVTIMEO, SECONDS * 1000)
        if rank == 0:
            link.bind(place)
            link.recv()
            link.send(b"welcome")
        else:
            link.connect(place)
            link.send(b"hello")
            link.recv()


def _look_up(host: str) -> str:
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return socket.gethostbyname(host)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def _grpc(endpoint: str, rank: int, answer: bytes = b"welcome", bind: str = "") -> bytes:
    import grpc

    if rank == 0:
        served = []

        def join(request: bytes, _: object) -> bytes:
            served.append(request)
            return answer

        handler = grpc.unary_unary_rpc_method_handler(join)
        server = grpc.server(ThreadPoolExecutor(1))
        meeting = grpc.method_handlers_generic_handler("meeting", {"join": handler})
        server.add_generic_rpc_handlers((meeting,))
        assert server.add_insecure_port(bind or endpoint), f"cannot bind to {bind or endpoint}"
        server.start()
        while not served:
            time.sleep(0.2)
        server.stop(5).wait()
        return answer
    _look_up(endpoint.rpartition(":")[0])
    with grpc.insecure_channel(endpoint) as channel:
        call = channel.unary_unary("/meeting/join")
        found: bytes = call(b"hello", timeout=SECONDS, wait_for_ready=True)
        return found


def _ray(endpoint: str, rank: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("8.8.8.8", 80))
        own = probe.getsockname()[0]
    registered = _grpc(endpoint, rank, own.encode(), f"{own}:{endpoint.rpartition(':')[2]}")
    leader = _look_up(endpoint.rpartition(":")[0])
    assert registered.decode() == leader, f"registered: {registered.decode()}, named: {leader}"


if __name__ == "__main__":
    main()
