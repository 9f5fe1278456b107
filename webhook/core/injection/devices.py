"""Ask for the devices of the attached networks, and for what the profile gives besides.

Multus hands out the devices that the kubelet allotted to all app containers and restartable init
containers together, so the sum over those is what counts. Source: kubernetes
pkg/kubelet/apis/podresources/server_v1.go.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
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
from webhook.core.quantity import format_quantity, parse_quantity

STEP: Final = Row("devices")

_ANNOTATIONS = ("metadata", "annotations")
_KEYS = ("limits", "requests")
_SHOWN: Final = 40
_OVERCOMMITTABLE: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
"""Resources whose request may stay below the limit; of all others the two are equal."""


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Raise the training container's requests and limits, as the profile's existingDevices says.

    Raises Denied where a container asks for a device in a quantity that is not a whole number.
    """
    needed = needed_resources(plan.attachments, plan.profile)
    own = plan.trainer(draft.pod)
    existing = plan.profile.existing_devices
    before: dict[str, int] = {}
    noted = ""
    if existing == "add":
        before = _read_added(draft.pod)
        noted = ",".join([f"{name}={needed[name]}" for name in needed if "/" in name])
    if noted:  # so that another pass over the pod adds nothing more
        draft.set_key(_ANNOTATIONS, names.ADDED_DEVICES, noted)
    else:
        draft.remove_key(_ANNOTATIONS, names.ADDED_DEVICES)
    told: list[Decision] = []
    if plan.profile.quantities:
        counted, told = count_devices(draft, plan, needed)
        # not noted above: a later pass finds them asked for, and asks for no more
        _raise_to(needed, counted.items())
    if plan.profile.resources:
        told += _leave_out_hugepages(plan, own, needed)
    if not needed:
        return told or [STEP.not_asked(_why_none(plan))]
    others = [container for container in running_containers(draft.pod) if container is not own]
    changed, raised, taken = [], [], []
    written: dict[str, Object] = {key: {} for key in _KEYS}
    for resource, amount in needed.items():
        held = _held(plan, own, resource)
        text: Any
        present = held or 0
        missing = amount - present
        if "/" in resource:  # memory and hugepages of another container do not help this one
            elsewhere = [_held(plan, container, resource) for container in others]
            if existing == "add":
                missing = amount - min(before.get(resource, 0), present)
            elif existing == "keep" and any(one is not None for one in (held, *elsewhere)):
                missing = 0
            else:
                missing -= sum(one or 0 for one in elsewhere)
            has = present + max(missing, 0)
            if has < amount and any(elsewhere):
                holder = next(
                    one for one, has_some in zip(others, elsewhere, strict=True) if has_some
                )
                taken.append(_taken(plan, str(holder.get("name")), resource, f"{has} of {amount}"))
        if missing > 0:
            text = _text(plan, resource, amount, present + missing)
            if held is not None and existing != "add":
                raised.append(f"{resource} from {_as_written(own, resource, present)} to {text}")
        elif held is None or _is_written(own, resource):
            continue
        else:
            text = next(_written(own, resource))
        for key in _keys_of(resource, own):
            written[key][resource] = text
        changed.append(f"{resource}: {text}")
    if not changed:
        kept = STEP.already_there(f"the pod asks for {', '.join(needed)} already")
        return [kept, *taken, *told]
    for key, quantities in written.items():
        if quantities:
            draft.set_keys(plan.in_trainer("resources", key), quantities)
    return [*_changed(draft, plan, changed, raised), *taken, *told]


def _read_added(pod: Object) -> dict[str, int]:
    """Read what an earlier pass added, ``rdma/a=2,rdma/b=1``; a piece needs a number."""
    added: dict[str, int] = {}
    for piece in podspec.annotations(pod).get(names.ADDED_DEVICES, "").split(",", QUANTITIES):
        resource, _, amount = piece.partition("=")
        if amount.isascii() and amount.isdigit() and len(amount) < 20:
            added[resource] = int(amount)
    return added


def _raise_to(
    needed: dict[str, int | Fraction], amounts: Iterable[tuple[str, int | Fraction]]
) -> None:
    for resource, amount in amounts:
        needed[resource] = max(needed.get(resource, 0), amount)


def needed_resources(
    attachments: Iterable[Attachment], profile: Profile
) -> dict[str, int | Fraction]:
    """Return what a pod with these attachments is to ask for in all: ``{"rdma/hca": 2}``."""
    needed: dict[str, int | Fraction] = {}
    for attachment in attachments:
        for resource, count in attachment.resources:
            needed[resource] = needed.get(resource, 0) + count
    _raise_to(needed, ((name, _parse(text)) for name, text in profile.resources.items()))
    return {resource: amount for resource, amount in needed.items() if amount}


