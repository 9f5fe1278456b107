"""Give the pod the annotations of its profile."""

from collections.abc import Iterable
from typing import Final

from webhook.core import podspec
from webhook.core.draft import Draft
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Reason
from webhook.core.plan import Plan

STEP: Final = Row("pod-annotations")


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Add what the pod does not carry; its own values win."""
    wanted = plan.profile.annotations
    if not wanted:
        return [STEP.not_asked(f"profile {plan.profile.name} gives no annotations")]
    there = podspec.annotations(draft.pod)
    missing = {key: value for key, value in wanted.items() if key not in there}
    same = [key for key in wanted if key in there and there[key] == wanted[key]]
    own = [key for key in wanted if key in there and there[key] != wanted[key]]
    found = []
    if missing:
        draft.set_keys(("metadata", "annotations"), missing)
        found.append(STEP.added(f"metadata.annotations gets {', '.join(missing)}"))
    if same:
        found.append(STEP.already_there(f"metadata.annotations has {', '.join(same)} already"))
    if own:
        message = f"metadata.annotations has a value of the pod's own for {', '.join(own)}"
        found.append(STEP.kept(Reason.USER_VALUE, message))
    return found
