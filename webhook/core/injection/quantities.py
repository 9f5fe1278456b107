"""Count the devices whose number depends on the node's type, or on the container's accelerators.

devices.py asks for them. The node is not chosen yet at admission: its type is known where the pod
names it. Of several types the number is known where it is the same for all.
"""

from collections.abc import Collection, Mapping
from itertools import chain, islice, product
from typing import Final

from webhook.core import names
from webhook.core.accelerators import count_accelerators, is_accelerator
from webhook.core.draft import Draft
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Object, Reason
from webhook.core.plan import Plan
from webhook.core.podspec import containers, limits, requests, running_containers
from webhook.core.profiles import Profile, ProfileQuantity
from webhook.core.profiles.grammar import NodeDevices

_STEP: Final = Row("devices")
_SHOWN: Final = 64
_OLD_LABEL: Final = "beta.kubernetes.io/instance-type"
_KARPENTER: Final = ("karpenter.k8s.aws", "eks.amazonaws.com")
"""Domains of the labels that Karpenter, and EKS Auto Mode by it, give to nodes."""
_SMALL: Final = ".*"
"""After a family: its small sizes, which have one accelerator, no devices, and are not listed."""
_AFFINITY = ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")


def count_devices(
    draft: Draft, plan: Plan, needed: Collection[str]
) -> tuple[dict[str, int], list[Decision]]:
    """Return how many of each device to ask for, and the decisions about those not asked for.

    A device that a container of the pod asks for itself is left to it, and so is what an earlier
    pass has added. *needed*: what the pod gets besides; with accelerators among it their number
    would be another one in the next pass.
    """
    own = plan.trainer(draft.pod)
    accelerators = None if any(map(is_accelerator, needed)) else count_accelerators(own)
    # Sidecars of the profile do not count: they are not there yet in the first pass.
    added = set(plan.profile.sidecars) - {one.get("name") for one in containers(draft.pod)}
    asking = [one for one in running_containers(draft.pod) if one.get("name") not in added]
    asked: dict[str, int] = {}
    told: list[Decision] = []
    for quantity in plan.profile.quantities:
        resource = quantity.resource
        given = chain.from_iterable((limits(one), requests(one)) for one in asking)
        if own_numbers := [each[resource] for each in given if resource in each]:
            wants_none = resource not in needed and all(each in (0, "0") for each in own_numbers)
            if wants_none:  # nothing of the fabric
                message = f"the pod asks for 0 of {resource}"
                told.append(_STEP.skipped(Reason.UNKNOWN_QUANTITY, message))
            else:
                told.append(_STEP.already_there(f"the pod asks for {resource} already"))
            continue
        types = _node_types(draft, plan, quantity)
        is_other = quantity.accelerator not in (None, *limits(own), *requests(own))
        amount = _amount(quantity, types, None if is_other else accelerators)
        if amount is None:
            unknown = _unknown(plan, quantity, types)
            told.append(_STEP.warned(plan, Reason.UNKNOWN_QUANTITY, unknown))
        elif amount:
            asked[resource] = amount
    return asked, told


def least_amount(profile: Profile, quantity: ProfileQuantity, labels: Mapping[str, str]) -> int:
    """Return how many a pod of the profile takes at least that gets any; 0 for none.

    The node has these *labels*, and maybe others.
    """
    accelerators = profile.accelerators or 1
    every = [*quantity.by_node_type.values(), quantity.otherwise]
    node_type = labels.get(quantity.node_label) if quantity.by_node_type else ""
    nodes = [quantity.by_node_type.get(node_type)] if node_type else every
    amounts = [quantity.share(node, accelerators) for node in nodes if node]
    if quantity.per_accelerator is not None and not (node_type or quantity.otherwise):
        amounts.append(quantity.per_accelerator * accelerators)
    return min(filter(None, amounts), default=0)


