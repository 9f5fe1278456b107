"""Let the pod run on nodes that taints keep for others, as the profile says."""

from collections.abc import Iterable
from typing import Final

from webhook.core.draft import Draft
from webhook.core.injection.row import Row, stated
from webhook.core.model import Decision, Object
from webhook.core.plan import Plan
from webhook.core.profiles import ProfileToleration

STEP: Final = Row("tolerations")
_TOLERATIONS = ("spec", "tolerations")


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Append the tolerations that the pod lacks; one of the same taint stays, however long."""
    profile = plan.profile
    if not profile.tolerations:
        return [STEP.not_asked(f"profile {profile.name} gives no tolerations")]
    there = {_identity(each) for each in draft.get(*_TOLERATIONS) or ()}
    wanted = map(_toleration, profile.tolerations)
    missing = [each for each in wanted if _identity(each) not in there]
    if not missing:
        return [STEP.already_there("the pod has the profile's tolerations already")]
    draft.extend(_TOLERATIONS, missing)
    return [STEP.added(f"the pod tolerates {', '.join(map(_shown, missing))}")]


def _identity(toleration: Object) -> tuple[str, ...]:
    """Return what makes two tolerations one.

    Source: k8s.io/api core/v1 toleration.go, MatchToleration.
    """
    operator = toleration.get("operator") or "Equal"
    return (operator, *[toleration.get(key) or "" for key in ("key", "value", "effect")])


def _toleration(wanted: ProfileToleration) -> Object:
    made = stated(
        key=wanted.key, operator=wanted.operator, value=wanted.value, effect=wanted.effect
    )
    if wanted.toleration_seconds is not None:
        made["tolerationSeconds"] = wanted.toleration_seconds
    return made


def _shown(toleration: Object) -> str:
    _, key, value, effect = _identity(toleration)
    named = f"{key}={value}" if value else key or "every taint"
    return f"{named}:{effect}" if effect else named
