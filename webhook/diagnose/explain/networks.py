"""Say what Multus, or another source of addresses, gave each pod, and what keeps pods apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from webhook.core import names, podspec
from webhook.core.addresses import DEFAULT, MULTUS, Words, source_named
from webhook.core.model import Object
from webhook.core.networks import parse_networks
from webhook.core.reconcile import Member
from webhook.core.reconcile.complaint import BOUND_SECONDS
from webhook.core.reconcile.member import is_name
from webhook.diagnose.common import NETWORK_MISSING, selects
from webhook.diagnose.explain.job import ObservedJob
from webhook.diagnose.finding import Code, Finding, Level, Stage, ok
from webhook.diagnose.jobs import ObservedPod
from webhook.diagnose.snapshot import Snapshot, Unread
from webhook.diagnose.wording import common_form
from webhook.kube.catalogue import NETWORK_POLICIES, RESOURCE_CLAIMS
from webhook.kube.resource import Key

VOLUME_UNMOUNTED = Code(
    "volumes/volume-unmounted",
    "A volume of the pod cannot be mounted, and its network is made after that.",
    "create what is named, or correct the pod's volume; its network is made after that",
)
ADDRESSES_EXHAUSTED = Code(
    "networks/addresses-exhausted",
    "The network's IPAM has no address left.",
    "enlarge the range of the network's IPAM and restart the job, or free what former pods hold",
)
NETWORK_FAILED = Code(
    "networks/network-failed",
    "Multus or a CNI plugin could not make the pod's network.",
    "correct the NetworkAttachmentDefinition, or look at its CNI plugin and its IPAM on the node",
)
NETWORK_STATUS_MISSING = Code(
    "networks/network-status-missing",
    "Multus has written nothing about the pod's networks that can be read.",
    "is Multus running on the node, and is its configuration the first in /etc/cni/net.d?",
)
ADDRESS_MISSING = Code(
    "networks/address-missing",
    "The pod has no usable address on the network where the ranks meet.",
    "look at the network's IPAM, and at Multus' log",
)
INTERFACE_UNEXPECTED = Code(
    "interfaces/interface-unexpected",
    "The network came up on another interface than the variables of NCCL and Gloo name.",
    "set multus.defaultNetworks in the Configuration as Multus has it, then restart the job",
)
NETWORK_UNREADABLE = Code(
    "networks/network-unreadable",
    "The configuration of a NetworkAttachmentDefinition is not valid JSON, so no pod can use it.",
    "correct spec.config of the NetworkAttachmentDefinition, then restart the job",
)
ADDRESS_TWICE = Code(
    "networks/address-twice",
    "Two pods hold one address on a network, so packets reach the wrong one.",
    "give the network an IPAM that knows all nodes, such as whereabouts, then restart both pods",
)
POLICY_CUTS = Code(
    "networks/policy-cuts",
    "A NetworkPolicy keeps the pods of a job that meets on the pod network apart.",
    "let the NetworkPolicy allow traffic among the pods of the job",
)

_LOOK = "look at Multus' log on the pod's node"
_MULTUS = source_named(DEFAULT).words
_EXHAUSTED = re.compile(
    r"no IP addresses available|could not allocate IP in range|"
    r"no (?:free|available) (?:IP|address)|exhausted",
    re.IGNORECASE,
)
"""What host-local, whereabouts, nv-ipam and their like say where every address is taken."""
_SANDBOX = ("FailedCreatePodSandBox", "FailedCreatePodSandbox")
_VOLUME = ("FailedMount", "FailedAttachVolume", "FailedMapVolume")
_BEGUN_SECONDS = 15.0
"""Multus writes its annotation before the first container runs; to read it may take this long."""
_FRESH_SECONDS = 20.0
"""How long a volume may fail to come: the kubelet has yet to learn of Secrets and ConfigMaps."""


def what_is_attached(snapshot: Snapshot, job: ObservedJob) -> Iterator[Finding]:
    """Look at pods that are on a node."""
    failures, unmounted = job.last_words(*_SANDBOX), job.last_words(*_VOLUME)
    for pod in job.live:
        if not pod.node or podspec.is_host_network(pod.pod):
            continue
        failure = failures.get(pod.name, "")
        failure = common_form(failure.partition("desc = ")[2] or failure, pod.name)
        member = pod.member
        is_elsewhere = member is not None and member.source_name != DEFAULT
        is_reported = is_elsewhere and member is not None and member.reported
        if pod.name in unmounted and pod.attached is None and not is_reported:
            if job.seconds_bound(pod) >= _FRESH_SECONDS and pod.phase == "Pending":
                detail = common_form(unmounted[pod.name], pod.name)
                yield VOLUME_UNMOUNTED.fail(pod, "a volume of it cannot be mounted", detail=detail)
            continue
        if podspec.annotations(pod.pod).get(names.NETWORKS):
            yield from _attached(snapshot, job, pod, failure)
        if is_elsewhere and member is not None:
            yield from _elsewhere(snapshot, job, pod, member, failure)


def _attached(
    snapshot: Snapshot, job: ObservedJob, pod: ObservedPod, failure: str
) -> Iterator[Finding]:
    status = pod.attached
    if status is None and MULTUS.words.read(podspec.annotations(pod.pod)):
        message = f"annotation {names.NETWORK_STATUS} is not a list of networks"
        yield NETWORK_STATUS_MISSING.fail(pod, message, _LOOK)
        return
    asked = dict.fromkeys(_asked(pod, job.namespace))
    if not asked:
        return  # admission says what is wrong with it
    absent = [key for key in asked if not _may_exist(snapshot, key)]
    for namespace, name in absent:
        message = f"asks for network {namespace}/{name}, which does not exist"
        create = f"create NetworkAttachmentDefinition {name} in namespace {namespace}"
        action = f"{create}, or correct the name and restart the job"
        level: Level = "fail" if status is None else "warn"
        yield NETWORK_MISSING.found(level, pod, message, action)
    if status is None:
        if not absent and not any(key in snapshot.broken_networks for key in asked):
            yield _no_status(snapshot, job, pod, failure)
        return
    if pod.member is not None and pod.member.source_name == DEFAULT:
        yield from _address(pod.member, pod)


def _elsewhere(
    snapshot: Snapshot, job: ObservedJob, pod: ObservedPod, member: Member, failure: str
) -> Iterator[Finding]:
    """Look at the network where the ranks meet, where another source than Multus describes it."""
    has_networks = bool(podspec.annotations(pod.pod).get(names.NETWORKS))
    if member.reported:
        yield from _address(member, pod)
    elif (
        member.has_claims
        and not failure
        and snapshot.readable(partial(snapshot.by_key, RESOURCE_CLAIMS)) is None
    ):
        return  # they could not be read
    elif member.has_claims or pod.attached is not None or not has_networks:
        yield _no_status(snapshot, job, pod, failure, member.source.words)


def _no_status(
    snapshot: Snapshot, job: ObservedJob, pod: ObservedPod, failure: str, words: Words = _MULTUS
) -> Finding:
    if failure:
        code = ADDRESSES_EXHAUSTED if _EXHAUSTED.search(failure) else NETWORK_FAILED
        action = None if words is _MULTUS else words.look
        return code.fail(pod, "its network could not be made", action, detail=failure)
    if job.seconds_bound(pod) < (_BEGUN_SECONDS if pod.has_begun else BOUND_SECONDS):
        return ok("networks", pod, "has just been bound; its network is being made")
    since = "has begun" if pod.has_begun else "has been on its node for more than a minute"
    message = f"{since}, and {words.writer} has written no {words.told_at}"
    action = None if words is _MULTUS else words.look
    if job.events is None:
        action = "its Events say why: ask for list of events, or for somebody who has it"
    return NETWORK_STATUS_MISSING.fail(pod, message, action)


def _address(member: Member, pod: ObservedPod) -> Iterator[Finding]:
    """Look at the network on which the ranks meet."""
    if not member.wanted:
        return
    secondary, words = member.secondary, member.source.words
    is_multus = member.source_name == DEFAULT
    action = None if is_multus else words.look
    if secondary.problem:
        where = "" if is_multus else f", as {words.told_at} tells"
        message = f"network {member.wanted} gave no address that can be used{where}"
        detail = common_form(secondary.problem, pod.name)
        yield ADDRESS_MISSING.fail(pod, message, action, detail=detail)
    elif not secondary.address:
        message = f"has no address on {member.wanted}: {words.told_at} tells none"
        yield ADDRESS_MISSING.fail(pod, message, action)
    elif secondary.interface:
        found = f"network {member.wanted} came up on interface {secondary.interface}"
        message = f"{found}, and the socket variables name the other"
        yield INTERFACE_UNEXPECTED.fail(pod, message, stage=Stage.NETWORK)


_TOLD = {"interface": "interface", "network": "name", "addresses": "ips"}
"""Keys for programs, and those of network-status."""


def attached(pod: ObservedPod) -> list[Object]:
    """Return interface, name and addresses of each second network, as far as they are known."""
    found = [{key: each.get(its) for key, its in _TOLD.items()} for each in pod.attached or ()]
    member = pod.member
    if member is not None and member.source_name != DEFAULT and member.secondary.address:
        network, at, interface = member.wanted.rpartition("@")
        network, interface = (network, interface) if at else (interface, "")
        address = member.secondary.address
        found.append({"interface": interface, "network": network, "addresses": [address]})
    return [{**each, "addresses": each["addresses"] or []} for each in found]


def further_interfaces(pod: ObservedPod) -> set[str]:
    """Return the names of the pod's interfaces on second networks, as far as they are known."""
    return {str(entry["interface"]) for entry in attached(pod) if entry["interface"]}


