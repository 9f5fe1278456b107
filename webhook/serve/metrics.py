"""Count what the webhook does."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import Counter

from webhook.http.metrics import Metrics

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)


class WebhookMetrics(Metrics):
    """Hold the webhook's metrics; the methods are what other parts call."""

    def __init__(self) -> None:
        super().__init__("When the certificate ends.")
        self._requests = self.counter(
            "fabric_injector_admission_requests",
            "Admission requests answered, by what was decided and why.",
            "decision",
            "reason",
        )
        self._seconds = self.histogram(
            "fabric_injector_admission_duration_seconds", "Time from a request's head to its answer.", SECONDS
        )
        self._in_flight = self.gauge("fabric_injector_admission_in_flight", "Admission requests being answered.")
        self._injected = self.counter("fabric_injector_injected", "Steps that changed a pod.", "step")
        self._dropped = self.counter(
            "fabric_injector_connections_dropped",
            "Connections to the admission port that were ended without an answer.",
            "reason",
        )
        self._profiles_reloads = self.counter(
            "fabric_injector_profiles_reloads", "Reads of changed profiles, of a file or of objects.", "result"
        )
        self._faulty = self.gauge(
            "fabric_injector_faulty",
            "FabricProfiles, or files, whose content is not in force as it stands now.",
            "source",
        )
        self._certificate_reloads = self.counter(
            "fabric_injector_certificate_reloads", "Reads of changed certificate files.", "result"
        )
        self._validations = self.counter(
            "fabric_injector_validation_requests",
            "Namespaces and profiles looked at, by the webhook configuration's entry and what was answered.",
            "entry",
            "decision",
        )
        self._validation_seconds = self.histogram(
            "fabric_injector_validation_duration_seconds", "Time from a request's head to its answer.", SECONDS
        )
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

    def validation(self, entry: str, decision: str, seconds: float | None = None) -> None:
        """Count an answer about a namespace or a profile; *entry* is empty where the request was not read."""
        self._validations.labels(entry, decision).inc()
        if seconds is not None:
            self._validation_seconds.observe(seconds)

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
        """Export the requests in flight; *count* is called at each scrape."""
        self._in_flight.set_function(count)

    def profiles_reloaded(self, result: str) -> None:
        """Count a read of changed profiles: ``success`` or ``error``."""
        self._profiles_reloads.labels(result).inc()

    def faulty(self, source: str, count: Callable[[], float]) -> None:
        """Export how much of *source*, ``profiles`` or ``configuration``, is not in force; *count* is called at each scrape."""
        self._faulty.labels(source).set_function(count)

    def certificate_reloaded(self, result: str) -> None:
        """Count a read of changed certificate files: ``success`` or ``error``."""
        self._certificate_reloads.labels(result).inc()
