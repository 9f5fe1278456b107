"""Count what the webhook does, in a registry of its own; no pod, job or namespace names as labels."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics

from webhook import __version__

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)


class WebhookMetrics:
    """Hold the webhook's metrics; the methods are what other parts call."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each counter, which nobody asks for
        self.registry = CollectorRegistry()
        ProcessCollector(namespace="", registry=self.registry)
        self._requests = Counter(
            "fabric_injector_admission_requests",
            "Admission requests answered, by what was decided and why.",
            ("decision", "reason"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "fabric_injector_admission_duration_seconds",
            "Time from a request's head to its answer.",
            buckets=SECONDS,
            registry=self.registry,
        )
        self._in_flight = Gauge(
            "fabric_injector_admission_in_flight", "Admission requests being answered.", registry=self.registry
        )
        self._injected = Counter(
            "fabric_injector_injected", "Steps that changed a pod.", ("step",), registry=self.registry
        )
        self._dropped = Counter(
            "fabric_injector_connections_dropped",
            "Connections to the admission port that were ended without an answer.",
            ("reason",),
            registry=self.registry,
        )
        self._watch_restarts = Counter(
            "fabric_injector_watch_restarts",
            "Watches of the API server that began anew.",
            ("resource", "reason"),
            registry=self.registry,
        )
        self._profiles_reloads = Counter(
            "fabric_injector_profiles_reloads", "Reads of a changed profiles file.", ("result",), registry=self.registry
        )
        self._certificate_reloads = Counter(
            "fabric_injector_certificate_reloads",
            "Reads of changed certificate files.",
            ("result",),
            registry=self.registry,
        )
        self._not_after = Gauge(
            "fabric_injector_certificate_not_after_timestamp_seconds",
            "When the certificate ends.",
            ("kind",),
            registry=self.registry,
        )
        build = Gauge("fabric_injector_build_info", "Always 1.", ("version",), registry=self.registry)
        build.labels(__version__).set(1)
        self._request_children: dict[tuple[str, str], Counter] = {}
        self._step_children: dict[str, Counter] = {}
        for result in ("success", "error"):
            self._profiles_reloads.labels(result)
            self._certificate_reloads.labels(result)

    def admission(self, decision: str, reason: str, seconds: float | None = None) -> None:
        """Count an answer to an admission request."""
        child = self._request_children.get((decision, reason))
        if child is None:
            child = self._request_children[decision, reason] = self._requests.labels(decision, reason)
        child.inc()
        if seconds is not None:
            self._seconds.observe(seconds)

    def injected(self, step: str) -> None:
        """Count a step that changed a pod."""
        child = self._step_children.get(step)
        if child is None:
            child = self._step_children[step] = self._injected.labels(step)
        child.inc()

    def connection_dropped(self, reason: str) -> None:
        """Count a connection that was ended without an answer: ``handshake`` or ``too-many``."""
        self._dropped.labels(reason).inc()

    def in_flight(self, count: Callable[[], float]) -> None:
        """Ask *count* for the requests in flight whenever the metrics are read."""
        self._in_flight.set_function(count)

    def watch_restarted(self, resource: str, reason: str) -> None:
        """Count a watch that began anew: ``("namespaces", "expired")``."""
        self._watch_restarts.labels(resource, reason).inc()

    def profiles_reloaded(self, result: str) -> None:
        """Count a read of a changed profiles file: ``success`` or ``error``."""
        self._profiles_reloads.labels(result).inc()

    def certificate_reloaded(self, result: str) -> None:
        """Count a read of changed certificate files: ``success`` or ``error``."""
        self._certificate_reloads.labels(result).inc()

    def certificate_ends(self, not_after: datetime) -> None:
        """Tell when the serving certificate ends."""
        self._not_after.labels("serving").set(not_after.timestamp())
