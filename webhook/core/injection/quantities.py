"""Count the devices whose number depends on the node's type, or on the container's accelerators.

devices.py asks for them. The node is not chosen yet at admission: its type is known where the pod
may go to nodes of only one type.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from webhook.core.accelerators import count_accelerators, is_accelerator
from webhook.core.draft import Draft
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Object, Reason
from webhook.core.plan import Plan
from webhook.core.podspec import containers, limits, requests, running_containers
from webhook.core.profiles import Profile, ProfileQuantity

_STEP: Final = Row("devices")
_SHOWN: Final = 64
_AFFINITY = ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")


def count_devices(
    draft: Draft, plan: Plan, needed: Iterable[str]
) -> tuple[dict[str, int], list[Decision]]:
    """Return how many of each device to ask for, and the decisions about those not asked for.

    A device that a container of the pod asks for itself is left to it, and so is what an earlier
    pass has added. *needed*: what the pod gets besides; with accelerators among it their number
    would be another one in the next pass.
    """
    countable = not any(map(is_accelerator, needed))
    # Sidecars of the profile do not count: they are not there yet in the first pass.
    added = set(plan.profile.sidecars) - {one.get("name") for one in containers(draft.pod)}
    asking = [one for one in running_containers(draft.pod) if one.get("name") not in added]
    asked: dict[str, int] = {}
    told: list[Decision] = []
    for quantity in plan.profile.quantities:
        resource = quantity.resource
        if any(resource in limits(one) or resource in requests(one) for one in asking):
            told.append(_STEP.already_there(f"the pod asks for {resource} already"))
            continue
        amount = _amount(draft, plan, quantity, countable=countable)
        if amount is None:
            unknown = _unknown(draft, plan, quantity)
            told.append(_STEP.warned(plan, Reason.UNKNOWN_QUANTITY, unknown))
        elif amount:
            asked[resource] = amount
    return asked, told


def least_amount(profile: Profile, quantity: ProfileQuantity, labels: Mapping[str, str]) -> int:
    """Return how many a pod of the profile takes at least that gets any; 0 for none.

    The node has these *labels*, and maybe others.
    """
    if node_type := labels.get(quantity.node_label) if quantity.by_node_type else "":
        return quantity.by_node_type.get(node_type, 0)
    amounts = list(quantity.by_node_type.values())
    if quantity.per_accelerator is not None:
        amounts.append(quantity.per_accelerator * (profile.accelerators or 1))
    return min(filter(None, amounts), default=0)


def _amount(draft: Draft, plan: Plan, quantity: ProfileQuantity, *, countable: bool) -> int | None:
    """Return the number; None where it is not known, as for a type of node that is not listed."""
    if quantity.by_node_type and (node_type := _node_type(draft, plan, quantity.node_label)):
        return quantity.by_node_type.get(node_type)
    if quantity.per_accelerator is None or not countable:
        return None
    accelerators = count_accelerators(plan.trainer(draft.pod))
    return quantity.per_accelerator * accelerators if accelerators else None


def _node_type(draft: Draft, plan: Plan, label: str) -> str:
    """Return the one type of node that the pod may go to; empty where none or several.

    The node selectors that a later step merges into the pod's count too, so that another pass finds
    the same.
    """
    selectors: list[Mapping[str, str]] = [
        draft.get("spec", "nodeSelector") or {},
        plan.profile.node_selector,
        *[attachment.network.node_selector for attachment in plan.attachments],
    ]
    if found := next((selector[label] for selector in selectors if label in selector), ""):
        return found
    terms = draft.get("spec", "affinity", *_AFFINITY) or ()  # one term must hold
    values = {_only_value(term, label) for term in terms}
    return values.pop() if len(values) == 1 else ""


def _only_value(term: Object, label: str) -> str:
    """Return the value of a term's expression that allows only one; empty where none does."""
    for expression in term.get("matchExpressions") or ():
        values: list[str] = expression.get("values") or []
        is_of_label = expression.get("key") == label and expression.get("operator") == "In"
        if is_of_label and len(set(values)) == 1:
            return values[0]
    return ""


def _unknown(draft: Draft, plan: Plan, quantity: ProfileQuantity) -> str:
    """Say why the number is not known, and what to write."""
    label = quantity.node_label
    why: list[str] = []
    cure: list[str] = []
    found = ""
    if quantity.by_node_type:
        found = _node_type(draft, plan, label)[:_SHOWN]
        why.append(
            f"profile {plan.profile.name} gives no number for {label}={found}"
            if found
            else f"neither its nodeSelector nor its required node affinity names one {label}"
        )
        known = ", ".join(list(quantity.by_node_type)[:5])
        cure.append(f"select nodes by {label} ({known})")
    if quantity.per_accelerator is not None and not found:
        why.append(f"container {plan.container_name} asks for no accelerators that can be counted")
    cure.append(f"ask for {quantity.resource} in the pod")
    return (
        f"how many of {quantity.resource} it needs is not known, and none is added: "
        f"{', and '.join(why)}; {', or '.join(cure)}"
    )
