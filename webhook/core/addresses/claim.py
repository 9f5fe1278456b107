"""Resource claims (DRA): the driver tells a device's interface and addresses in ``status.devices[].networkData`` of its ResourceClaim.

The scheduler allocates a claim and reserves it for pods by uid; the driver writes the rest while the pod's sandbox is made. So nothing
of it is known at admission but the claim's name in the pod, and nothing of it stands on the pod: who reads the cluster brings it, as
`tell` writes it. Only what the scheduler and drivers write counts, the claim's status; its owner may write everything else.
Source: kubernetes staging/src/k8s.io/api/resource/v1 types.go (ResourceClaimStatus, AllocatedDeviceStatus, NetworkDeviceData).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from webhook.core import podspec
from webhook.core.addresses.source import Choice, Words
from webhook.core.model import NetworkDefinition, Object, Reason
from webhook.core.networks import Attachment, ResolvedNetworks
from webhook.core.networks.status import (
    FAMILIES,
    MAX_ADDRESSES,
    MAX_NAME,
    MAX_PROBLEM,
    Secondary,
    Wanted,
    choose_address,
)
from webhook.core.profiles import Profile

NAME = "claim"
WORDS = Words(
    asked="",
    told="",
    writer="the driver of its claim",
    attaches_nothing="where a driver moves no interface into the pod",
    look="look at the ResourceClaim's status, and at the log of its driver on the pod's node",
    look_on_node="at its ResourceClaims (kubectl describe resourceclaims), and at their drivers on {node}",
    no_interface=(
        Reason.NO_ADDRESS,
        "the interface of a claim is known where its profile names it, rendezvous: {network: CLAIM@INTERFACE}",
    ),
    place="status.devices of its ResourceClaims",
)
ANY = "any claim"
"""Stands for the name of a claim where the profile names none: no claim has a name with a space."""
POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
"""Annotation on a ResourceClaim (Kubernetes): its name in the pod for which it was made from a template."""
MOST_DEVICES = 32
"""Devices of one claim, as many as Kubernetes allocates."""
MOST_USERS = 256
_LONGEST_ADDRESS = 64
"""As much of a text is kept as shows that it is none; the longest address with its prefix has 43 characters."""
_NOT_SECONDARY = frozenset({"eth0", "lo"})


class ClaimDevice(NamedTuple):
    """Hold what is kept of an allocated device: *is_told* once its driver has written networkData, whose texts these are."""

    driver: str
    is_told: bool = False
    interface: str = ""
    ips: tuple[str, ...] = ()


class Claim(NamedTuple):
    """Hold what is kept of a ResourceClaim: its *devices* in the order of its requests, none before it is allocated.

    *name_in_pod*: empty for one that was not made from a pod's template. *users*: (name, uid) of the pods that it is reserved for.
    """

    name: str
    name_in_pod: str
    users: tuple[tuple[str, str], ...]
    devices: tuple[ClaimDevice, ...]

    @property
    def has_address(self) -> bool:
        """Tell whether a driver has told an address of a device."""
        return any(device.ips for device in self.devices)


def choose(pod: Object, profile: Profile, _networks: ResolvedNetworks) -> Choice:
    """Choose the claim that the profile names, by its name in the pod, else whichever tells an address."""
    if podspec.is_host_network(pod):
        return Choice(
            None, Reason.HOST_NETWORK, f"the pod uses the node's network, {WORDS.attaches_nothing}"
        )
    claims: list[Object] = (pod.get("spec") or {}).get("resourceClaims") or []
    if not claims:
        return Choice(problem="the pod has no resource claim, whose status could tell an address")
    named = profile.rendezvous.network
    if named is None:
        if all(map(podspec.is_compute_domain_channel, claims)):
            return Choice(
                problem="the pod has no resource claim but of a ComputeDomain's channel, which has no address"
            )
        return Choice(Attachment(NetworkDefinition("", ANY, has_ipam=True), ""))
    own = next(
        (claim for claim in claims if claim.get("name") in (named.name, f"fabric-{named.name}")),
        None,
    )
    if own is None or named.namespace:
        return Choice(
            problem=f"profile {profile.name} meets on claim {named}, which the pod does not have"
        )
    name, interface = own.get("resourceClaimName") or own["name"], named.interface or ""
    network = Attachment(NetworkDefinition("", name, has_ipam=True), interface)
    return Choice(network, interfaces=(interface,) if interface else ())


@lru_cache(1024)
def parse_wanted(text: str) -> Wanted | None:
    """Read ``name@interface/family``; the interface may be empty."""
    if len(text) > MAX_NAME:
        return None
    name, at, rest = text.rpartition("@")
    interface, slash, family = rest.rpartition("/")
    found = next((known for known in FAMILIES if known == family), None)
    return (
        Wanted("", name, interface, found) if name and at and slash and found is not None else None
    )


def told(_annotations: Mapping[str, str]) -> str:
    """Return nothing: it is not told on the pod."""
    return ""


def secondary(told: str, wanted: Wanted) -> Secondary:
    """Find the address in what `tell` has written of the pod's claims; ``Secondary()`` while it may still be told."""
    problems: list[str] = []
    for address in _addresses(told, wanted, problems):
        return Secondary(address)
    return Secondary(problem="; ".join(dict.fromkeys(problems))[:MAX_PROBLEM])