# what is wrong with networks for all pods


def what_is_broken(snapshot: Snapshot, job: ObservedJob) -> Iterator[Finding]:
    """Name networks of the job whose CNI configuration is no JSON."""
    asked = {key for pod in job.live for key in _asked(pod, job.namespace)}
    for key in asked or tuple(snapshot.broken_networks):
        if _may_exist(snapshot, key) and (why := snapshot.broken_networks.get(key)):
            subject = f"NetworkAttachmentDefinition {'/'.join(key)}"
            yield NETWORK_UNREADABLE.fail(subject, f"its spec.config is not JSON: {why}")


def _may_exist(snapshot: Snapshot, key: Key) -> bool:
    """Tell whether a network exists, or cannot be read."""
    try:
        return snapshot.network(*key) is not None
    except Unread:
        return True


def _asked(pod: ObservedPod, namespace: str) -> Iterator[Key]:
    """Yield the networks of its annotation; of a broken one none."""
    with suppress(ValueError):
        text = podspec.annotations(pod.pod).get(names.NETWORKS) or ""
        yield from (
            (each.namespace, each.name) for each in parse_networks(text, namespace).elements
        )


def who_shares_an_address(_snapshot: Snapshot, job: ObservedJob) -> Iterator[Finding]:
    """Name pods that have one address on one second network: neither is reached for certain."""
    found: dict[tuple[str, str], list[str]] = {}
    for pod in job.live:
        if pod.member is not None and pod.member.secondary.address:
            network = pod.member.wanted.rpartition("@")[0] or pod.member.wanted
            found.setdefault((network, pod.member.secondary.address), []).append(pod.name)
    for (network, address), pods in found.items():
        if len(pods) > 1:
            others = " ".join(pods[1:])
            ipam = "let its IPAM know all nodes (whereabouts does, host-local does not)"
            command = f"kubectl delete pod -n {job.namespace} {others}"
            action = f"{ipam}, then delete all but one: {command}"
            message = f"has address {address} on network {network}, as others of its job have"
            yield ADDRESS_TWICE.fail(pods, message, action)