def _parse(value: Any) -> int | Fraction:
    """Read a quantity; plain whole numbers, nearly all there are, without a Fraction."""
    if value.__class__ is int:
        return value
    if value.__class__ is str and len(value) < 18 and value.isascii() and value.isdigit():
        return int(value)
    return parse_quantity(value)


def _held(plan: Plan, container: Object, resource: str) -> int | Fraction | None:
    """Return the higher of limit and request; None where the container names neither."""
    held: int | Fraction | None = None
    for key in _KEYS:
        quantity = _quantities(container, key).get(resource)
        if quantity is None:
            continue
        try:
            amount = _parse(quantity)
        except ValueError:
            amount = -1
        if amount < 0 or ("/" in resource and amount != int(amount)):
            kind = "whole number" if "/" in resource else "quantity"
            where = f"container {container.get('name')}: resources.{key}[{resource}]"
            message = (
                f"{where} is {str(quantity)[:40]!r}; write a {kind}, or leave it out and profile "
                f"{plan.profile.name} fills it in"
            )
            raise STEP.denied(plan, Reason.BAD_RESOURCE, message)
        if held is None or amount > held:
            held = amount
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


def _quantities(container: Object, key: str) -> Mapping[str, Any]:
    return limits(container) if key == "limits" else requests(container)


def _written(container: Object, resource: str) -> Iterator[Any]:
    """Yield limit and request, as far as the container has them."""
    found = [_quantities(container, key).get(resource) for key in _KEYS]
    return iter([quantity for quantity in found if quantity is not None])


def _is_written(container: Object, resource: str) -> bool:
    """Tell whether both are there, as the API server asks of devices and hugepages."""
    return resource in _OVERCOMMITTABLE or (
        resource in limits(container) and resource in requests(container)
    )


def _text(plan: Plan, resource: str, amount: int | Fraction, total: int | Fraction) -> str:
    given = plan.profile.resources.get(resource)
    if total == amount and given is not None and _parse(given) == total:
        return given  # 5120Mi rather than 5368709120
    return str(total) if isinstance(total, int) else format_quantity(total)


def _as_written(container: Object, resource: str, held: int | Fraction) -> str:
    """Return the quantity *held* as the pod's author wrote it: 1Gi rather than 1073741824."""
    found = _written(container, resource)
    return next(str(text)[:_SHOWN] for text in found if _parse(text) == held)


def _keys_of(resource: str, own: Object) -> Sequence[str]:
    """Say where a quantity belongs; a request without a limit stays so, for the QoS class."""
    if resource not in _OVERCOMMITTABLE:
        return _KEYS
    return tuple(key for key in _KEYS if resource in _quantities(own, key)) or _KEYS


def _changed(draft: Draft, plan: Plan, changed: list[str], raised: list[str]) -> list[Decision]:
    listed = ", ".join(changed)
    asks = f"container {plan.container_name} asks for {listed}"
    found = [STEP.added(asks)]
    if raised:
        found = [Decision(STEP.name, Outcome.INJECTED, Reason.RAISED, asks)]
        message = (
            f"container {plan.container_name} asked for too little; raised {', '.join(raised)}"
        )
        found.append(STEP.warned(plan, Reason.RAISED, message))
    if claimed := claims_of_devices(draft.pod, plan.trainer(draft.pod)):
        named = f"claims {', '.join(claimed)} are not counted as devices"
        if len(claimed) == 1:
            named = f"claim {claimed[0]} is not counted as a device"
        message = (
            f"resource {named}; {asks} besides; for a network whose device comes by a claim, "
            f"write count: 0 in profile {plan.profile.name}"
        )
        found.append(STEP.warned(plan, Reason.DRA_CLAIM, message))
    return found


def _leave_out_hugepages(
    plan: Plan, own: Object, needed: dict[str, int | Fraction]
) -> list[Decision]:
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


def claims_of_devices(pod: Object, own: Object) -> list[str]:
    """Return the names of the claims that may give network cards.

    Those of the profile are none of these: the admin gives them knowingly. Nor is the channel of a
    ComputeDomain.
    """
    in_pod: dict[str, list[Object]] = {}
    for claim in pod["spec"].get("resourceClaims") or ():
        in_pod.setdefault(str(claim.get("name")), []).append(claim)
    there = {str(claim.get("name")): [claim] for claim in claims(own)} | in_pod
    return [name for name, listed in there.items() if any(map(_may_give_cards, listed))]


def _may_give_cards(claim: Object) -> bool:
    return not is_ours(claim) and not podspec.is_compute_domain_channel(claim)


def _why_none(plan: Plan) -> str:
    if not plan.attachments:
        why = "the pod is on the host network" if plan.host_network else "no network is attached"
    else:
        named = ", ".join(dict.fromkeys(attachment.key for attachment in plan.attachments))
        why = f"network {named} takes no device"
    return f"{why}, and profile {plan.profile.name} gives no resources"
