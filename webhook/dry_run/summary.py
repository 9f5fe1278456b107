"""Say what the pods of each workload are together: roles, where they meet and train, problems."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webhook.core import names, podspec
from webhook.core.accelerators import is_accelerator
from webhook.core.injection.environment import nccl_may_use
from webhook.core.injection.wait import needs
from webhook.core.model import Object, Outcome, Reason
from webhook.core.networks.annotation import parse_networks
from webhook.core.printable import printable
from webhook.core.workloads.launchers import given_variables, meets_by

if TYPE_CHECKING:
    from webhook.dry_run.judge import PodResult

_INJECTED, _ALONE, _DENIED = "injected", "left alone", "denied"
_PLURALS = {"worker": "workers", "candidate for rank 0": "candidates for rank 0"}
_POD_NETWORK = "the pod network"
_NODE_NETWORK = "the node's network"
_MOST_SHOWN = 60
_IFNAME = names.ENV_NCCL_SOCKET_IFNAME
_SETS_INTERFACE = re.compile(rf"(?<![\w${{]){_IFNAME}\b")
"""In a command: ``export NCCL_SOCKET_IFNAME=eth0``, not ``$NCCL_SOCKET_IFNAME``."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Hold what the pods of one workload of the input are together.

    *source* is the object of the input, ``Job/train``; for plain pods, their job. *roles* counts
    all pods of each role, ``{"rank 0": 1, "worker": 3}``. *agents* is where torchrun's agents meet,
    if their ranks meet elsewhere. *meets* and *trains* are of the ranks, ``net1 of
    default/rdma-net``. Each is empty if unknown, and if there is a *problem*: ``half injected`` or
    ``cannot meet``.
    """

    source: str
    namespace: str
    roles: dict[str, int]
    agents: str
    meets: str
    trains: str
    problem: str
    warnings: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return one line: ``4 pods: 1 rank 0, 3 workers; meets and trains on net1 of …``."""
        number = sum(self.roles.values())
        counted = [f"{n} {_PLURALS.get(of, of) if n > 1 else of}" for of, n in self.roles.items()]
        who = f"{number} pod{'s' if number > 1 else ''}: {', '.join(counted)}"
        return "; ".join(filter(None, (who, self.problem or self._places())))

    def _places(self) -> str:
        if not self.agents:
            return _on(meets=self.meets, trains=self.trains)
        ranks = _on(meet=self.meets, train=self.trains)
        return f"torchrun meets on {self.agents}{f', its ranks {ranks}' if ranks else ''}"

    def as_json(self) -> Object:
        """Return the entry of the document."""
        return {
            **{key: getattr(self, key) for key in ("source", "namespace", "roles")},
            "pods": sum(self.roles.values()),
            **{key: getattr(self, key) for key in ("agents", "meets", "trains", "problem")},
            "summary": self.text,
            "warnings": list(self.warnings),
        }


def _on(**places: str) -> str:
    """Write what happens where, ``meets and trains on net1``."""
    verbs: dict[str, list[str]] = {}
    for verb, place in places.items():
        if place:
            verbs.setdefault(place, []).append(verb)
    return ", ".join(f"{' and '.join(each)} on {place}" for place, each in verbs.items())


def summarise(pods: Sequence[PodResult]) -> tuple[Summary, ...]:
    """Return a summary of each workload that a profile is for, in the input's order."""
    members = {id(pod): _Member(pod) for pod in pods}
    published = {(pod.namespace, pod.job) for pod in pods if members[id(pod)].publishes}
    present = {
        (pod.namespace, podspec.own_name(pod.before)): members[id(pod)]
        for pod in pods
        if members[id(pod)].state != _DENIED
    }
    found = []
    for (namespace, source), own in group(pods).items():
        if source and any(pod.profile or not pod.allowed for pod in own):
            those = [members[id(pod)] for pod in own]
            cannot_meet = _cannot_meet(those, published, present)
            found.append(_summary(namespace, source, those, cannot_meet))
    return tuple(found)


def group(pods: Sequence[PodResult]) -> dict[tuple[str, str], list[PodResult]]:
    """Return the pods of each workload, by namespace and source as their summary has them."""
    workloads: dict[tuple[str, str], list[PodResult]] = {}
    for pod in pods:
        is_alone = pod.workload.startswith("Pod/") and pod.job
        source = f"Pods of job {pod.job}" if is_alone else pod.workload
        workloads.setdefault((pod.namespace, source), []).append(pod)
    return workloads


