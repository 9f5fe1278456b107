"""Count the devices whose number depends on the node's type, or on the training container's accelerators; devices.py asks for them.

The node is not chosen yet at admission. Its type is known where the pod may go to nodes of one type alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from webhook.core.accelerators import count_accelerators, is_accelerator
from webhook.core.draft import Draft
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.podspec import containers, limits, requests, running_containers
from webhook.core.profiles import Profile, ProfileQuantity

_IN = "In"
_SHOWN = 64


def count_devices(
    draft: Draft, plan: Plan, step: str, needed: Iterable[str]
) -> tuple[dict[str, int], list[Decision]]:
    """Return how many of each device the training container is to ask for, and what is told of those that are not asked for.

    A device that a container of the pod asks for itself is left to it, and so is what an earlier pass has added. *needed*: what the pod
    gets besides; with accelerators among it their number would be another one in the next pass.
    """
    countable = not any(map(is_accelerator, needed))
    app = {one.get("name") for one in containers(draft.pod)}
    added = {
        sidecar.name for sidecar in plan.profile.sidecars
    } - app  # which are not there yet in the first pass
    asking = [one for one in running_containers(draft.pod) if one.get("name") not in added]
    asked: dict[str, int] = {}
    told: list[Decision] = []
    for quantity in plan.profile.quantities:
        resource = quantity.resource
        if any(resource in limits(one) or resource in requests(one) for one in asking):
            message = f"the pod asks for {resource} already"
            told.append(Decision(step, Outcome.KEPT, Reason.ALREADY_THERE, message))
            continue
        amount = _amount(draft, plan, quantity, countable=countable)
        if amount is None:
            told.append(
                Decision(
                    step, Outcome.WARNED, Reason.UNKNOWN_QUANTITY, _unknown(draft, plan, quantity)
                )
            )
        elif amount:
            asked[resource] = amount
    return asked, told


def least_amount(profile: Profile, quantity: ProfileQuantity, labels: Mapping[str, str]) -> int:
    """Return how many a pod of the profile takes at least that gets any, on a node with these *labels* and maybe others; 0 for none."""
    if node_type := labels.get(quantity.node_label) if quantity.by_node_type else "":
        return quantity.by_node_type.get(node_type, 0)
    amounts = list(quantity.by_node_type.values())
    if quantity.per_accelerator is not None:
        amounts.append(quantity.per_accelerator * (profile.accelerators or 1))
    return min(filter(None, amounts), default=0)


def _amount(draft: Draft, plan: Plan, quantity: ProfileQuantity, *, countable: bool) -> int | None:
    if quantity.by_node_type and (node_type := _node_type(draft, plan, quantity.node_label)):
        return quantity.by_node_type.get(
            node_type
        )  # None of a type that it does not list: one that may have no such device
    if quantity.per_accelerator is None or not countable:
        return None
    accelerators = count_accelerators(containers(draft.pod)[plan.container])
    return quantity.per_accelerator * accelerators if accelerators else None


def _node_type(draft: Draft, plan: Plan, label: str) -> str:
    """Return the one type of node that the pod may go to; empty where there is none, or there are several.

    The node selectors that a later step merges into the pod's count too, so that another pass finds the same.
    """
    selectors: list[Mapping[str, str]] = [
        draft.get("spec", "nodeSelector") or {},
        plan.profile.node_selector,
    ]
    selectors += [attachment.network.node_selector for attachment in plan.attachments]
    found = next((selector[label] for selector in selectors if label in selector), "")
    return found or _required_by_affinity(draft, label)


def _required_by_affinity(draft: Draft, label: str) -> str:
    """Return the only value of *label* that the terms of the required node affinity, of which one must hold, let a node have."""
    terms = draft.get(
        "spec",
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    )
    found: set[str] = set()
    for term in terms or ():
        value = _only_value(term, label)
        if not value:
            return ""
        found.add(value)
    return found.pop() if len(found) == 1 else ""


def _only_value(term: Object, label: str) -> str:
    """Return the value of a term's expression that allows one alone; empty where none does."""
    for expression in term.get("matchExpressions") or ():
        values: list[str] = expression.get("values") or []
        if (
            expression.get("key") == label
            and expression.get("operator") == _IN
            and len(set(values)) == 1
        ):
            return values[0]
    return ""


def _unknown(draft: Draft, plan: Plan, quantity: ProfileQuantity) -> str:
    """Say why the number is not known, and what to write."""
    why: list[str] = []
    cure: list[str] = []
    found = ""
    if quantity.by_node_type:
        found = _node_type(draft, plan, quantity.node_label)[:_SHOWN]
        why.append(
            f"profile {plan.profile.name} gives no number for {quantity.node_label}={found}"
            if found
            else f"neither its nodeSelector nor its required node affinity names one {quantity.node_label}"
        )
        known = ", ".join(list(quantity.by_node_type)[:5])
        cure.append(f"select nodes by {quantity.node_label} ({known})")
    if quantity.per_accelerator is not None and not found:
        why.append(f"container {plan.container_name} asks for no accelerators that can be counted")
    cure.append(f"ask for {quantity.resource} in the pod")
    return (
        f"pod {plan.pod_name}: how many of {quantity.resource} it needs is not known, and none is added: {', and '.join(why)}; "
        f"{', or '.join(cure)}"
    )
