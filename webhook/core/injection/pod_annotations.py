"""Give the pod the annotations of its profile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from webhook.core import podspec
from webhook.core.draft import Draft
from webhook.core.model import Decision, Outcome, Reason
from webhook.core.plan import Plan

STEP: Final = "pod-annotations"


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Add what the pod does not carry; its own values win."""
    wanted = plan.profile.annotations
    if not wanted:
        return [
            Decision(
                STEP,
                Outcome.SKIPPED,
                Reason.NOT_ASKED,
                f"profile {plan.profile.name} gives no annotations",
            )
        ]
    there = podspec.annotations(draft.pod)
    missing = {key: value for key, value in wanted.items() if key not in there}
    decisions = []
    if missing:
        draft.set_keys(("metadata", "annotations"), missing)
        message = f"metadata.annotations gets {', '.join(missing)}"
        decisions.append(Decision(STEP, Outcome.INJECTED, Reason.ADDED, message))
    same = [key for key in wanted if key not in missing and there[key] == wanted[key]]
    if same:
        message = f"metadata.annotations has {', '.join(same)} already"
        decisions.append(Decision(STEP, Outcome.KEPT, Reason.ALREADY_THERE, message))
    own = [key for key in wanted if key not in missing and there[key] != wanted[key]]
    if own:
        message = f"metadata.annotations has a value of the pod's own for {', '.join(own)}"
        decisions.append(Decision(STEP, Outcome.KEPT, Reason.USER_VALUE, message))
    return decisions
