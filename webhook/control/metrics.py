"""Count what the controller does."""

from webhook.control.publisher import Result
from webhook.http.metrics import Metrics

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class ControllerMetrics(Metrics):
    """Hold the controller's metrics.

    Attributes:
        waiting, oldest: Pods that wait for an address, and the age of the oldest in seconds.
        leader: 1 on the replica that leads.
    """

    def __init__(self) -> None:
        super().__init__()
        self._published = self.counter(
            "addresses_published",
            "Writes of addresses onto pods, by what became of them.",
            "result",
        )
        self._delay = self.histogram(
            "address_publish_delay_seconds",
            "Time from when an address could be published to the end of the write.",
            SECONDS,
        )
        self.waiting = self.gauge("pods_waiting", "Live pods that still wait for an address.")
        self.oldest = self.gauge("oldest_wait_seconds", "Age of the oldest pod that still waits.")
        self.leader = self.gauge("leader", "1 on the replica that holds the Lease, 0 on others.")
        for result in Result:
            self._published.add(result, number=0)

    def published(self, result: Result, seconds: float) -> None:
        """Count a write."""
        self._published.add(result)
        if result is Result.PUBLISHED:
            self._delay.observe(seconds)