def is_told(told: str, wanted: Wanted, address: str) -> bool:
    """Tell whether the pod has this address too: one that was published stays while it is right."""
    return address in _addresses(told, wanted, [])


def read_claim(obj: Object) -> Claim:
    """Keep what matters of a ResourceClaim, of bounded size. Raises TypeError, AttributeError for one that is none."""
    metadata, status = obj["metadata"], obj.get("status") or {}
    users = [
        (str(user.get("name") or ""), str(user.get("uid") or ""))
        for user in (status.get("reservedFor") or ())[:MOST_USERS]
        if user.get("resource") == "pods"
    ]
    name_in_pod = str((metadata.get("annotations") or {}).get(POD_CLAIM_NAME) or "")[:MAX_NAME]
    return Claim(metadata["name"], name_in_pod, tuple(dict.fromkeys(users)), tuple(_devices(obj)))


def tell(claims: Iterable[Claim]) -> str:
    """Write what the claims of one pod tell as one text; empty where no driver has told anything yet."""
    shown = sorted(
        (claim for claim in claims if claim.has_address),
        key=lambda one: (one.name_in_pod, one.name),
    )
    return orjson.dumps(shown, default=list).decode() if shown else ""


def _devices(obj: Object) -> Iterator[ClaimDevice]:
    """Yield the devices that are allocated now: what a driver has told of others is of an earlier allocation.

    One with admin access belongs to another claim as well.
    """
    requests = ((obj.get("spec") or {}).get("devices") or {}).get("requests") or ()
    order = {str(request.get("name")): number for number, request in enumerate(requests)}
    status = obj.get("status") or {}
    results = (((status.get("allocation") or {}).get("devices") or {}).get("results") or ())[
        :MOST_DEVICES
    ]
    of_device = {_key(each): each.get("networkData") for each in status.get("devices") or ()}
    places = [
        order.get(str(result.get("request")).partition("/")[0], len(order)) for result in results
    ]
    for _, number in sorted(zip(places, range(len(places)), strict=True)):
        result = results[number]
        if result.get("adminAccess"):
            continue
        driver, data = str(result.get("driver") or "")[:MAX_NAME], of_device.get(_key(result))
        if data is None:
            yield ClaimDevice(driver)
            continue
        interface = str(data.get("interfaceName") or "")[:MAX_NAME]
        ips = [str(text)[:_LONGEST_ADDRESS] for text in (data.get("ips") or ())[:MAX_ADDRESSES]]
        yield ClaimDevice(driver, True, interface, tuple(ips))


def _key(device: Object) -> tuple[Any, ...]:
    return device.get("driver"), device.get("pool"), device.get("device"), device.get("shareID")


def _addresses(told: str, wanted: Wanted, problems: list[str]) -> list[str]:
    """Return the address of each device that counts, in order; what is wrong with the others goes to *problems*."""
    found: list[str] = []
    for name, name_in_pod, users, devices in orjson.loads(told or "[]"):
        if wanted.name not in (ANY, name_in_pod or name):
            continue
        if len(users) > 1:
            problems.append(
                f"claim {name} is reserved for {len(users)} pods, so that its addresses are no pod's own"
            )
            continue
        fitting = [each for each in devices if each[2] == wanted.interface or not wanted.interface]
        unnamed = [each for each in devices if wanted.interface and not each[2]]
        for _, _, interface, ips in (*fitting, *unnamed):
            if interface not in _NOT_SECONDARY and ips:
                address = choose_address(ips, wanted.family, problems)
                if address is not None:
                    found.append(str(address))
        if (
            wanted.interface
            and not (fitting or unnamed)
            and all(is_told for _, is_told, _, _ in devices)
        ):
            there = ", ".join(each[2] for each in devices)
            problems.append(
                f"no device of claim {name} is interface {wanted.interface}: there is {there}"
            )
    return found
