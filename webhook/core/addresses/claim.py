"""Resource claims (DRA): the driver writes addresses into the status of its ResourceClaim.

``status.devices[].networkData`` holds a device's interface and addresses. The scheduler allocates a
claim and reserves it for pods by uid; the driver writes the rest while the pod's sandbox is made.
At admission only the claim's name in the pod is known. Who reads the cluster brings the rest, as
`tell` writes it. Only the claim's status counts, which the scheduler and drivers write; its owner
may write everything else. Source: kubernetes staging/src/k8s.io/api/resource/v1 types.go
(ResourceClaimStatus, AllocatedDeviceStatus, NetworkDeviceData).
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import orjson

from webhook.core import names, podspec
from webhook.core.addresses.source import Choice, Source, Words
from webhook.core.model import NetworkDefinition, Object, Reason
from webhook.core.networks import Attachment, ResolvedNetworks
from webhook.core.networks.status import MAX_NAME, Secondary, Wanted, choose_address, told_once
from webhook.core.profiles import Profile

NAME = "claim"
WORDS = Words(
    writer="the driver of its claim",
    look="look at the ResourceClaim's status, and at the log of its driver on the pod's node",
    no_interface=(
        Reason.NO_ADDRESS,
        "the interface of a claim is known where its profile names it, "
        "rendezvous: {network: CLAIM@INTERFACE}",
    ),
    place="status.devices of its ResourceClaims",
)
ANY = "any claim"
"""Stands for the name of a claim where the profile names none: no claim has a name with a space."""
POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
"""Annotation on a ResourceClaim made from a template (Kubernetes): its name in the pod."""


class ClaimDevice(NamedTuple):
    """Hold what is kept of an allocated device.

    *is_told*: its driver has written networkData, whose texts *interface* and *ips* are.
    """

    driver: str
    is_told: bool = False
    interface: str = ""
    ips: tuple[str, ...] = ()


class Claim(NamedTuple):
    """Hold what is kept of a ResourceClaim: its *devices*, none before it is allocated.

    *name_in_pod*: empty for one that was not made from a pod's template. *users*: (name, uid) of
    the pods that it is reserved for. *devices*: in the order in which the scheduler has them.
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
    """Choose the claim that the profile names by its name in the pod, else any with an address."""
    claims: list[Object] = (pod.get("spec") or {}).get("resourceClaims") or []
    if not claims:
        return Choice(problem="the pod has no resource claim, whose status could tell an address")
    named = profile.rendezvous.network
    if named is None:
        if all(map(podspec.is_compute_domain_channel, claims)):
            problem = "of a ComputeDomain's channel, which has no address"
            return Choice(problem=f"the pod has no resource claim but {problem}")
        return Choice(Attachment(NetworkDefinition("", ANY), ""))
    own = next(
        (claim for claim in claims if claim.get("name") in (named.name, f"fabric-{named.name}")),
        None,
    )
    if own is None or named.namespace:
        problem = f"meets on claim {named}, which the pod does not have"
        return Choice(problem=f"profile {profile.name} {problem}")
    name, interface = own.get("resourceClaimName") or own["name"], named.interface or ""
    network = Attachment(NetworkDefinition("", name), interface)
    return Choice(network, interfaces=(interface,) if interface else ())


def secondary(told: str, wanted: Wanted) -> Secondary:
    """Find the address in what `tell` has written; ``Secondary()`` while it may still be told."""
    problems: list[str] = []
    found = _addresses(told, wanted, problems)
    return Secondary(found[0]) if found else Secondary(problem=told_once(problems))


SOURCE = Source(WORDS, choose, secondary)


def is_told(told: str, wanted: Wanted, address: str) -> bool:
    """Tell whether the pod has this address too: one that was published stays while it is right."""
    return address in _addresses(told, wanted, [])


def read_claim(obj: Object) -> Claim:
    """Keep what matters of a ResourceClaim, whose status Kubernetes bounds.

    Raises TypeError, AttributeError for what is none.
    """
    metadata, status = obj["metadata"], obj.get("status") or {}
    users = [
        (user["name"], user["uid"])
        for user in status.get("reservedFor") or ()
        if user["resource"] == "pods"
    ]
    name_in_pod = str((metadata.get("annotations") or {}).get(POD_CLAIM_NAME) or "")[:MAX_NAME]
    return Claim(metadata["name"], name_in_pod, tuple(dict.fromkeys(users)), tuple(_devices(obj)))


def tell(claims: Iterable[Claim]) -> str:
    """Write what the claims of one pod tell as one text; empty before a driver told anything."""
    having = [each for each in claims if each.has_address]
    shown = sorted(having, key=lambda one: (one.name_in_pod, one.name))
    return orjson.dumps(shown, default=list).decode() if shown else ""


def _devices(obj: Object) -> Iterator[ClaimDevice]:
    """Yield the devices that are allocated now; the status may hold those of an earlier allocation.

    One with admin access belongs to another claim as well.
    """
    status = obj.get("status") or {}
    results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
    of_device = {_key(each): each.get("networkData") for each in status.get("devices") or ()}
    for result in results:
        if result.get("adminAccess"):
            continue
        driver, data = str(result.get("driver") or ""), of_device.get(_key(result))
        if data is None:
            yield ClaimDevice(driver)
            continue
        interface = str(data.get("interfaceName") or "")
        yield ClaimDevice(driver, True, interface, tuple(map(str, data.get("ips") or ())))


def _key(device: Object) -> tuple[Any, ...]:
    return device.get("driver"), device.get("pool"), device.get("device"), device.get("shareID")


def _addresses(told: str, wanted: Wanted, problems: list[str]) -> list[str]:
    """Return the address of each device that counts, in order; faults go to *problems*."""
    found: list[str] = []
    for name, name_in_pod, users, listed in orjson.loads(told or "[]"):
        devices = [ClaimDevice(*device) for device in listed]
        if wanted.name not in (ANY, name_in_pod or name):
            continue
        if len(users) > 1:
            why = f"reserved for {len(users)} pods, so that its addresses are no pod's own"
            problems.append(f"claim {name} is {why}")
            continue
        fitting = [one for one in devices if wanted.interface in ("", one.interface)]
        unnamed = [one for one in devices if wanted.interface and not one.interface]
        for device in (*fitting, *unnamed):
            if device.interface not in names.INTERFACES_OF_EVERY_POD:
                address = choose_address([*device.ips], wanted.family, problems)
                if address is not None:
                    found.append(str(address))
        if not (fitting or unnamed) and all(device.is_told for device in devices):
            there = ", ".join([device.interface for device in devices])
            problems.append(
                f"no device of claim {name} is interface {wanted.interface}: there is {there}"
            )
    return found
