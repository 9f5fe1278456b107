"""Let the pod run on nodes that taints keep for others, as the profile says."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.core.draft import Draft
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.profiles import ProfileToleration

STEP = "tolerations"
_TOLERATIONS = ("spec", "tolerations")


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Append the tolerations that the pod lacks; one of the same taint stays as it is, however long it tolerates that."""
    profile = plan.profile
    if not profile.tolerations:
        return [
            Decision(
                STEP,
                Outcome.SKIPPED,
                Reason.NOT_ASKED,
                f"profile {profile.name} gives no tolerations",
            )
        ]
    there = {_identity(each) for each in draft.get(*_TOLERATIONS) or ()}
    missing = [
        made for each in profile.tolerations if _identity(made := _toleration(each)) not in there
    ]
    if not missing:
        return [
            Decision(
                STEP,
                Outcome.KEPT,
                Reason.ALREADY_THERE,
                "the pod has the profile's tolerations already",
            )
        ]
    draft.extend(_TOLERATIONS, missing)
    message = f"the pod tolerates {', '.join(map(_shown, missing))}"
    return [Decision(STEP, Outcome.INJECTED, Reason.ADDED, message)]


def _identity(toleration: Object) -> tuple[str, ...]:
    """Return what makes two tolerations one. Source: k8s.io/api core/v1 toleration.go, MatchToleration."""
    return (
        toleration.get("key") or "",
        toleration.get("operator") or "Equal",
        toleration.get("value") or "",
        toleration.get("effect") or "",
    )


def _toleration(wanted: ProfileToleration) -> Object:
    made: Object = {"key": wanted.key} if wanted.key else {}
    made["operator"] = wanted.operator
    if wanted.value:
        made["value"] = wanted.value
    if wanted.effect:
        made["effect"] = wanted.effect
    if wanted.toleration_seconds is not None:
        made["tolerationSeconds"] = wanted.toleration_seconds
    return made


def _shown(toleration: Object) -> str:
    key, _, value, effect = _identity(toleration)
    named = f"{key}={value}" if value else key or "every taint"
    return f"{named}:{effect}" if effect else named
