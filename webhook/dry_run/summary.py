"""Say of each workload what its pods are together: how many of each role, where they meet and train, and who waits for nobody."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webhook.core import names, podspec
from webhook.core.accelerators import find_pod_accelerator
from webhook.core.injection.wait import needs
from webhook.core.model import Object, Outcome, Reason
from webhook.core.printable import printable

if TYPE_CHECKING:
    from webhook.dry_run.judge import PodResult

_RANK_ZERO = "rank 0"
_CANDIDATE = "candidate for rank 0"
_WORKER = "worker"
_INJECTED = "injected"
_ALONE = "left alone"
_DENIED = "denied"
_PLURALS = {_WORKER: "workers", _CANDIDATE: "candidates for rank 0"}
_POD_NETWORK = "eth0"
_MOST_SHOWN = 60
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Summary:
    """Hold what the pods of one workload of the input are together.

    *source*: the object of the input, ``Job/train``; for pods that the input itself holds, their job. *roles*: pods of each role,
    ``{"rank 0": 1, "worker": 3}``, the pods that are not shown among them. *jobs*: process groups, each with a rank 0 of its own.
    *meets* and *trains*: the interfaces, ``net1 of default/rdma-net``; *meets* is ``the pod network`` where rank 0's address stays as
    the manifest has it; each is empty where nothing is known.
    """

    source: str
    namespace: str
    roles: dict[str, int]
    jobs: int
    meets: str
    trains: str
    warnings: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return one line: ``4 pods: 1 rank 0, 3 workers; meets and trains on net1 of default/rdma-net``."""
        number = sum(self.roles.values())
        text = f"{number} pods" if number > 1 else "1 pod"
        if len(self.roles) == 1 and not self.meets:
            text += f", all {next(iter(self.roles))}" if number > 1 else f", {next(iter(self.roles))}"
        else:
            jobs = f" in {self.jobs} jobs" if self.jobs > 1 else ""
            counted = [
                f"{count} {_PLURALS.get(role, role) if count > 1 else role}" for role, count in self.roles.items()
            ]
            text += f"{jobs}: {', '.join(counted)}"
        if self.meets and self.meets == self.trains:
            return f"{text}; meets and trains on {self.meets}"
        if self.meets:
            text += f"; meets on {self.meets}"
        return f"{text}{',' if self.meets else ';'} trains on {self.trains}" if self.trains else text

    def as_json(self) -> Object:
        """Return the entry of the document."""
        return {
            "source": self.source,
            "namespace": self.namespace,
            "pods": sum(self.roles.values()),
            "roles": self.roles,
            "jobs": self.jobs,
            "meets": self.meets,
            "trains": self.trains,
            "summary": self.text,
            "warnings": list(self.warnings),
        }


def summarise(pods: Sequence[PodResult]) -> tuple[Summary, ...]:
    """Return a summary of each workload, in the input's order; none for workloads that no profile is for."""
    published = {(pod.namespace, pod.job) for pod in pods if pod.allowed and pod.rendezvous == "master"}
    return tuple(
        _summary(namespace, source, members, published)
        for (namespace, source), members in group(pods).items()
        if source and any(member.profile or not member.allowed for member in members)
    )


def group(pods: Sequence[PodResult]) -> dict[tuple[str, str], list[PodResult]]:
    """Return the pods of each workload, by namespace and source as their summary has them."""
    workloads: dict[tuple[str, str], list[PodResult]] = {}
    for pod in pods:
        is_alone = pod.workload.startswith("Pod/") and pod.job
        source = f"Pods of job {pod.job}" if is_alone else pod.workload
        workloads.setdefault((pod.namespace, source), []).append(pod)
    return workloads


def _summary(namespace: str, source: str, pods: list[PodResult], published: set[tuple[str, str]]) -> Summary:
    first = [pod for pod in pods if pod.allowed and pod.rendezvous == "master"]
    keys = {pod.job for pod in first}
    roles: Counter[str] = Counter()
    for pod in pods:
        roles[_role(pod, has_first=bool(first), several=len(keys) > 1)] += pod.replicas
    jobs = sum(pod.replicas for pod in first) if len(keys) == 1 else 1
    return Summary(
        source,
        namespace,
        dict(roles),
        jobs,
        _meets(pods),
        _trains(pods),
        (*_lonely(pods, published), *_half_injected(pods)),
    )


def _role(pod: PodResult, *, has_first: bool, several: bool) -> str:
    if not pod.allowed:
        return _DENIED
    if pod.rendezvous:
        return _WORKER if pod.rendezvous == "worker" else _CANDIDATE if several else _RANK_ZERO
    is_injected = names.STATUS in podspec.annotations(pod.after) or any(
        decision.outcome is Outcome.INJECTED for decision in pod.decisions
    )
    if not is_injected:
        return _ALONE
    return _WORKER if has_first and pod.system else _INJECTED


