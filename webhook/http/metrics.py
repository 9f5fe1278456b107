"""Hold what both processes' metrics have in common; no pod, job or namespace names as labels.

What is counted is plain numbers. prometheus_client is loaded by the first scrape, which shows them: its import takes a tenth of the
start.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol, TypeVar

from webhook import __version__

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Metric


class Collector(Protocol):
    """Show what was counted, as prometheus_client's own collectors do."""

    def collect(self) -> Iterable[Metric]:
        """Return it as it stands now."""


_C = TypeVar("_C", bound=Collector)


class Numbers:
    """Hold a counter or a gauge: a number for each combination of *labels*; any thread may change it."""

    def __init__(self, kind: str, name: str, text: str, labels: Sequence[str]) -> None:
        self._kind, self._name, self._text, self._labels = kind, name, text, tuple(labels)
        self._lock = threading.Lock()
        self._numbers: dict[tuple[str, ...], float] = {} if labels else {(): 0.0}
        self._functions: dict[tuple[str, ...], Callable[[], float]] = {}

    def add(self, *labels: str, number: float = 1.0) -> None:
        """Count *number* more; 0 shows what was never counted."""
        with self._lock:
            self._numbers[labels] = self._numbers.get(labels, 0.0) + number

    def set(self, number: float, *labels: str) -> None:
        """Show *number* from now on."""
        with self._lock:
            self._numbers[labels] = number

    def ask(self, function: Callable[[], float], *labels: str) -> None:
        """Call *function* at each scrape."""
        with self._lock:
            self._functions[labels] = function

    def collect(self) -> Iterator[Metric]:
        """Yield the numbers as they are now."""
        with self._lock:
            numbers, functions = dict(self._numbers), dict(self._functions)
        asked = {labels: float(function()) for labels, function in functions.items()}
        yield family(self._kind, self._name, self._text, self._labels, {**numbers, **asked}.items())


class Histogram:
    """Count seconds by how long they are; *bounds* are upper ones. Any thread may count."""

    def __init__(self, name: str, text: str, bounds: Sequence[float]) -> None:
        self._name, self._text, self._bounds = name, text, bounds
        self._lock = threading.Lock()
        self._slower = [0] * (
            len(bounds) + 1
        )  # how many took as long as each bound, and no less than the one before
        self._seconds = 0.0

    def observe(self, seconds: float) -> None:
        """Count one."""
        with self._lock:
            self._slower[bisect_left(self._bounds, seconds)] += 1
            self._seconds += seconds

    def collect(self) -> Iterator[Metric]:
        """Yield the buckets as they are now."""
        from prometheus_client.core import HistogramMetricFamily
        from prometheus_client.utils import floatToGoString

        with self._lock:
            slower, total = [*self._slower], self._seconds
        buckets = zip(
            (*map(floatToGoString, self._bounds), "+Inf"), accumulate(slower), strict=True
        )
        yield HistogramMetricFamily(
            self._name,
            self._text,
            buckets=[(bound, float(number)) for bound, number in buckets],
            sum_value=total,
        )


def family(
    kind: str,
    name: str,
    text: str,
    labels: Sequence[str],
    numbers: Iterable[tuple[tuple[str, ...], float]],
) -> Metric:
    """Return a counter or gauge as prometheus_client's own would be shown."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    found = (CounterMetricFamily if kind == "counter" else GaugeMetricFamily)(
        name, text, labels=labels
    )
    for values, number in numbers:
        found.add_metric(values, number)
    return found


class Metrics:
    """Register metrics, among them those that both processes have; *certificate_help* explains the certificate's end.

    ``watch_restarts``: watches that began again, by resource and reason: ``("pods", "expired")``.
    """

    def __init__(self, certificate_help: str) -> None:
        self._collectors: list[Collector] = []
        self.gauge("fabric_injector_build_info", "Always 1.", "version").set(1, __version__)
        self.watch_restarts = self.counter(
            "fabric_injector_watch_restarts",
            "Watches of the API server that began anew.",
            "resource",
            "reason",
        )
        self._not_after = self.gauge(
            "fabric_injector_certificate_not_after_timestamp_seconds", certificate_help, "kind"
        )

    @cached_property
    def registry(self) -> CollectorRegistry:
        """Return all of them in a registry of prometheus_client's."""
        from prometheus_client import CollectorRegistry, ProcessCollector

        registry = CollectorRegistry()
        ProcessCollector(namespace="", registry=registry)
        for collector in self._collectors:
            registry.register(collector)
        return registry

    def counter(self, name: str, text: str, *labels: str) -> Numbers:
        """Register a counter; *name* is without the ``_total`` that a scrape shows."""
        return self.register(Numbers("counter", name, text, labels))

    def gauge(self, name: str, text: str, *labels: str) -> Numbers:
        """Register a gauge."""
        return self.register(Numbers("gauge", name, text, labels))

    def histogram(self, name: str, text: str, bounds: Sequence[float]) -> Histogram:
        """Register a histogram; *bounds* are upper ones, in seconds."""
        return self.register(Histogram(name, text, bounds))

    def certificate_ends(self, kind: str, not_after: datetime) -> None:
        """Record when a certificate ends: ``authority`` or ``serving``."""
        self._not_after.set(not_after.timestamp(), kind)

    def register(self, collector: _C) -> _C:
        """Have a scrape show what *collector* counts."""
        self._collectors.append(collector)
        return collector
