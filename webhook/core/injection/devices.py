"""Ask for the devices of the attached networks, and for what the profile gives besides.

The kubelet allots devices to all app containers and restartable init containers together, and
Multus hands them out, so that sum counts. Source: kubernetes
pkg/kubelet/apis/podresources/server_v1.go.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from webhook.core import names, podspec
from webhook.core.claim_templates import is_ours
from webhook.core.draft import Draft
from webhook.core.injection.quantities import count_devices
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.networks import Attachment
from webhook.core.plan import Plan
from webhook.core.pod_types import QUANTITIES
from webhook.core.podspec import claims, limits, requests, running_containers
from webhook.core.profiles import Profile
from webhook.core.profiles.grammar import HUGE_PAGES
from webhook.core.quantity import parse_quantity

STEP: Final = Row("devices")
_ANNOTATIONS = ("metadata", "annotations")
_SHOWN: Final = 40


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Raise the training container's requests and limits, as the profile's existingDevices says.

    Raises Denied where a container asks for a device in a quantity that is not a whole number.
    """
    needed = needed_resources(plan.attachments, plan.profile)
    own = plan.trainer(draft.pod)
    before = _note_added(draft, plan, needed)
    told: list[Decision] = []
    if plan.profile.quantities:
        counted, told = count_devices(draft, plan, needed)
        # not noted above: a later pass finds them asked for, and asks for no more
        needed |= {name: max(needed.get(name, 0), count) for name, count in counted.items()}
    if plan.profile.resources:
        told += _leave_out_hugepages(plan, own, needed)
    if not needed:
        return told
    others = [container for container in running_containers(draft.pod) if container is not own]
    raised, taken = [], []
    written: Object = {}
    for resource, amount in needed.items():
        held = _held(plan, own, resource)
        # memory and hugepages of another container do not help this one
        beside = others if "/" in resource else []
        elsewhere = [(each, _held(plan, each, resource)) for each in beside]
        missing = amount - (held or 0)
        if "/" in resource and plan.profile.existing_devices == "add":
            missing = amount - min(before.get(resource, 0), held or 0)
        elif "/" in resource and plan.profile.existing_devices == "keep":
            is_asked = any(has is not None for has in (held, *(has for _, has in elsewhere)))
            missing = 0 if is_asked else missing
        else:
            missing -= sum(has or 0 for _, has in elsewhere)
        total = (held or 0) + max(missing, 0)
        holders = [str(each.get("name")) for each, has in elsewhere if has]
        if holders and total < amount:
            taken.append(_taken(plan, holders[0], resource, f"{total} of {amount}"))
        if missing > 0:
            written[resource] = _text(plan, resource, amount, total)
            if held is not None and plan.profile.existing_devices != "add":
                earlier = str(_given(own, resource)[0])[:_SHOWN]
                raised.append(f"{resource} from {earlier} to {written[resource]}")
        elif len(_given(own, resource)) == 1:  # the API server asks for request and limit
            [written[resource]] = _given(own, resource)
    if not written:
        kept = STEP.already_there(f"the pod asks for {', '.join(needed)} already")
        return [kept, *taken, *told]
    for key in ("limits", "requests"):
        draft.set_keys(plan.in_trainer("resources", key), written)
    return [*_changed(draft, plan, written, raised), *taken, *told]


def _note_added(draft: Draft, plan: Plan, needed: Mapping[str, Any]) -> dict[str, int]:
    """Note what is added with ``existingDevices: add``; return what an earlier pass has added.

    So another pass over the pod adds nothing more. Shape: ``rdma/a=2,rdma/b=1``; a piece needs a
    number.
    """
    earlier = podspec.annotations(draft.pod).get(names.ADDED_DEVICES, "")
    noted = ",".join([f"{name}={needed[name]}" for name in needed if "/" in name])
    if plan.profile.existing_devices != "add" or not noted:
        draft.remove_key(_ANNOTATIONS, names.ADDED_DEVICES)
    else:
        draft.set_key(_ANNOTATIONS, names.ADDED_DEVICES, noted)
    pieces = [piece.partition("=") for piece in earlier.split(",", QUANTITIES)]
    return {
        resource: int(amount)
        for resource, _, amount in pieces
        if amount.isascii() and amount.isdigit() and len(amount) < 20
    }


def needed_resources(attachments: Iterable[Attachment], profile: Profile) -> dict[str, int]:
    """Return what a pod with these attachments is to ask for in all: ``{"rdma/hca": 2}``."""
    needed: dict[str, int] = {}
    for attachment in attachments:
        for resource, count in attachment.resources:
            needed[resource] = needed.get(resource, 0) + count
    for resource, text in profile.resources.items():
        needed[resource] = max(needed.get(resource, 0), _parse(text))
    return {resource: amount for resource, amount in needed.items() if amount}


