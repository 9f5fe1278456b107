"""Write what all rows of the injection table write: what became of them, and objects for a pod."""

from typing import Any, NamedTuple

from webhook.core.errors import Denied
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan


class Row(NamedTuple):
    """Make the decisions of a row, which has none where nobody asks for it.

    *name*: that of its file.
    """

    name: str

    def added(self, message: str) -> Decision:
        """Say that the pod gets something."""
        return Decision(self.name, Outcome.INJECTED, Reason.ADDED, message)

    def already_there(self, message: str) -> Decision:
        """Say that the pod has it all."""
        return Decision(self.name, Outcome.KEPT, Reason.ALREADY_THERE, message)

    def kept(self, reason: Reason, message: str) -> Decision:
        """Say that something of the pod stays as it is."""
        return Decision(self.name, Outcome.KEPT, reason, message)

    def skipped(self, reason: Reason, message: str) -> Decision:
        """Say that something is left out."""
        return Decision(self.name, Outcome.SKIPPED, reason, message)

    def warned(self, plan: Plan, reason: Reason, message: str) -> Decision:
        """Warn of the pod, which the message need not name."""
        return Decision(self.name, Outcome.WARNED, reason, f"pod {plan.pod_name}: {message}")

    def denied(self, plan: Plan, reason: Reason, message: str) -> Denied:
        """Refuse the pod, which the message need not name."""
        return Denied(self.name, reason, f"pod {plan.pod_name}: {message}")


def stated(**fields: Any) -> Object:
    """Write an object, without the fields that are empty or false."""
    return {name: value for name, value in fields.items() if value}