class _Member:
    """Hold what was decided about one pod, as far as its workload is concerned.

    *network* is where its address is, ``net1 of default/rdma-net``; *places* names the networks of
    its other interfaces so too. *attached*: the names of the networks that Multus attaches.
    """

    def __init__(self, pod: PodResult) -> None:
        made, self.pod = pod.planned, pod
        annotations = podspec.annotations(made)
        self.state = _INJECTED if names.STATUS in annotations else _ALONE
        if not pod.allowed or any(each.outcome is Outcome.DENIED for each in pod.decisions):
            self.state = _DENIED
        self.is_injected = self.state == _INJECTED
        self.publishes = pod.rendezvous == "master" and self.is_injected
        own, containers = annotations.get(names.CONTAINER), podspec.containers(made)
        self.training: Object = next((each for each in containers if each.get("name") == own), {})
        network, _, rest = annotations.get(names.RENDEZVOUS_NETWORK, "").partition("@")
        interface = rest.rpartition("/")[0]
        self.network = f"{interface} of {network}" if interface else network
        attached = _attached(made, pod.namespace)
        self.attached = sorted(attached.values())
        self.places = {key: f"{key} of {name}" for key, name in attached.items()}
        self.places |= {interface: self.network} if interface else {}
        self.waits = self.is_injected and "master-addr" in needs(made)
        self.accelerators = _accelerators(made)
        self.is_out = podspec.labels(pod.before).get(names.PROFILE) == names.PROFILE_NONE

    def skips(self, reason: Reason) -> bool:
        """Tell whether the pod's rendezvous is left as it is for this reason."""
        return any(
            each.reason is reason and each.step == "rendezvous" and each.outcome is Outcome.SKIPPED
            for each in self.pod.decisions
        )


def _attached(pod: Object, namespace: str) -> dict[str, str]:
    """Return the networks that Multus attaches, by interface: ``{"net1": "default/net"}``."""
    value = "" if podspec.is_host_network(pod) else podspec.annotations(pod).get(names.NETWORKS, "")
    with suppress(ValueError):
        elements = enumerate(parse_networks(value, namespace).elements, 1)
        return {
            each.interface or f"net{n}": f"{each.namespace}/{each.name}" for n, each in elements
        }
    return {}


def _accelerators(pod: Object) -> tuple[str, ...]:
    """Return what all containers ask for of accelerators, ``("nvidia.com/gpu: 8",)``."""
    asked = (
        {**podspec.requests(each), **podspec.limits(each)}.items()
        for each in podspec.running_containers(pod)
    )
    return tuple(
        sorted(
            f"{name}: {quantity}"
            for of_container in asked
            for name, quantity in of_container
            if is_accelerator(name) and quantity not in ("0", 0)
        )
    )


def _summary(namespace: str, source: str, members: list[_Member], apart: list[str]) -> Summary:
    """Sum up *members*; *apart*: why they cannot meet."""
    jobs = {each.pod.job for each in members if each.publishes}
    roles: Counter[str] = Counter()
    for each in members:
        roles[_role(each, jobs)] += each.pod.replicas
    agents, meets, trains, half = *_meets(members), _trains(members), [*_half_injected(members)]
    problem = "cannot meet" if apart else "half injected" if half else ""
    if problem or _leaves_out(members):
        agents, meets, trains = "", "", ""
    warnings = tuple(map(printable, (*apart, *half) if problem else _unsure(members)))
    return Summary(source, namespace, dict(roles), agents, meets, trains, problem, warnings)


def _role(member: _Member, jobs: set[str]) -> str:
    """Return the role of a pod, where pods of its workload are rank 0 of these *jobs*."""
    if not member.is_injected:
        return member.state
    if member.publishes:
        return "candidate for rank 0" if len(jobs) > 1 else "rank 0"
    return "worker" if member.pod.rendezvous or (jobs and member.pod.system) else _INJECTED


def _meets(members: Sequence[_Member]) -> tuple[str, str]:
    """Return where torchrun's agents meet, empty if the ranks meet there too, and where ranks do.

    With c10d the agents meet at the endpoint's name, and rank 0 sends the ranks its own address.
    """
    # templates of which some pod meets nobody
    apart = {each.pod.source for each in members if each.skips(Reason.SINGLE_NODE)}
    injected = [each for each in members if each.is_injected]
    joined = [each for each in injected if each.pod.rendezvous and each.pod.source not in apart]
    if not joined:
        keeps_name = any(each.skips(Reason.KEEPS_NAME) for each in members)
        return "", _POD_NETWORK if keeps_name else ""
    agents, places = "", dict[str, None]()
    for each in [each for each in joined if each.pod.rendezvous == "worker"] or joined:
        backend = meets_by(each.training)
        if backend == "c10d":
            agents = _POD_NETWORK
            places.update((_sent_by(zero), None) for zero in joined if zero.publishes)
        elif backend in ("static", ""):
            places[_finds_rank_zero(each, by_option=bool(backend))] = None
    if any(each.skips(Reason.HOST_NETWORK) for each in injected):
        places[_POD_NETWORK] = None
    meets = " and ".join(filter(None, places))
    return "" if meets == agents else agents, meets


def _finds_rank_zero(member: _Member, *, by_option: bool) -> str:
    """Return where a pod finds rank 0: by its address, if the variable that is read holds that."""
    taken = [each["name"] for each in podspec.env(member.training) if podspec.takes_rank_zero(each)]
    given = given_variables(member.training) if by_option else taken
    return member.network if {*taken} & {*given} else _POD_NETWORK


