"""Hold what both processes' metrics have in common, in a registry of their own; no pod, job or namespace names as labels."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics

from webhook import __version__


class Metrics:
    """Register metrics, among them those that both processes have; *certificate_help* explains the certificate's end."""

    def __init__(self, certificate_help: str) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each counter, which is of no use
        self.registry = CollectorRegistry()
        ProcessCollector(namespace="", registry=self.registry)
        self.gauge("fabric_injector_build_info", "Always 1.", "version").labels(__version__).set(1)
        self._watch_restarts = self.counter(
            "fabric_injector_watch_restarts", "Watches of the API server that began anew.", "resource", "reason"
        )
        self._not_after = self.gauge(
            "fabric_injector_certificate_not_after_timestamp_seconds", certificate_help, "kind"
        )

    def counter(self, name: str, text: str, *labels: str) -> Counter:
        """Register a counter; *name* is without the ``_total`` that a scrape shows."""
        return Counter(name, text, labels, registry=self.registry)

    def gauge(self, name: str, text: str, *labels: str) -> Gauge:
        """Register a gauge."""
        return Gauge(name, text, labels, registry=self.registry)

    def histogram(self, name: str, text: str, buckets: Sequence[float]) -> Histogram:
        """Register a histogram; *buckets* are upper bounds in seconds."""
        return Histogram(name, text, buckets=buckets, registry=self.registry)

    def watch_restarted(self, resource: str, reason: str) -> None:
        """Count a watch that began anew: ``("pods", "expired")``."""
        self._watch_restarts.labels(resource, reason).inc()

    def certificate_ends(self, kind: str, not_after: datetime) -> None:
        """Record when a certificate ends: ``authority`` or ``serving``."""
        self._not_after.labels(kind).set(not_after.timestamp())
