"""Run the listeners of admission and metrics on one event loop, and at SIGTERM end them so that no request fails."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import uvloop

from certs.serving import ServingCertificate
from webhook.core import names
from webhook.core.review import Answer, ValidationAnswer
from webhook.http.client_names import NamedConnection
from webhook.http.connection import HttpConnection
from webhook.http.endpoint import Endpoint, Limits
from webhook.http.health import Health, Readiness
from webhook.http.listener import Listener
from webhook.http.logs import log_fields
from webhook.http.signals import StopSignals
from webhook.serve import allocator
from webhook.serve.admission import Admission, AdmissionRecorder, AdmitInTime
from webhook.serve.dry_runs import DryRuns
from webhook.serve.metrics import WebhookMetrics
from webhook.serve.validation import Validation, ValidationRecorder

VALIDATING_LIMITS = Limits(body_bytes=4 << 20, body_seconds=1.0, small_bytes=1 << 20, large_bytes=4 << 20)
"""Namespaces and profiles come rarely, and take none of what is kept for pods. The API takes none that is larger than 1.5 MB; one that
is changed comes twice."""
CONNECTIONS = 300
YOUNG_OBJECTS = 20_000
"""How many new objects make the collector look for cycles: a review makes a thousand, which live for a millisecond."""
MOST_DRAIN_SECONDS = 25.0
"""How long to serve on after SIGTERM at the most: Kubernetes kills after 30 s."""
LINGER_SECONDS = 1.0
GRACE_SECONDS = 3.0
_VALIDATION_PATH = names.VALIDATE_PATH.encode()

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
    validate: Callable[[bytes], ValidationAnswer]
    dry_runs: DryRuns
    readiness: Readiness
    certificate: ServingCertificate
    metrics: WebhookMetrics
    client_names: frozenset[str] = frozenset()
    quiet_seconds: float = 0.0
    announcement: dict[str, str] = field(default_factory=dict)


def serve(service: Service, sockets: Sockets) -> None:
    """Serve until SIGTERM or SIGINT."""
    allocator.give_back()
    gc.collect()
    gc.freeze()  # what is loaded now stays: no collection needs to look through it
    gc.set_threshold(YOUNG_OBJECTS)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(service, sockets))


async def _serve(service: Service, sockets: Sockets) -> None:
    recorder = AdmissionRecorder(service.metrics)
    admission = Admission(
        service.admit,
        service.admit_at_once,
        recorder,
        refuse=service.readiness.refusal,
    )
    validation = Validation(
        service.validate,
        ValidationRecorder(service.metrics),
        VALIDATING_LIMITS,
        refuse=service.readiness.refusal,
    )
    reviews = Reviews(admission, validation)
    service.metrics.in_flight(lambda: admission.in_flight)
    health = Health(service.readiness.checks, lambda: service.metrics.registry)
    listeners = (
        Listener(
            sockets.admission,
            reviews,
            connections=CONNECTIONS,
            context=lambda: service.certificate.context,
            on_dropped=service.metrics.connection_dropped,
            make=partial(NamedConnection, names=service.client_names) if service.client_names else HttpConnection,
        ),
        Listener(sockets.metrics, health, connections=100),
    )
    stop = StopSignals()
    for listener in listeners:
        await listener.start()
    service.dry_runs.start()
    urls = {"admission": listeners[0].url, "dryRun": service.dry_runs.url, "metrics": listeners[1].url}
    log_fields(log, logging.INFO, "serving", urls | service.announcement)
    await stop.asked.wait()
    service.readiness.draining = True
    reviews.closing = True
    log.info(_ending(service.quiet_seconds))
    await _drain(reviews, service.quiet_seconds, stop)
    at_once = stop.at_once.is_set()
    await listeners[0].close(
        linger_seconds=0.0 if at_once else LINGER_SECONDS, grace_seconds=0.5 if at_once else GRACE_SECONDS
    )
    await listeners[1].close(linger_seconds=0.0, grace_seconds=0.5)
    admission.stop()
    validation.stop()
    health.stop()


class Reviews:
    """Choose by the path: namespaces and profiles go to *validation*, all others to *admission*."""

    def __init__(self, admission: Endpoint, validation: Endpoint) -> None:
        self._admission, self._validation = admission, validation

    def of(self, path: bytes) -> Endpoint:
        """Return what answers requests for *path*."""
        return self._validation if path == _VALIDATION_PATH else self._admission

    @property
    def last_request(self) -> float:
        """Return when the last request came, by ``time.monotonic()``."""
        return max(self._admission.last_request, self._validation.last_request)

    @property
    def closing(self) -> bool:
        """Return whether every answer asks its client to connect anew."""
        return self._admission.closing

    @closing.setter
    def closing(self, closing: bool) -> None:
        self._admission.closing = self._validation.closing = closing


def _ending(quiet_seconds: float) -> str:
    until = f"serving on until no request has come for {quiet_seconds:g} s" if quiet_seconds else "finishing requests"
    return f"ending: not ready any more, {until}"


async def _drain(reviews: Reviews, quiet_seconds: float, stop: StopSignals) -> None:
    """Wait until no request has come for *quiet_seconds*, MOST_DRAIN_SECONDS are over, or a second signal comes."""
    begun = time.monotonic()
    while not stop.at_once.is_set():
        now = time.monotonic()
        quiet_at = max(begun, reviews.last_request) + quiet_seconds
        if now >= min(quiet_at, begun + MOST_DRAIN_SECONDS):
            return
        await asyncio.sleep(0.05)
