"""Count what the controller does."""

from __future__ import annotations

from collections.abc import Callable

from webhook.control.publisher import Result
from webhook.http.metrics import Metrics

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class ControllerMetrics(Metrics):
    """Hold the controller's metrics; the methods are what other parts call."""

    def __init__(self) -> None:
        super().__init__("When the certificate ends, as this replica last saw it while it led.")
        self._published = self.counter(
            "fabric_injector_addresses_published",
            "Writes of addresses onto pods, by what became of them.",
            "result",
        )
        self._delay = self.histogram(
            "fabric_injector_address_publish_delay_seconds",
            "Time from the moment at which an address could be published to the end of the write.",
            SECONDS,
        )
        self._waiting = self.gauge(
            "fabric_injector_pods_waiting", "Live pods that still wait for an address."
        )
        self._oldest = self.gauge(
            "fabric_injector_oldest_wait_seconds", "Age of the oldest pod that still waits."
        )
        self._excessive = self.gauge(
            "fabric_injector_pods_excessive",
            "Live pods that are not written to: more than 1,000 annotations, labels, finalizers or owners.",
        )
        self._passed_over = self.gauge(
            "fabric_injector_namespaces_passed_over",
            "Namespaces without the profile's label in which pods carry the job label: nothing is done there.",
        )
        self._leader = self.gauge(
            "fabric_injector_leader", "1 on the replica that holds the Lease, else 0."
        )
        self._certificate_writes = self.counter(
            "fabric_injector_certificate_writes",
            "Writes of the certificates' Secret and of the webhook configurations' caBundle.",
            "object",
            "result",
        )
        for result in Result:
            self._published.add(result, number=0)

    def published(self, result: Result, seconds: float) -> None:
        """Count a write."""
        self._published.add(result)
        if result is Result.PUBLISHED:
            self._delay.observe(seconds)

    def leads(self, leads: Callable[[], bool]) -> None:
        """Export whether this replica leads; *leads* is called at each scrape."""
        self._leader.ask(leads)

    def waiting(self, count: Callable[[], float], oldest_seconds: Callable[[], float]) -> None:
        """Export how many pods wait, and the oldest one's age; both functions are called at each scrape."""
        self._waiting.ask(count)
        self._oldest.ask(oldest_seconds)

    def left_alone(self, excessive: Callable[[], float], namespaces: Callable[[], float]) -> None:
        """Export how many pods are not written to, and in how many namespaces none is; both functions are called at each scrape."""
        self._excessive.ask(excessive)
        self._passed_over.ask(namespaces)

    def certificate_written(self, what: str, result: str) -> None:
        """Count a write of ``secret`` or ``configuration``: ``success``, ``conflict`` or ``error``."""
        self._certificate_writes.add(what, result)