# NetworkPolicies


def what_policies_cut(snapshot: Snapshot, job: ObservedJob) -> Iterator[Finding]:
    """Name the NetworkPolicies that let no pod of the job reach others on the pod network.

    Second networks are not subject to them: only jobs that meet on the pod network are looked at.
    """
    pods = [pod for pod in job.live if not podspec.is_host_network(pod.pod)]
    if len(pods) < 2 or not any(meets_on_pod_network(pod) for pod in pods):
        return
    known = snapshot.of(job.namespace, NETWORK_POLICIES)
    for direction, field in (("Ingress", "from"), ("Egress", "to")):
        cut: dict[str, list[str]] = {}
        for pod in pods:
            chosen = [one for one in known if _selects(one, pod, direction, job)]
            rules = [rule for one in chosen for rule in one["spec"].get(direction.lower()) or ()]
            others = [each for each in pods if each is not pod]
            if chosen and not any(_lets(rule.get(field), others, job) for rule in rules):
                policies = ", ".join(sorted(one["metadata"]["name"] for one in chosen))
                cut.setdefault(policies, []).append(pod.name)
        for policies, apart in cut.items():
            is_in = field == "from"
            way = "let no other pod of the job reach it" if is_in else "keep it from others"
            message = f"NetworkPolicies ({policies}) {way} on the pod network, where the job meets"
            rule = f"{direction.lower()} of a NetworkPolicy in namespace {job.namespace}"
            action = f"let {rule} admit the pods of the job"
            yield POLICY_CUTS.fail(apart, message, action)


def meets_on_pod_network(pod: ObservedPod) -> bool:
    """Tell a pod whose variables hold rank 0's name, which means its address on the pod network."""
    member = pod.member
    if member is None or not member.wanted:
        return True
    if pod.is_master:
        return False
    return not member.takes_master_address or is_name(member.published.master_addr)


def _selects(policy: Object, pod: ObservedPod, direction: str, job: ObservedJob) -> bool:
    spec = policy.get("spec") or {}
    types = spec.get("policyTypes") or ["Ingress", *(["Egress"] if spec.get("egress") else [])]
    is_there = policy["metadata"].get("namespace") == job.namespace
    is_meant = selects(spec.get("podSelector"), podspec.labels(pod.pod))
    return is_there and direction in types and is_meant


def _lets(peers: Sequence[Object] | None, others: Iterable[ObservedPod], job: ObservedJob) -> bool:
    """Tell whether a rule may admit one of the *others*; addresses and ports may."""
    if not peers:
        return True
    return any(
        peer.get("ipBlock")
        or (
            selects(peer.get("namespaceSelector"), job.labels or {})
            and any(selects(peer.get("podSelector"), podspec.labels(pod.pod)) for pod in others)
        )
        for peer in peers
    )
