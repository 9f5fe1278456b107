"""Run the listeners of admission and metrics on one event loop, and at SIGTERM end them so that no request fails."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import uvloop

from certs.serving import ServingCertificate
from webhook.core.review import Answer
from webhook.http.health import Health, Readiness
from webhook.http.listener import Listener
from webhook.http.logs import log_fields
from webhook.http.signals import StopSignals
from webhook.serve.admission import Admission, AdmissionRecorder, AdmitInTime
from webhook.serve.dry_runs import DryRuns
from webhook.serve.metrics import WebhookMetrics

CONNECTIONS = 600
"""Two thirds of them may come from one address: as many as an API server may have under way."""
YOUNG_OBJECTS = 20_000
"""How many new objects make the collector look for cycles: a review makes a thousand, which live for a millisecond."""
BLOCK_BYTES = 256 << 10
"""A large block: more than an ordinary review or TLS ever takes, whom it would cost time."""
KEPT_BYTES = 4 << 20
"""What the end of the heap may hold unused: less would be given back and asked for again with each review."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # malloc.h
MOST_DRAIN_SECONDS = 25.0
"""How long to serve on after SIGTERM at the most: Kubernetes kills after 30 s."""
LINGER_SECONDS = 1.0
GRACE_SECONDS = 3.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sockets:
    """Hold the bound sockets of the listeners."""

    admission: socket.socket
    metrics: socket.socket


@dataclass(frozen=True, slots=True)
class Service:
    """Hold what a process serves.

    *admit*, *admit_at_once*: as in ``Admission``. *quiet_seconds*: after SIGTERM the process ends once no admission
    request has come for so long; a Service sends new connections for a while. *client_names*: a client's certificate must carry one of
    them; empty: any verified certificate will do, if one is demanded at all. *announcement*: more fields for the log line that says
    where it serves.
    """

    admit: AdmitInTime
    admit_at_once: Callable[[bytes], Answer]
    dry_runs: DryRuns
    readiness: Readiness
    certificate: ServingCertificate
    metrics: WebhookMetrics
    client_names: frozenset[str] = frozenset()
    quiet_seconds: float = 0.0
    announcement: dict[str, str] = field(default_factory=dict)


def serve(service: Service, sockets: Sockets) -> None:
    """Serve until SIGTERM or SIGINT."""
    _give_memory_back()
    gc.collect()
    gc.freeze()  # what is loaded now stays: no collection needs to look through it
    gc.set_threshold(YOUNG_OBJECTS)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(service, sockets))


def _give_memory_back() -> None:
    """Have glibc ask the system for each large block by itself: freed, it goes back. Source: man 3 mallopt.

    By default the size from which it does so grows with each large body.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(_MMAP_THRESHOLD, BLOCK_BYTES)
        library.mallopt(_TRIM_THRESHOLD, KEPT_BYTES)


async def _serve(service: Service, sockets: Sockets) -> None:
    recorder = AdmissionRecorder(service.metrics)
    admission = Admission(
        service.admit,
        service.admit_at_once,
        recorder,
        refuse=service.readiness.refusal,
    )
    health = Health(service.readiness.checks, lambda: service.metrics.registry)
    listeners = (
        Listener(
            sockets.admission,
            admission,
            connections=CONNECTIONS,
            context=lambda: service.certificate.context,
            names=service.client_names,
            on_dropped=service.metrics.connection_dropped,
        ),
        Listener(sockets.metrics, health, connections=100),
    )
    service.metrics.in_flight(lambda: listeners[0].in_flight)
    stop = StopSignals()
    for listener in listeners:
        await listener.start()
    service.dry_runs.start()
    urls = {
        "admission": listeners[0].url,
        "dryRun": service.dry_runs.url,
        "metrics": listeners[1].url,
    }
    log_fields(log, logging.INFO, "serving", urls | service.announcement)
    await stop.asked.wait()
    service.readiness.draining = True
    listeners[0].closing = True
    log.info(_ending(service.quiet_seconds))
    await _drain(listeners[0], service.quiet_seconds, stop)
    at_once = stop.at_once.is_set()
    await listeners[0].close(
        linger_seconds=0.0 if at_once else LINGER_SECONDS,
        grace_seconds=0.5 if at_once else GRACE_SECONDS,
    )
    await listeners[1].close(linger_seconds=0.0, grace_seconds=0.5)
    admission.stop()
    health.stop()


def _ending(quiet_seconds: float) -> str:
    until = (
        f"serving on until no request has come for {quiet_seconds:g} s"
        if quiet_seconds
        else "finishing requests"
    )
    return f"ending: not ready any more, {until}"


async def _drain(listener: Listener, quiet_seconds: float, stop: StopSignals) -> None:
    """Wait until no request has come for *quiet_seconds*, MOST_DRAIN_SECONDS are over, or a second signal comes."""
    begun = time.monotonic()
    while not stop.at_once.is_set():
        now = time.monotonic()
        quiet_at = max(begun, listener.requested_at) + quiet_seconds
        if now >= min(quiet_at, begun + MOST_DRAIN_SECONDS):
            return
        await asyncio.sleep(0.05)
