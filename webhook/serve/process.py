"""Run the listeners of admission and metrics on one event loop, and at SIGTERM end them so that no request fails."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import socket
import threading
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
from webhook.serve.admission import Admission, AdmissionRecorder
from webhook.serve.dry_runs import DryRuns
from webhook.serve.metrics import WebhookMetrics

CONNECTIONS = 450
"""Two thirds of them may come from one address: as many as an API server may have under way."""
YOUNG_OBJECTS = 20_000
"""How many new objects make the collector look for cycles: a review makes a thousand, which live for a millisecond."""
METRICS_CONNECTIONS = 100
TRIM_SECONDS = 1.0
"""How often memory is given back: it takes about a millisecond."""
MOST_DRAIN_SECONDS = 25.0
"""How long to serve on after SIGTERM at the most: Kubernetes kills after 30 s."""
LINGER_SECONDS = 1.0
GRACE_SECONDS = 3.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Service:
    """Hold what a process serves.

    *admit*, *admit_cached*: as in ``Admission``. *quiet_seconds*: after SIGTERM the process ends once no admission
    request has come for so long; a Service sends new connections for a while. *client_names*: a client's certificate must carry one of
    them; empty: any verified certificate will do, if one is demanded at all. *announcement*: more fields for the log line that says
    where it serves.
    """

    admit: Callable[[bytes, float], Answer]
    admit_cached: Callable[[bytes], Answer]
    dry_runs: DryRuns
    readiness: Readiness
    certificate: ServingCertificate
    metrics: WebhookMetrics
    client_names: frozenset[str] = frozenset()
    quiet_seconds: float = 0.0
    announcement: dict[str, str] = field(default_factory=dict)


def serve(service: Service, admission: socket.socket, metrics: socket.socket) -> None:
    """Serve on these bound sockets until SIGTERM or SIGINT."""
    threading.Thread(target=_give_memory_back, name="memory", daemon=True).start()
    gc.collect()
    gc.freeze()  # what is loaded now stays: no collection needs to look through it
    gc.set_threshold(YOUNG_OBJECTS)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(service, admission, metrics))


def _give_memory_back() -> None:
    """Have glibc give back what connections took, as it does not by itself. Source: man 3 malloc_trim."""
    library = ctypes.CDLL(None)
    while hasattr(library, "malloc_trim"):
        time.sleep(TRIM_SECONDS)
        library.malloc_trim(0)


async def _serve(service: Service, admission: socket.socket, metrics: socket.socket) -> None:
    recorder = AdmissionRecorder(service.metrics)
    reviews = Admission(
        service.admit, service.admit_cached, recorder, refuse=service.readiness.refusal
    )
    health = Health(service.readiness.checks, lambda: service.metrics.registry)
    listener = Listener(
        admission,
        reviews,
        connections=CONNECTIONS,
        context=lambda: service.certificate.context,
        names=service.client_names,
        on_dropped=service.metrics.dropped.add,
    )
    service.metrics.in_flight.ask(lambda: listener.in_flight)
    open_to_probes = Listener(metrics, health, connections=METRICS_CONNECTIONS)
    stop = StopSignals()
    await listener.start()
    await open_to_probes.start()
    service.dry_runs.start()
    urls = {
        "admission": listener.url,
        "dryRun": service.dry_runs.url,
        "metrics": open_to_probes.url,
    }
    log_fields(log, logging.INFO, "serving", urls | service.announcement)
    await stop.asked.wait()
    service.readiness.draining = listener.closing = True
    log.info("ending: not ready any more, serving on for %g quiet seconds", service.quiet_seconds)
    await _drain(listener, service.quiet_seconds, stop)
    linger, grace = (0.0, 0.5) if stop.at_once.is_set() else (LINGER_SECONDS, GRACE_SECONDS)
    await listener.close(linger_seconds=linger, grace_seconds=grace)
    await open_to_probes.close(linger_seconds=0.0, grace_seconds=0.5)
    reviews.stop()
    health.stop()


async def _drain(listener: Listener, quiet_seconds: float, stop: StopSignals) -> None:
    """Wait until no request has come for *quiet_seconds*, MOST_DRAIN_SECONDS are over, or a second signal comes."""
    begun = time.monotonic()
    while not stop.at_once.is_set():
        now = time.monotonic()
        quiet_at = max(begun, listener.requested_at) + quiet_seconds
        if now >= min(quiet_at, begun + MOST_DRAIN_SECONDS):
            return
        await asyncio.sleep(0.05)
