"""Count, and write what was counted as Prometheus reads it; no label names a pod or a namespace."""

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import accumulate
from typing import TypeVar

from webhook import __version__

_PREFIX = "fabric_injector_"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Numbers:
    """Hold a ``counter`` or a ``gauge`` for each combination of *labels*; for any thread."""

    def __init__(self, kind: str, name: str, text: str, labels: tuple[str, ...]) -> None:
        self.kind, self.name, self.text, self.labels = kind, name, text, labels
        self._lock = threading.Lock()
        self._numbers: dict[tuple[str, ...], float] = {} if labels else {(): 0.0}
        self._functions: dict[tuple[str, ...], Callable[[], float]] = {}

    def add(self, *labels: str, number: float = 1.0) -> None:
        """Count *number* more; 0 shows what was never counted."""
        with self._lock:
            self._numbers[labels] = self._numbers.get(labels, 0.0) + number

    def ask(self, function: Callable[[], float], *labels: str) -> None:
        """Call *function* at each scrape."""
        self._functions[labels] = function

    def samples(self) -> Iterator[str]:
        """Yield the numbers as they are now."""
        asked = {labels: function() for labels, function in self._functions.copy().items()}
        for values, number in {**self._numbers.copy(), **asked}.items():
            texts = (value.translate(_ESCAPED) for value in values)
            pairs = ",".join(
                f'{name}="{text}"' for name, text in zip(self.labels, texts, strict=True)
            )
            yield f"{self.name}{f'{{{pairs}}}' if pairs else ''} {float(number)}"


class Histogram:
    """Count seconds by how long they are; *bounds* are upper ones. Any thread may count."""

    kind = "histogram"
    labels = ()

    def __init__(self, name: str, text: str, bounds: Sequence[float]) -> None:
        self.name, self.text, self._bounds = name, text, bounds
        self._lock = threading.Lock()
        self._counts = [0] * (len(bounds) + 1)  # of each bucket, without those below it
        self._seconds = 0.0

    def observe(self, seconds: float) -> None:
        """Count one."""
        with self._lock:
            self._counts[bisect_left(self._bounds, seconds)] += 1
            self._seconds += seconds

    def samples(self) -> Iterator[str]:
        """Yield the buckets as they are now."""
        with self._lock:
            counts, seconds = list(accumulate(self._counts)), self._seconds
        for bound, count in zip([*map(float, self._bounds), "+Inf"], counts, strict=True):
            yield f'{self.name}_bucket{{le="{bound}"}} {count}'
        yield f"{self.name}_count {counts[-1]}"
        yield f"{self.name}_sum {seconds}"


M = TypeVar("M", Numbers, Histogram)


class Metrics:
    """Register metrics; the name of each gets ``fabric_injector_`` in front."""

    def __init__(self) -> None:
        self.registered: list[Numbers | Histogram] = []
        self.gauge("build_info", "Always 1.", "version").add(__version__)
        ends = "certificate_not_after_timestamp_seconds"
        told = "When the certificate ends, as this replica last saw it."
        self._not_after = self.gauge(ends, told, "kind")

    def counter(self, name: str, text: str, *labels: str) -> Numbers:
        """Register a counter, whose name gets ``_total`` behind."""
        return self._register(Numbers("counter", f"{_PREFIX}{name}_total", text, labels))

    def gauge(self, name: str, text: str, *labels: str) -> Numbers:
        """Register a gauge."""
        return self._register(Numbers("gauge", f"{_PREFIX}{name}", text, labels))

    def histogram(self, name: str, text: str, bounds: Sequence[float]) -> Histogram:
        """Register a histogram; *bounds* are upper ones, in seconds."""
        return self._register(Histogram(f"{_PREFIX}{name}", text, bounds))

    def _register(self, metric: M) -> M:
        self.registered.append(metric)
        return metric

    def certificate_ends(self, kind: str, not_after: datetime) -> None:
        """Record when a certificate ends: ``authority`` or ``serving``."""
        self._not_after.ask(not_after.timestamp, kind)

    def written(self) -> bytes:
        """Return what a scrape gets."""
        lines = []
        for each in self.registered:
            lines += [f"# HELP {each.name} {each.text}", f"# TYPE {each.name} {each.kind}"]
            lines += each.samples()
        return "\n".join([*lines, ""]).encode()
