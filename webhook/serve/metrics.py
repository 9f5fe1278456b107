"""Count what the webhook does."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from webhook.http.metrics import Metrics

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)


class Admissions(Collector):
    """Count admissions in plain numbers: prometheus_client's own take ten times as long."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, str], int] = {}
        self._injected: dict[str, int] = {}
        self._unchanged: dict[tuple[str, str], int] = {}
        self._slower = [0] * (len(SECONDS) + 1)  # how many took as long as each bound, and no less than the one before
        self._seconds = 0.0

    def count(
        self, decision: str, reason: str, seconds: float | None, injected: Iterable[str], unchanged: str = ""
    ) -> None:
        """Count one, which any thread may. *unchanged*: why no pod is changed all the same, ``observe`` or ``dry-run``."""
        with self._lock:
            key = decision, reason
            self._requests[key] = self._requests.get(key, 0) + 1
            if unchanged:
                for step in injected:
                    self._unchanged[step, unchanged] = self._unchanged.get((step, unchanged), 0) + 1
            else:
                for step in injected:
                    self._injected[step] = self._injected.get(step, 0) + 1
            if seconds is not None:
                self._slower[bisect_left(SECONDS, seconds)] += 1
                self._seconds += seconds

    def collect(self) -> Iterator[Metric]:
        """Yield what was counted, as prometheus_client's own metrics would be shown."""
        with self._lock:
            requests, injected, unchanged, slower, total = (
                dict(self._requests),
                dict(self._injected),
                dict(self._unchanged),
                [*self._slower],
                self._seconds,
            )
        yield _counter(
            "fabric_injector_admission_requests",
            "Admission requests answered, by what was decided and why.",
            ("decision", "reason"),
            requests.items(),
        )
        buckets = zip((*map(floatToGoString, SECONDS), "+Inf"), accumulate(slower), strict=True)
        duration = HistogramMetricFamily(
            "fabric_injector_admission_duration_seconds",
            "Time from a request's head to its answer.",
            buckets=[(bound, float(number)) for bound, number in buckets],
            sum_value=total,
        )
        yield duration
        steps = (((step,), number) for step, number in injected.items())
        yield _counter("fabric_injector_injected", "Steps that changed a pod.", ("step",), steps)
        yield _counter(
            "fabric_injector_would_inject",
            "Steps that would have changed a pod, by what kept them from it.",
            ("step", "cause"),
            unchanged.items(),
        )


def _counter(name: str, text: str, labels: Sequence[str], counted: Iterable[tuple[tuple[str, ...], int]]) -> Metric:
    family = CounterMetricFamily(name, text, labels=labels)
    for values, number in counted:
        family.add_metric(values, float(number))
    return family


class WebhookMetrics(Metrics):
    """Hold the webhook's metrics; the methods are what other parts call."""

    def __init__(self) -> None:
        super().__init__("When the certificate ends.")
        self._admissions = Admissions()
        self.registry.register(self._admissions)
        self._in_flight = self.gauge("fabric_injector_admission_in_flight", "Admission requests being answered.")
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
        for result in ("success", "error"):
            self._profiles_reloads.labels(result)
            self._certificate_reloads.labels(result)

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

    def validation(self, entry: str, decision: str, seconds: float | None = None) -> None:
        """Count an answer about a namespace or a profile; *entry* is empty where the request was not read."""
        self._validations.labels(entry, decision).inc()
        if seconds is not None:
            self._validation_seconds.observe(seconds)

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
