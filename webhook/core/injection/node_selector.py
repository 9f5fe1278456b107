"""Keep the pod to nodes that have its networks."""

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from webhook.core.draft import Draft
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Reason
from webhook.core.plan import Plan

STEP: Final = Row("node-selector")
_Value: TypeAlias = tuple[str, str]
"""A value of a node selector, and where it comes from."""


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Merge the node selectors of the profile and of each attached network into the pod's.

    Raises Denied where one key gets two values, naming both and where each comes from.
    """
    wanted: dict[str, _Value] = {}
    for source, selector in (
        (f"profile {plan.profile.name}", plan.profile.node_selector),
        *((f"network {each.key}", each.network.node_selector) for each in plan.attachments),
    ):
        for key, text in selector.items():
            _agree(plan, key, wanted.setdefault(key, (text, source)), (text, source))
    if not wanted:
        return []
    path = ("spec", "nodeSelector")
    there = draft.get(*path) or {}
    for key in [key for key in wanted if key in there]:
        _agree(plan, key, wanted[key], (there[key], "the pod's spec.nodeSelector"))
    missing = {key: value for key, value in wanted.items() if key not in there}
    if not missing:
        return [STEP.already_there(f"spec.nodeSelector has {_listed(wanted)} already")]
    draft.set_keys(path, {key: text for key, (text, _) in missing.items()})
    return [STEP.added(f"spec.nodeSelector gets {_listed(missing)}")]


def _agree(plan: Plan, key: str, one: _Value, other: _Value) -> None:
    if one[0] != other[0]:
        message = (
            f"spec.nodeSelector[{key}] must be {one[0]!r} for {one[1]}, but is {other[0][:64]!r} "
            f"in {other[1]}; no node can be both: change one of them"
        )
        raise STEP.denied(plan, Reason.NODE_SELECTOR_CONFLICT, message)


def _listed(values: Mapping[str, _Value]) -> str:
    return ", ".join(f"{key}={text} ({source})" for key, (text, source) in values.items())
