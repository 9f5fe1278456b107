"""Count what the webhook does."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from webhook.http.metrics import Histogram, Metrics, family

if TYPE_CHECKING:
    from prometheus_client import Metric

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)


class Admissions:
    """Count admissions, all that there is of one in one call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, ...]] = Counter()
        self._injected: Counter[tuple[str, ...]] = Counter()
        self._unchanged: Counter[tuple[str, ...]] = Counter()
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
        injected: Iterable[str] = (),
        unchanged: str = "",
    ) -> None:
        """Count one, which any thread may. *unchanged*: why no pod is changed all the same, ``observe`` or ``dry-run``."""
        with self._lock:
            self._requests[decision, reason] += 1
            for step in injected:
                if unchanged:
                    self._unchanged[step, unchanged] += 1
                else:
                    self._injected[step,] += 1
        if seconds is not None:
            self._duration.observe(seconds)

    def collect(self) -> Iterator[Metric]:
        """Yield what was counted, as prometheus_client's own metrics would be shown."""
        with self._lock:
            counted = [dict(each) for each in (self._requests, self._injected, self._unchanged)]
        shown = [
            family("counter", *about, each.items())
            for about, each in zip(_COUNTERS, counted, strict=True)
        ]
        yield shown[0]
        yield from self._duration.collect()
        yield from shown[1:]


_COUNTERS = (
    (
        "fabric_injector_admission_requests",
        "Admission requests answered, by what was decided and why.",
        ("decision", "reason"),
    ),
    ("fabric_injector_injected", "Steps that changed a pod.", ("step",)),
    (
        "fabric_injector_would_inject",
        "Steps that would have changed a pod, by what kept them from it.",
        ("step", "cause"),
    ),
)


class WebhookMetrics(Metrics):
    """Hold the webhook's metrics.

    Attributes:
        admissions: What was decided.
        dropped: Connections that were ended without an answer, by why: ``handshake`` or ``too-many``.
        profiles_reloads, certificate_reloads: Reads of what has changed: ``success`` or ``error``.
        faulty: How much of ``profiles`` or ``configuration`` is not in force.
    """

    def __init__(self) -> None:
        super().__init__("When the certificate ends.")
        self.admissions = self.register(Admissions())
        self.in_flight = self.gauge(
            "fabric_injector_admission_in_flight", "Admission requests being answered."
        )
        self.dropped = self.counter(
            "fabric_injector_connections_dropped",
            "Connections to the admission port that were ended without an answer.",
            "reason",
        )
        self.profiles_reloads = self.counter(
            "fabric_injector_profiles_reloads",
            "Reads of changed profiles, of a file or of objects.",
            "result",
        )
        self.faulty = self.gauge(
            "fabric_injector_faulty",
            "FabricProfiles, or files, whose content is not in force as it stands now.",
            "source",
        )
        self.certificate_reloads = self.counter(
            "fabric_injector_certificate_reloads", "Reads of changed certificate files.", "result"
        )
        for result in ("success", "error"):
            self.profiles_reloads.add(result, number=0)
            self.certificate_reloads.add(result, number=0)
