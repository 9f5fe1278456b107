"""Count what the controller does; no pod, job or namespace names as labels."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics

from webhook import __version__
from webhook.control.publisher import Result

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class ControllerMetrics:
    """Hold the controller's metrics; the methods are what other parts call."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each counter, which nobody asks for
        self.registry = CollectorRegistry()
        ProcessCollector(namespace="", registry=self.registry)
        self._published = Counter(
            "fabric_injector_addresses_published",
            "Writes of addresses onto pods, by what became of them.",
            ("result",),
            registry=self.registry,
        )
        self._delay = Histogram(
            "fabric_injector_address_publish_delay_seconds",
            "Time from the moment at which an address could be published to the end of the write.",
            buckets=SECONDS,
            registry=self.registry,
        )
        self._watch_restarts = Counter(
            "fabric_injector_watch_restarts",
            "Watches of the API server that began anew.",
            ("resource", "reason"),
            registry=self.registry,
        )
        self._waiting = Gauge(
            "fabric_injector_pods_waiting", "Live pods that still wait for an address.", registry=self.registry
        )
        self._oldest = Gauge(
            "fabric_injector_oldest_wait_seconds", "Age of the oldest pod that still waits.", registry=self.registry
        )
        self._leader = Gauge(
            "fabric_injector_leader", "1 on the replica that holds the Lease, else 0.", registry=self.registry
        )
        self._not_after = Gauge(
            "fabric_injector_certificate_not_after_timestamp_seconds",
            "When the certificate ends, as this replica last saw it while it led.",
            ("kind",),
            registry=self.registry,
        )
        self._certificate_writes = Counter(
            "fabric_injector_certificate_writes",
            "Writes of the certificates' Secret and of the webhook configuration's caBundle.",
            ("object", "result"),
            registry=self.registry,
        )
        build = Gauge("fabric_injector_build_info", "Always 1.", ("version",), registry=self.registry)
        build.labels(__version__).set(1)
        for result in Result:
            self._published.labels(result)

    def published(self, result: Result, seconds: float) -> None:
        """Count a write."""
        self._published.labels(result).inc()
        if result is Result.PUBLISHED:
            self._delay.observe(seconds)

    def watch_restarted(self, resource: str, reason: str) -> None:
        """Count a watch that began anew: ``("pods", "expired")``."""
        self._watch_restarts.labels(resource, reason).inc()

    def leads(self, leads: Callable[[], bool]) -> None:
        """Ask *leads* whenever the metrics are read."""
        self._leader.set_function(leads)

    def waiting(self, count: Callable[[], float], oldest_seconds: Callable[[], float]) -> None:
        """Ask for waiting pods whenever the metrics are read."""
        self._waiting.set_function(count)
        self._oldest.set_function(oldest_seconds)

    def certificate_ends(self, kind: str, not_after: datetime) -> None:
        """Tell when a certificate ends: ``authority`` or ``serving``."""
        self._not_after.labels(kind).set(not_after.timestamp())

    def certificate_written(self, what: str, result: str) -> None:
        """Count a write of ``secret`` or ``configuration``: ``success``, ``conflict`` or ``error``."""
        self._certificate_writes.labels(what, result).inc()
