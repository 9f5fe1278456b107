"""Count what the webhook does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from webhook.http.metrics import Histogram, Metrics, family

if TYPE_CHECKING:
    from prometheus_client import Metric

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)


class Admissions:
    """Count admissions, all that there is of one in one call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, ...], int] = {}
        self._injected: dict[tuple[str, ...], int] = {}
        self._unchanged: dict[tuple[str, ...], int] = {}
        self._duration = Histogram(
            "fabric_injector_admission_duration_seconds",
            "Time from a request's head to its answer.",
            SECONDS,
        )

    def count(
        self,
        decision: str,
        reason: str,
        seconds: float | None,
        injected: Iterable[str],
        unchanged: str = "",
    ) -> None:
        """Count one, which any thread may. *unchanged*: why no pod is changed all the same, ``observe`` or ``dry-run``."""
        with self._lock:
            key = decision, reason
            self._requests[key] = self._requests.get(key, 0) + 1
            for step in injected:
                if unchanged:
                    self._unchanged[step, unchanged] = self._unchanged.get((step, unchanged), 0) + 1
                else:
                    self._injected[step,] = self._injected.get((step,), 0) + 1
        if seconds is not None:
            self._duration.observe(seconds)

    def collect(self) -> Iterator[Metric]:
        """Yield what was counted, as prometheus_client's own metrics would be shown."""
        with self._lock:
            requests, injected, unchanged = (
                dict(self._requests),
                dict(self._injected),
                dict(self._unchanged),
            )
        yield family(
            "counter",
            "fabric_injector_admission_requests",
            "Admission requests answered, by what was decided and why.",
            ("decision", "reason"),
            requests.items(),
        )
        yield from self._duration.collect()
        yield family(
            "counter",
            "fabric_injector_injected",
            "Steps that changed a pod.",
            ("step",),
            injected.items(),
        )
        yield family(
            "counter",
            "fabric_injector_would_inject",
            "Steps that would have changed a pod, by what kept them from it.",
            ("step", "cause"),
            unchanged.items(),
        )


class WebhookMetrics(Metrics):
    """Hold the webhook's metrics; the methods are what other parts call."""

    def __init__(self) -> None:
        super().__init__("When the certificate ends.")
        self._admissions = self.register(Admissions())
        self._in_flight = self.gauge(
            "fabric_injector_admission_in_flight", "Admission requests being answered."
        )
        self._dropped = self.counter(
            "fabric_injector_connections_dropped",
            "Connections to the admission port that were ended without an answer.",
            "reason",
        )
        self._profiles_reloads = self.counter(
            "fabric_injector_profiles_reloads",
            "Reads of changed profiles, of a file or of objects.",
            "result",
        )
        self._faulty = self.gauge(
            "fabric_injector_faulty",
            "FabricProfiles, or files, whose content is not in force as it stands now.",
            "source",
        )
        self._certificate_reloads = self.counter(
            "fabric_injector_certificate_reloads", "Reads of changed certificate files.", "result"
        )
        for result in ("success", "error"):
            self._profiles_reloads.add(result, number=0)
            self._certificate_reloads.add(result, number=0)

    def admission(
        self,
        decision: str,
        reason: str,
        seconds: float | None = None,
        injected: Iterable[str] = (),
        unchanged: str = "",
    ) -> None:
        """Count an answer to an admission request, and the steps that changed its pod, or would have but for *unchanged*."""
        self._admissions.count(decision, reason, seconds, injected, unchanged)

    def connection_dropped(self, reason: str) -> None:
        """Count a connection that was ended without an answer: ``handshake`` or ``too-many``."""
        self._dropped.add(reason)

    def in_flight(self, count: Callable[[], float]) -> None:
        """Export the requests in flight; *count* is called at each scrape."""
        self._in_flight.ask(count)

    def profiles_reloaded(self, result: str) -> None:
        """Count a read of changed profiles: ``success`` or ``error``."""
        self._profiles_reloads.add(result)

    def faulty(self, source: str, count: Callable[[], float]) -> None:
        """Export how much of *source*, ``profiles`` or ``configuration``, is not in force; *count* is called at each scrape."""
        self._faulty.ask(count, source)

    def certificate_reloaded(self, result: str) -> None:
        """Count a read of changed certificate files: ``success`` or ``error``."""
        self._certificate_reloads.add(result)