def _amount(quantity: ProfileQuantity, types: list[str], accelerators: int | None) -> int | None:
    """Return the number for a pod that may go to nodes of these *types*; None where not known.

    Types that have too few accelerators do not count, unless all have.
    """
    each = quantity.per_accelerator
    if not types and quantity.otherwise is None:
        return None if each is None or not accelerators else each * accelerators
    listed, small = quantity.by_node_type, NodeDevices((0, 1))
    nodes = [listed.get(name, small if name.endswith(_SMALL) else None) for name in types]
    nodes = nodes or [quantity.otherwise]
    known = [node for node in nodes if node is not None]
    if len(known) < len(nodes):
        return None
    large = [node for node in known if not node[1] or node[1] >= (accelerators or 0)]
    shares = {quantity.share(node, accelerators) for node in large or known}
    return shares.pop() if len(shares) == 1 else None


def _node_types(draft: Draft, plan: Plan, quantity: ProfileQuantity) -> list[str]:
    """Return the types of nodes that the pod names and may go to; none where it names none.

    The node selectors that a later step merges into the pod's count too, so that another pass finds
    the same.
    """
    selectors: list[Mapping[str, str]] = [
        draft.get("spec", "nodeSelector") or {},
        plan.profile.node_selector,
        *[attachment.network.node_selector for attachment in plan.attachments],
    ]
    for selector in selectors:
        wanted = {label: [value] for label, value in selector.items()}
        if found := _types_of(wanted, quantity):
            return found
    terms = draft.get("spec", "affinity", *_AFFINITY) or ()  # one term must hold
    named = [_types_of(_expressions(term), quantity) for term in terms]
    return list(dict.fromkeys(chain(*named))) if all(named) else []


def _expressions(term: Object) -> dict[str, list[str]]:
    """Return the values that a term allows for each label that it names some for."""
    return {
        str(each.get("key")): each.get("values") or []
        for each in term.get("matchExpressions") or ()
        if each.get("operator") == "In"
    }


def _types_of(wanted: Mapping[str, list[str]], quantity: ProfileQuantity) -> list[str]:
    """Return the types that labels with these values name; Karpenter has a type's two halves."""
    label = quantity.node_label
    if not quantity.by_node_type:
        return []
    if label != names.INSTANCE_TYPE or wanted.get(label):
        return wanted.get(label) or []
    if named := wanted.get(_OLD_LABEL):
        return named
    for domain in _KARPENTER:
        families = wanted.get(f"{domain}/instance-family") or []
        sizes = wanted.get(f"{domain}/instance-size") or []
        if families and sizes:
            pairs = product(dict.fromkeys(families), dict.fromkeys(sizes))
            # more than are listed: one of them has no number, and millions would take seconds
            some = islice(pairs, len(quantity.by_node_type) + 1)
            return [f"{family}.{size}" for family, size in some]
        if families:
            known = [each for each in quantity.by_node_type if each.split(".")[0] in families]
            return [*known, *(family + _SMALL for family in families)] if known else families
    return []


def _unknown(plan: Plan, quantity: ProfileQuantity, types: list[str]) -> str:
    """Say why the number is not known, and what to write."""
    label, listed = quantity.node_label, quantity.by_node_type
    unlisted = [each for each in types if each not in listed]
    cure = f"ask for {quantity.resource} in the pod"
    if listed:
        cure = f"select nodes by {label} ({', '.join([*listed][:5])}), or {cure}"
    if unlisted:
        why = f"profile {plan.profile.name} gives no number for {label}={unlisted[0][:_SHOWN]}"
    elif len(types) > 1:
        why = f"it may go to nodes of {len(types)} types with different numbers"
    elif listed and not types and quantity.otherwise is None:
        why = f"neither its nodeSelector nor its required node affinity names one {label}"
    else:
        counted = quantity.accelerator or "accelerators"
        why = f"container {plan.container_name} asks for no {counted} that can be counted"
    return (
        f"how many of {quantity.resource} it needs is not known, and none is added: {why}; {cure}"
    )
