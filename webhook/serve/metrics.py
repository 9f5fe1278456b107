"""Count what the webhook does."""

from collections.abc import Iterable

from webhook.http.metrics import Metrics

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)


class WebhookMetrics(Metrics):
    """Hold the webhook's metrics.

    Attributes:
        dropped: Connections that were ended without an answer: ``handshake`` or ``too-many``.
        faulty: How much of ``profiles``, ``configuration`` or ``certificate`` is not in force.
    """

    def __init__(self) -> None:
        super().__init__()
        self._requests = self.counter(
            "admission_requests",
            "Admission requests answered, by what was decided and why.",
            "decision",
            "reason",
        )
        self._duration = self.histogram(
            "admission_duration_seconds", "Time from a request's head to its answer.", SECONDS
        )
        self._injected = self.counter("injected", "Steps that changed a pod.", "step")
        self._would_inject = self.counter(
            "would_inject",
            "Steps that would have changed a pod, by what kept them from it.",
            "step",
            "cause",
        )
        self.dropped = self.counter(
            "connections_dropped",
            "Connections to the admission port ended without an answer.",
            "reason",
        )
        self.faulty = self.gauge(
            "faulty",
            "FabricProfiles, or files, whose content is not in force as it stands now.",
            "source",
        )

    def count(
        self,
        decision: str,
        reason: str,
        seconds: float | None,
        steps: Iterable[str] = (),
        unchanged: str = "",
    ) -> None:
        """Count an admission whose *steps* change the pod, if *unchanged* does not say why not."""
        self._requests.add(decision, reason)
        if seconds is not None:
            self._duration.observe(seconds)
        for step in steps:
            if unchanged:
                self._would_inject.add(step, unchanged)
            else:
                self._injected.add(step)
