"""Say what Multus, or another source of addresses, gave each pod, against what its annotation asks for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from webhook.core import names, podspec
from webhook.core.addresses import DEFAULT, Words, multus, source_named
from webhook.core.model import Object
from webhook.core.networks import parse_networks
from webhook.core.reconcile import Member
from webhook.core.reconcile.complaint import BOUND_SECONDS
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.observation import Observation, Stage, common_form
from webhook.diagnose.explain.part import Part
from webhook.diagnose.explain.reading import Reading
from webhook.diagnose.explain.scheduling import event_time
from webhook.diagnose.finding import Level

_MULTUS = source_named(DEFAULT).WORDS
_EXHAUSTED = re.compile(
    r"no IP addresses available|could not allocate IP in range|no (?:free|available) (?:IP|address)|exhausted",
    re.IGNORECASE,
)
"""What host-local, whereabouts, nv-ipam and their like say where every address is taken."""
SANDBOX = ("FailedCreatePodSandBox", "FailedCreatePodSandbox")
_VOLUME = ("FailedMount", "FailedAttachVolume", "FailedMapVolume")
BEGUN_SECONDS = 15.0
"""Multus writes its annotation before the first container runs; to read it may take this long."""
_FRESH_SECONDS = 20.0
"""How long a volume may fail to come: the kubelet has yet to learn of Secrets and ConfigMaps."""


def observe(reading: Reading, parts: Iterable[Part]) -> Iterator[Observation]:
    """Look at pods that are on a node."""
    failures = failures_of_pods(reading.events or (), SANDBOX)
    unmounted = failures_of_pods(reading.events or (), _VOLUME)
    wanted: dict[
        str, tuple[tuple[str, str], ...] | None
    ] = {}  # by the annotation, which members of a job share
    for part in parts:
        if not part.is_live or not part.node or podspec.is_host_network(part.pod):
            continue
        asked = podspec.annotations(part.pod).get(names.NETWORKS)
        volume, failure = unmounted.get(part.name, ""), failures.get(part.name, "")
        elsewhere = None if part.member is None or _is_multus(part.member) else part.member
        if volume and part.attached is None and not (elsewhere is not None and elsewhere.reported):
            yield from _unmounted(reading, part, volume)
            continue
        if asked:
            if asked not in wanted:
                wanted[asked] = _networks_in(asked, reading.namespace)
            yield from _attached(reading, part, wanted[asked], failure)
        if elsewhere is not None:
            yield from _elsewhere(reading, part, elsewhere, failure)


def _unmounted(reading: Reading, part: Part, failure: str) -> Iterator[Observation]:
    if part.seconds_bound(reading) >= _FRESH_SECONDS and part.phase == "Pending":
        message = "a volume of it cannot be mounted"
        yield Observation(
            Stage.NETWORK, "fail", Code.VOLUME_UNMOUNTED, message, pods=(part.name,), detail=failure
        )


def _networks_in(asked: str, namespace: str) -> tuple[tuple[str, str], ...] | None:
    """Return namespace and name of each network that an annotation asks for; None where it cannot be read."""
    try:
        return tuple(
            (each.namespace, each.name) for each in parse_networks(asked, namespace).elements
        )
    except ValueError:
        return None


def _attached(
    reading: Reading, part: Part, asked: Sequence[tuple[str, str]] | None, failure: str
) -> Iterator[Observation]:
    pods = (part.name,)
    status = part.attached
    told = podspec.annotations(part.pod)
    if status is None and multus.WORDS.read(told):
        message = f"annotation {names.NETWORK_STATUS} is not a list of networks"
        yield Observation(Stage.NETWORK, "fail", Code.NETWORK_STATUS_UNREADABLE, message, pods=pods)
        return
    if asked is None:
        return  # what admission says of it is told
    absent = [key for key in dict.fromkeys(asked) if _is_absent(reading, key)]
    for namespace, name in absent:
        message = f"asks for network {namespace}/{name}, which does not exist"
        action = f"create NetworkAttachmentDefinition {name} in namespace {namespace}, or correct the name and restart the job"
        level: Level = "fail" if status is None else "warn"
        yield Observation(Stage.NETWORK, level, Code.NETWORK_MISSING, message, action, pods)
    if status is None:
        if not absent:
            yield from _no_status(reading, part, failure)
        return
    there = Counter(str(entry.get("name")) for entry in status)
    for key, number in Counter(f"{namespace}/{name}" for namespace, name in asked).items():
        if there[key] + there[key.partition("/")[2]] < number:
            message = f"asks for network {key} {_times(number)}, and annotation {names.NETWORK_STATUS} lists it {_times(there[key])}"
            yield Observation(Stage.NETWORK, "fail", Code.NETWORK_NOT_ATTACHED, message, pods=pods)
    if part.member is not None and _is_multus(part.member):
        yield from _address(part.member, part.name)


def _is_multus(member: Member) -> bool:
    return member.source_name == DEFAULT


def _elsewhere(reading: Reading, part: Part, member: Member, failure: str) -> Iterator[Observation]:
    """Look at the network on which the ranks meet, where its address comes from another source than Multus."""
    if member.reported:
        yield from _address(member, part.name)
    elif member.has_claims:
        if failure:  # else the claims say why
            yield from _no_status(reading, part, failure, member.source.WORDS)
    elif part.attached is not None or not podspec.annotations(part.pod).get(names.NETWORKS):
        # else it is told already that no network is made
        yield from _no_status(reading, part, failure, member.source.WORDS)


def _no_status(
    reading: Reading, part: Part, failure: str, words: Words = _MULTUS
) -> Iterator[Observation]:
    pods, seconds = (part.name,), part.seconds_bound(reading)
    if failure:
        code = Code.ADDRESSES_EXHAUSTED if _EXHAUSTED.search(failure) else Code.NETWORK_FAILED
        message = "its network could not be made"
        action = None if words is _MULTUS else words.look
        yield Observation(Stage.NETWORK, "fail", code, message, action, pods, detail=failure)
    elif seconds >= (BEGUN_SECONDS if part.has_begun else BOUND_SECONDS):
        since = "has begun" if part.has_begun else "has been on its node for more than a minute"
        message = f"{since}, and {words.writer} has written no {words.told_at}"
        action = words.unwritten
        if reading.events is None:
            action = (
                "its Events say why: ask for list of events, or let one who may read them run this"
            )
        yield Observation(Stage.NETWORK, "fail", Code.NETWORK_STATUS_MISSING, message, action, pods)
    else:
        message = "has just been bound; its network is being made"
        yield Observation(Stage.SUMMARY, "ok", Code.NETWORK_PENDING, message, pods=pods)


def _is_absent(reading: Reading, key: tuple[str, str]) -> bool:
    """Tell a network that was asked for and does not exist."""
    return reading.networks.get(key, {}) is None


def _address(member: Member, pod: str) -> Iterator[Observation]:
    """Look at the network on which the ranks meet."""
    if not member.wanted:
        return
    secondary, words, pods = member.secondary, member.source.WORDS, (pod,)
    action = None if _is_multus(member) else words.look
    if secondary.problem:
        problem = common_form(secondary.problem, pod)
        message = f"network {member.wanted} gave no address that can be used"
        if not _is_multus(member):
            message += f", as {words.told_at} tells"
        yield Observation(
            Stage.NETWORK, "fail", Code.ADDRESS_UNUSABLE, message, action, pods, detail=problem
        )
    elif not secondary.address:
        message = f"has no address on {member.wanted}: {words.told_at} tells none"
        yield Observation(Stage.NETWORK, "fail", Code.ADDRESS_MISSING, message, action, pods)
    elif secondary.interface:
        message = f"network {member.wanted} came up on interface {secondary.interface}, and the socket variables name the other"
        yield Observation(Stage.NETWORK, "fail", Code.INTERFACE_UNEXPECTED, message, pods=pods)


def attached_elsewhere(part: Part) -> Iterator[Object]:
    """Yield the network on which the ranks meet, where another than Multus has made it."""
    member = part.member
    if member is not None and not _is_multus(member) and member.secondary.address:
        network, at, interface = member.wanted.rpartition("@")
        network, interface = (network, interface) if at else (interface, "")
        yield {"interface": interface, "network": network, "addresses": [member.secondary.address]}


def further_interfaces(part: Part) -> set[str]:
    """Return the names of the pod's interfaces on second networks, as far as they are told."""
    attached = (*(part.attached or ()), *attached_elsewhere(part))
    return {str(entry.get("interface")) for entry in attached if entry.get("interface")}


def failures_of_pods(events: Iterable[Object], reasons: Collection[str]) -> Mapping[str, str]:
    """Return what was last said of each pod for one of the reasons, by pod name, without ids."""
    found = {}
    for event in sorted((each for each in events if each.get("reason") in reasons), key=event_time):
        pod = str((event.get("involvedObject") or {}).get("name"))
        text = str(event.get("message") or "")
        found[pod] = common_form(text.partition("desc = ")[2] or text, pod)
    return found


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