def _meets(pods: Sequence[PodResult]) -> str:
    """Say where the members meet: at rank 0's secondary address where one waits for it; an address of its own moves no meeting."""
    members = [pod for pod in pods if pod.allowed and pod.rendezvous]
    for pod in members:
        if any(need.startswith("master-addr") for need in needs(pod.after)):
            network, interface = _network(pod.after)
            return f"{interface} of {network}" if interface else network
    return "the pod network" if members or any(map(_keeps_name, pods)) else ""


def _keeps_name(pod: PodResult) -> bool:
    """Tell a member that the profile leaves on the pod network."""
    return any(each.outcome is Outcome.SKIPPED and each.reason is Reason.KEEPS_NAME for each in pod.decisions)


def _network(pod: Object) -> tuple[str, str]:
    """Read network and interface from the annotation of the rendezvous network, ``default/rdma-net@net1/any``."""
    network, _, rest = podspec.annotations(pod).get(names.RENDEZVOUS_NETWORK, "").partition("@")
    return network, rest.rpartition("/")[0]


def _trains(pods: Iterable[PodResult]) -> str:
    """Say which interfaces NCCL takes in the training containers; empty where nothing was injected or nothing chooses one."""
    injected = [pod.after for pod in pods if pod.allowed and pod.after != pod.before]
    networks = {interface: f"{interface} of {network}" for network, interface in map(_network, injected) if interface}
    found = dict.fromkeys(filter(None, map(_interface, injected)))
    return " and ".join(networks.get(interface, interface) for interface in found)


def _interface(pod: Object) -> str:
    if podspec.is_host_network(pod):
        return "the node's network"
    wanted = podspec.annotations(pod).get(names.CONTAINER)
    training = (container for container in podspec.containers(pod) if container.get("name") == wanted)
    value = next((podspec.env_value(container, names.ENV_NCCL_SOCKET_IFNAME) for container in training), None) or ""
    if (
        value.removeprefix("=") == _POD_NETWORK
    ):  # NCCL's connections; its data has cards of its own, as with TCPXO and EFA
        return ""
    is_choice = value.startswith("^") or "," in value
    return (
        f"{names.ENV_NCCL_SOCKET_IFNAME}={value[:_MOST_SHOWN]}" if is_choice else value[:_MOST_SHOWN].removeprefix("=")
    )


def _lonely(pods: list[PodResult], published: set[tuple[str, str]]) -> Iterator[str]:
    """Warn of members that wait for a rank 0 which no pod of the input is."""
    waiting: Counter[tuple[str, str]] = Counter()
    for pod in pods:
        if pod.allowed and pod.rendezvous == "worker" and (pod.namespace, pod.job) not in published:
            zero = _rank_zero(pod.after)
            if "master-addr" in needs(pod.after) and not any(_may_be(other, zero) for other in pods):
                waiting[zero, pod.job] += pod.replicas
    denied = any(not pod.allowed for pod in pods)
    for (zero, job), number in waiting.items():
        who = f"{number} pods wait" if number > 1 else "1 pod waits"
        is_left = any(podspec.own_name(pod.before) == zero and _is_left_alone(pod) for pod in pods)
        why = "it is left alone" if is_left else "a denied pod may be it" if denied else "another manifest must make it"
        yield printable(
            f"{who} for the address of {zero or 'rank 0'}, rank 0 of job {job}, which no admitted pod of this input is: {why}"
        )


def _is_left_alone(pod: PodResult) -> bool:
    return _role(pod, has_first=False, several=False) == _ALONE


def _half_injected(pods: list[PodResult]) -> Iterator[str]:
    """Warn of pods that ask for an accelerator and are left alone beside injected ones: they lack the interface that those use."""
    able = [pod for pod in pods if pod.allowed and find_pod_accelerator(pod.before)]
    left = [pod for pod in able if _is_left_alone(pod)]
    alone = [pod for pod in left if podspec.labels(pod.before).get(names.PROFILE) != names.PROFILE_NONE]
    if alone and len(left) < len(able):
        number = sum(pod.replicas for pod in alone)
        who = (
            f"{number} pods that ask for an accelerator are" if number > 1 else "1 pod that asks for an accelerator is"
        )
        shown = f"{alone[0].name} first" if number > 1 else alone[0].name
        yield printable(
            f"{who} left alone while others are injected ({shown}): if they train together, give all of them the label "
            f"{names.PROFILE}, or all of them {names.PROFILE}={names.PROFILE_NONE}"
        )


def _rank_zero(pod: Object) -> str:
    """Read whom the wait step waits for, as it tells it to people."""
    waits = [each for each in podspec.init_containers(pod) if each.get("name") == names.WAIT_CONTAINER]
    return next(filter(None, (podspec.env_value(wait, "FABRIC_INJECTOR_RANK_ZERO") for wait in waits)), "")


def _may_be(pod: PodResult, rank_zero: str) -> bool:
    """Tell whether a pod that is not shown, but for which *pod* stands, may have this name: it differs in numbers alone."""
    if pod.replicas == 1 or not pod.allowed:
        return False
    own = podspec.own_name(pod.before)
    return own != rank_zero and _NUMBER.sub("0", own) == _NUMBER.sub("0", rank_zero)