def _parse(value: Any) -> int:
    """Read a whole number. Raises ValueError for another quantity."""
    amount = parse_quantity(value)
    if amount.denominator != 1:
        raise ValueError(value)
    return amount.numerator


def _given(container: Object, resource: str) -> list[Any]:
    """Return limit and request, as far as the container has them."""
    found = [limits(container).get(resource), requests(container).get(resource)]
    return [quantity for quantity in found if quantity is not None]


def _held(plan: Plan, container: Object, resource: str) -> int | None:
    """Return the higher of limit and request; None where the container names neither."""
    held: int | None = None
    for quantity in _given(container, resource):
        try:
            amount = _parse(quantity)
        except ValueError:
            amount = -1
        if amount < 0:
            key = "limits" if quantity == limits(container).get(resource) else "requests"
            where = f"container {container.get('name')}: resources.{key}[{resource}]"
            message = (
                f"{where} is {str(quantity)[:_SHOWN]!r}; write a whole number, or leave it out and "
                f"profile {plan.profile.name} fills it in"
            )
            raise STEP.denied(plan, Reason.BAD_RESOURCE, message)
        held = amount if held is None else max(held, amount)
    return held


def _taken(plan: Plan, holder: str, resource: str, has: str) -> Decision:
    """Warn of a device that another container has.

    Multus takes it for the pod's network, and only that container may open it.
    """
    message = (
        f"container {holder} asks for {resource}: container {plan.container_name}, which trains, "
        f"has {has}, and cannot open those of {holder}; move the request, or name {holder} in "
        f"annotation {names.CONTAINER}"
    )
    return STEP.warned(plan, Reason.ALREADY_THERE, message)


def _text(plan: Plan, resource: str, amount: int, total: int) -> str:
    given = plan.profile.resources.get(resource)
    if total == amount and given is not None and _parse(given) == total:
        return given  # 5120Mi rather than 5368709120
    return str(total)


def _changed(draft: Draft, plan: Plan, written: Object, raised: list[str]) -> list[Decision]:
    listed = ", ".join([f"{resource}: {text}" for resource, text in written.items()])
    asks = f"container {plan.container_name} asks for {listed}"
    found = [STEP.added(asks)]
    if raised:
        found = [Decision(STEP.name, Outcome.INJECTED, Reason.RAISED, asks)]
        message = (
            f"container {plan.container_name} asked for too little; raised {', '.join(raised)}"
        )
        found.append(STEP.warned(plan, Reason.RAISED, message))
    devices = any("/" in resource for resource in written)
    if devices and (claimed := claims_of_devices(draft.pod, plan)):
        named = f"claims {', '.join(claimed)} are not counted as devices"
        if len(claimed) == 1:
            named = f"claim {claimed[0]} is not counted as a device"
        message = (
            f"resource {named}; {asks} besides; for a network whose device comes by a claim, "
            f"write count: 0 in profile {plan.profile.name}"
        )
        found.append(STEP.warned(plan, Reason.DRA_CLAIM, message))
    return found


def _leave_out_hugepages(plan: Plan, own: Object, needed: dict[str, int]) -> list[Decision]:
    """Take hugepages out of *needed* where the API server would refuse the pod for them.

    Source: kubernetes pkg/apis/core/validation/validation.go, "HugePages require cpu or memory", of
    each container.
    """
    pages = [resource for resource in needed if resource.startswith(HUGE_PAGES)]
    there = {*needed, *limits(own), *requests(own)}
    if not pages or "cpu" in there or "memory" in there:
        return []
    for resource in pages:
        del needed[resource]
    message = (
        f"{', '.join(pages)} is not added to container {plan.container_name}, which asks for "
        "neither cpu nor memory, and would be refused: give it a cpu or memory request"
    )
    return [STEP.warned(plan, Reason.HUGEPAGES, message)]


def claims_of_devices(pod: Object, plan: Plan) -> list[str]:
    """Return the names of the claims that may give network cards.

    Those of the profile are none of these: the admin gives them knowingly. Nor is the channel of a
    ComputeDomain.
    """
    in_pod = pod["spec"].get("resourceClaims") or ()
    named = [str(claim.get("name")) for claim in in_pod]
    own = claims(plan.trainer(pod))
    there = [*(each for each in own if str(each.get("name")) not in named), *in_pod]
    found = [
        str(claim.get("name"))
        for claim in there
        if not is_ours(claim, plan.profile.claims) and not podspec.is_compute_domain_channel(claim)
    ]
    return list(dict.fromkeys(found))
