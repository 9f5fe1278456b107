"""Keep the pod to nodes that have its networks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from webhook.core.draft import Draft
from webhook.core.errors import Denied
from webhook.core.model import Decision, Outcome, Reason
from webhook.core.plan import Plan

STEP: Final = "node-selector"


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Merge the node selectors of the profile and of each attached network into the pod's.

    Raises Denied where one key gets two values, naming both and where each comes from.
    """
    wanted: dict[str, tuple[str, str]] = {}
    if plan.profile.node_selector:
        _collect(wanted, plan.profile.node_selector.items(), f"profile {plan.profile.name}", plan)
    for attachment in plan.attachments:
        if attachment.network.node_selector:
            _collect(
                wanted, attachment.network.node_selector.items(), f"network {attachment.key}", plan
            )
    if not wanted:
        return [
            Decision(
                STEP,
                Outcome.SKIPPED,
                Reason.NOT_ASKED,
                "neither the profile nor a network selects nodes",
            )
        ]
    there = draft.get("spec", "nodeSelector") or {}
    missing = []
    for key, (value, source) in wanted.items():
        if key not in there:
            missing.append(key)
        elif there[key] != value:
            raise _conflict(plan, key, (value, source), (there[key], "the pod's spec.nodeSelector"))
    if not missing:
        message = f"spec.nodeSelector has {_listed(wanted, wanted)} already"
        return [Decision(STEP, Outcome.KEPT, Reason.ALREADY_THERE, message)]
    for key in missing:
        draft.set_key(("spec", "nodeSelector"), key, wanted[key][0])
    return [
        Decision(
            STEP,
            Outcome.INJECTED,
            Reason.ADDED,
            f"spec.nodeSelector gets {_listed(wanted, missing)}",
        )
    ]


def _collect(
    wanted: dict[str, tuple[str, str]], pairs: Iterable[tuple[str, str]], source: str, plan: Plan
) -> None:
    for key, value in pairs:
        known = wanted.setdefault(key, (value, source))
        if known[0] != value:
            raise _conflict(plan, key, known, (value, source))


def _conflict(plan: Plan, key: str, one: tuple[str, str], other: tuple[str, str]) -> Denied:
    return Denied(
        STEP,
        Reason.NODE_SELECTOR_CONFLICT,
        f"pod {plan.pod_name}: spec.nodeSelector[{key}] must be {one[0]!r} for {one[1]}, but is {other[0][:64]!r} in {other[1]}; "
        "no node can be both: change one of them",
    )


def _listed(wanted: dict[str, tuple[str, str]], keys: Iterable[str]) -> str:
    return ", ".join(f"{key}={wanted[key][0]} ({wanted[key][1]})" for key in keys)