def _sent_by(zero: _Member) -> str:
    """Return where the ranks of a c10d job find rank 0; empty where its user decides that."""
    own = [each for each in podspec.env(zero.training) if each["name"] == "PET_LOCAL_ADDR"]
    if any(map(podspec.is_published, own)):
        return zero.network
    is_given = own or podspec.mentions(zero.training, "--local-addr", "--local_addr")
    return "" if is_given else _POD_NETWORK


def _trains(members: Sequence[_Member]) -> str:
    """Return where NCCL connects in all injected pods, empty if unknown.

    NCCL connects on ``eth0`` but does not train there: devices without an interface, such as EFA's,
    carry the data.
    """
    commands = (each for one in members for each in podspec.containers(one.pod.before))
    if any(_SETS_INTERFACE.search(text) for each in commands for text in podspec.argv(each)):
        return ""
    places = {_trains_on(each) for each in members if each.is_injected}
    return places.pop() if len(places) == 1 else ""


def _trains_on(member: _Member) -> str:
    if podspec.is_host_network(member.pod.planned):
        return _NODE_NETWORK
    value = _ifname(member)
    own = podspec.containers(member.pod.before)
    if value.startswith("=") and not any(podspec.has_env(each, _IFNAME) for each in own):
        return member.places.get(value[1:], value[1:])  # GKE or a DRA driver may make it
    found = _choice(value, member.places)
    return member.places.get(found[0], "") if len(found) == 1 else ""


def _ifname(member: _Member) -> str:
    return podspec.env_value(member.training, _IFNAME) or ""


def _choice(value: str, places: Iterable[str]) -> list[str]:
    """Return the interfaces that NCCL may use by its variable, none where that says nothing."""
    there = (*names.INTERFACES_OF_EVERY_POD, *places) if len(value) > 1 else ()
    return [each for each in there if "$(" not in value and nccl_may_use(value, each)]


def _unsure(members: Iterable[_Member]) -> Iterator[str]:
    """Warn of the first pod in which NCCL may use the pod network in place of the fabric."""
    for each in members:
        value = _ifname(each) if each.is_injected else ""
        found = _choice(value, each.places)
        fabric = [one for one in found if one in each.places]
        if fabric and len(fabric) < len(found):
            yield (
                f"{_IFNAME}={value[:_MOST_SHOWN]} lets NCCL choose among {', '.join(found)} in "
                f"{each.pod.name}: it may not use {fabric[0]}; name one interface, or remove the "
                "variable"
            )
            return


def _cannot_meet(
    members: Iterable[_Member],
    published: set[tuple[str, str]],
    present: Mapping[tuple[str, str], _Member],
) -> list[str]:
    """Warn of pods that wait for a rank 0 of this input that never publishes its address."""
    found: dict[str, None] = {}
    for each in members:
        pod, name = each.pod, _rank_zero(each.pod.planned)
        zero = present.get((pod.namespace, name))
        if each.waits and zero and (pod.namespace, pod.job) not in published:
            why = _why_none(zero)
            found[f"rank 0 of job {pod.job}, {name}, publishes no address{why}"] = None
    return [*found]


def _why_none(member: _Member) -> str:
    """Return why a pod takes no part in a rendezvous, or in anything."""
    found = (
        f": {each.message}"
        for each in member.pod.decisions
        if each.step in ("rendezvous", "profile")
        and each.outcome in (Outcome.SKIPPED, Outcome.WARNED)
        and each.reason is not Reason.NO_SIZE
    )
    return next(found, "")


def _rank_zero(pod: Object) -> str:
    """Return whom the wait step waits for, as it writes it for people; empty if for nobody."""
    found = podspec.init_containers(pod)
    waits = [each for each in found if each.get("name") == names.WAIT_CONTAINER]
    values = [podspec.env_value(wait, "FABRIC_INJECTOR_RANK_ZERO") for wait in waits]
    return next(filter(None, values), "")


def _leaves_out(members: Sequence[_Member]) -> bool:
    """Tell whether a label leaves pods alone beside injected ones of the same accelerators."""
    injected = {each.accelerators for each in members if each.is_injected} - {()}
    return any(each.is_out and each.accelerators in injected for each in members)


def _half_injected(members: Iterable[_Member]) -> Iterator[str]:
    """Warn of the first pods that ask for the same accelerators and do not get the same."""
    alike: dict[tuple[str, ...], dict[str, list[_Member]]] = {}
    for each in members:
        if each.accelerators and each.state != _DENIED and not each.is_out:
            gets = (", ".join(each.attached) or "no network") if each.is_injected else "nothing"
            alike.setdefault(each.accelerators, {}).setdefault(gets, []).append(each)
    for found in alike.values():
        if len(found) > 1:
            (what, some), (other, others), *_ = found.items()
            yield (
                f"{_named(some)} ({what}) and {_named(others)} ({other}) "
                "ask for the same accelerators and do not get the same: make them alike, also in "
                f"label {names.PROFILE}"
            )


def _named(members: Sequence[_Member]) -> str:
    """Name pods: ``bert-master-0``, ``3 pods from bert-worker-0 on``."""
    number = sum(each.pod.replicas for each in members)
    return f"{number} pods from {members[0].pod.name} on" if number > 1 else members[0].pod.name
