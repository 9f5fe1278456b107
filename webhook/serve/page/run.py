"""Run the process that answers dry runs: started by the webhook when it is first asked, so that no paste can end admission.

It has no port, no credentials in use and no watch: connections are handed to it, and what it knows of the cluster it asks.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from typing import Any

import uvloop

from webhook.core.model import Object
from webhook.dry_run import DryRun, dry_run
from webhook.http import logs
from webhook.http.bridge import Bridge
from webhook.http.endpoint import Limits
from webhook.http.listener import Listener
from webhook.http.pool import WorkerPool
from webhook.serve.child import settle
from webhook.serve.page.app import make_dry_run_app
from webhook.serve.page.parent import ParentWorld
from webhook.serve.page.state import state_document

DATA_BYTES = 96 << 20
"""Most memory for data, whatever is pasted. With admission's 120 MB and what reads large reviews they must fit into the container's."""
CONNECTIONS = 50
LIMITS = Limits(body_bytes=3 << 20, body_seconds=10.0, large_bytes=6 << 20)
PATIENCE_SECONDS = 5.0
"""Longest wait for the dry run before: with its own time it is less than the parent waits for an answer."""
GRACE_SECONDS = 25.0

log = logging.getLogger(__name__)


class HandedOver(socket.socket):
    """Accept connections that the parent hands over through the inherited socket *number*; end with the parent."""

    def __init__(self, number: int) -> None:
        super().__init__(fileno=number)

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection; raises BlockingIOError where there is none."""
        message, numbers, _, _ = socket.recv_fds(self, 1, 1)
        if not message:
            os._exit(0)  # whatever a thread still does: nobody is left to be answered
        if not numbers:
            raise BlockingIOError
        return socket.socket(fileno=numbers[0]), self.getsockname()

    def getsockname(self) -> tuple[str, int]:
        """Return what stands for an address, which there is none of."""
        return "parent", 0


def run(parent: int, connections: int, questions: int) -> None:
    """Serve what comes through the sockets *connections* and *questions*, until the process *parent* ends or kills this one."""
    settle(parent, DATA_BYTES)
    logs.configure()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(connections, socket.socket(fileno=questions)))


async def _serve(connections: int, questions: socket.socket) -> None:
    world = ParentWorld(questions)
    profiles = world.profiles()  # a change of them ends this process

    def judge(text: str, namespace: str | None, profile: str | None) -> DryRun:
        return dry_run(text, namespace=namespace, profile=profile, profiles=profiles, world=world)

    def state() -> Object:
        return state_document(profiles, world.snapshot(), world.problems())

    def exhaust() -> None:
        loop.call_soon_threadsafe(exhausted.set)

    loop, exhausted = asyncio.get_running_loop(), asyncio.Event()
    bridge = Bridge(
        make_dry_run_app(judge, state, exhaust), WorkerPool("dry-run", patience_seconds=PATIENCE_SECONDS), LIMITS
    )
    listener = Listener(HandedOver(connections), bridge, connections=CONNECTIONS)
    await listener.start()
    await exhausted.wait()
    log.info(
        "the dry run's memory was used up: what waits is answered, and another process takes the place of this one"
    )
    await listener.close(linger_seconds=0.0, grace_seconds=GRACE_SECONDS)
    os._exit(0)
