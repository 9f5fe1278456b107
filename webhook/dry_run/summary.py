"""Say what the pods of each workload are together: roles, where they meet and train, problems."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webhook.core import names, podspec
from webhook.core.accelerators import count_accelerators
from webhook.core.injection.wait import needs
from webhook.core.model import Object, Outcome, Reason
from webhook.core.networks.annotation import parse_networks
from webhook.core.printable import printable
from webhook.core.workloads.launchers import given_variables, meets_by

if TYPE_CHECKING:
    from webhook.dry_run.judge import PodResult

INJECTED, ALONE, DENIED = "injected", "left alone", "denied"
_PLURALS = {"worker": "workers", "candidate for rank 0": "candidates for rank 0"}
_POD_NETWORK = "the pod network"
_IFNAME = names.ENV_NCCL_SOCKET_IFNAME
_SETS_INTERFACE = re.compile(rf"(?<![\w${{]){_IFNAME}\b")
"""In a command: ``export NCCL_SOCKET_IFNAME=eth0``, not ``$NCCL_SOCKET_IFNAME``."""
_TOLD = ("source", "namespace", "roles", "agents", "meets", "trains", "problem")


@dataclass(frozen=True, slots=True)
class Summary:
    """Hold what the pods of one workload of the input are together.

    *source* is the object of the input, ``Job/train``; for plain pods, their job. *roles* counts
    all pods of each role, ``{"rank 0": 1, "worker": 3}``. *agents* is where torchrun's agents meet,
    if their ranks meet elsewhere. *meets* and *trains* are of the ranks, ``net1 of
    default/rdma-net``. Each is empty if unknown, if a pod is denied, and if there is a *problem*:
    ``half injected`` or ``cannot meet``.
    """

    source: str
    namespace: str
    pods: Sequence[PodResult]
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
        where = _on(meets=self.meets, trains=self.trains)
        if self.agents:
            ranks = _on(meet=self.meets, train=self.trains)
            where = f"torchrun meets on {self.agents}{f', its ranks {ranks}' if ranks else ''}"
        return "; ".join(filter(None, (who, self.problem or where)))

    def as_json(self) -> Object:
        """Return the entry of the document."""
        own = {key: getattr(self, key) for key in _TOLD} | {"warnings": list(self.warnings)}
        return {**own, "pods": sum(self.roles.values()), "summary": self.text}


def _on(**places: str) -> str:
    """Write what happens where, ``meets and trains on net1``."""
    verbs: dict[str, list[str]] = {}
    for verb, place in places.items():
        if place:
            verbs.setdefault(place, []).append(verb)
    return ", ".join(f"{' and '.join(each)} on {place}" for place, each in verbs.items())


def summarise(pods: Iterable[PodResult]) -> tuple[Summary, ...]:
    """Return a summary of each workload, in the input's order; saved pods of a job are one."""
    workloads: dict[tuple[str, str], list[_Member]] = {}
    for pod in pods:
        is_plain = pod.workload.startswith("Pod/") and pod.job
        source = f"Pods of job {pod.job}" if is_plain else pod.workload
        workloads.setdefault((source, pod.namespace), []).append(_Member(pod))
    everybody = [each for members in workloads.values() for each in members]
    published = {each.job for each in everybody if each.publishes}
    present = {each.key: each for each in everybody if each.state != DENIED}
    return tuple(
        _summary(*key, members, [*dict.fromkeys(_cannot_meet(members, published, present))])
        for key, members in workloads.items()
    )


class _Member:
    """Hold what was decided about one pod, as far as its workload is concerned.

    *network* is where its address is, ``net1 of default/rdma-net``; *places* names the networks of
    its other interfaces so too. *attached*: the names of the networks that Multus attaches.
    *waits_for*: the pod whose address it waits for. *job* and *key* are of the job and the pod.
    *skipped*: why its rendezvous is left as it is.
    *made*: the pod as it leaves admission, or would where the namespace only observes.
    """

    def __init__(self, pod: PodResult) -> None:
        self.pod, self.made = pod, pod.would_be or pod.after
        made = self.made
        annotations = podspec.annotations(made)
        self.state = INJECTED if names.STATUS in annotations else ALONE
        self.state = DENIED if pod.faults else self.state
        self.is_injected = self.state == INJECTED
        self.publishes = pod.rendezvous == "master" and self.is_injected
        self.job = (pod.namespace, pod.job)
        self.key = (pod.namespace, podspec.own_name(pod.before))
        own, containers = annotations.get(names.CONTAINER), podspec.containers(made)
        self.training: Object = next((each for each in containers if each.get("name") == own), {})
        network, _, rest = annotations.get(names.RENDEZVOUS_NETWORK, "").partition("@")
        interface = rest.rpartition("/")[0]
        self.network = f"{interface} of {network}" if interface else network
        attached = _attached(made, pod.namespace)
        self.attached = sorted(attached.values())
        self.places = {key: f"{key} of {name}" for key, name in attached.items()}
        self.places |= {interface: self.network} if interface else {}
        starts = [each for each in podspec.init_containers(made) if "master-addr" in needs(made)]
        told = (podspec.env_value(each, "FABRIC_INJECTOR_RANK_ZERO") for each in starts)
        self.waits_for = next(filter(None, told), "") if self.is_injected else ""
        asked = map(count_accelerators, podspec.running_containers(made))
        self.accelerators = tuple(filter(None, asked))
        of_rendezvous = [each for each in pod.decisions if each.step == "rendezvous"]
        self.skipped = {one.reason for one in of_rendezvous if one.outcome is Outcome.SKIPPED}
        is_out = podspec.labels(pod.before).get(names.PROFILE) == names.PROFILE_NONE
        self.is_out = is_out and not self.is_injected


def _attached(pod: Object, namespace: str) -> dict[str, str]:
    """Return the networks that Multus attaches, by interface: ``{"net1": "default/net"}``."""
    value = "" if podspec.is_host_network(pod) else podspec.annotations(pod).get(names.NETWORKS, "")
    with suppress(ValueError):
        elements = enumerate(parse_networks(value, namespace).elements, 1)
        return {
            each.interface or f"net{n}": f"{each.namespace}/{each.name}" for n, each in elements
        }
    return {}


def _summary(source: str, namespace: str, members: list[_Member], apart: list[str]) -> Summary:
    """Sum up *members*; *apart*: why they cannot meet."""
    jobs = {each.pod.job for each in members if each.publishes}
    roles: Counter[str] = Counter()
    for each in members:
        roles[_role(each, jobs)] += each.pod.replicas
    agents, meets, trains, half = *_meets(members), _trains(members), [*_half_injected(members)]
    problem = "cannot meet" if apart else "half injected" if half else ""
    injected = {each.accelerators for each in members if each.is_injected} - {()}
    # a workload starts only with all its pods; a label may leave some alone beside injected ones
    lacking = (
        each.state == DENIED or (each.is_out and each.accelerators in injected) for each in members
    )
    if problem or any(lacking):
        agents, meets, trains = "", "", ""
    warnings = tuple(map(printable, (*apart, *half)))
    pods = [each.pod for each in members]
    return Summary(source, namespace, pods, dict(roles), agents, meets, trains, problem, warnings)


def _role(member: _Member, jobs: set[str]) -> str:
    """Return the role of a pod, where pods of its workload are rank 0 of these *jobs*."""
    if not member.is_injected:
        return member.state
    if member.publishes:
        return "candidate for rank 0" if len(jobs) > 1 else "rank 0"
    return "worker" if member.pod.rendezvous or (jobs and member.pod.system) else INJECTED


def _meets(members: Sequence[_Member]) -> tuple[str, str]:
    """Return where torchrun's agents meet, empty if the ranks meet there too, and where ranks do.

    With c10d the agents meet at the endpoint's name, and rank 0 sends the ranks its own address.
    """
    # templates of which some pod meets nobody
    apart = {each.pod.source for each in members if Reason.SINGLE_NODE in each.skipped}
    injected = [each for each in members if each.is_injected]
    joined = [each for each in injected if each.pod.rendezvous and each.pod.source not in apart]
    if not joined:
        keeps_name = any(Reason.KEEPS_NAME in each.skipped for each in members)
        return "", _POD_NETWORK if keeps_name else ""
    agents, places = "", dict[str, None]()
    for each in [each for each in joined if each.pod.rendezvous == "worker"] or joined:
        backend = meets_by(each.training)
        if backend == "c10d":
            agents = _POD_NETWORK
            places.update((_sent_by(zero), None) for zero in joined if zero.publishes)
        elif backend in ("static", ""):
            places[_finds_rank_zero(each, by_option=bool(backend))] = None
    if any(Reason.HOST_NETWORK in each.skipped for each in injected):
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
    if podspec.is_host_network(member.made):
        return "the node's network"
    value = podspec.env_value(member.training, _IFNAME) or ""
    name, own = value.removeprefix("="), podspec.containers(member.pod.before)
    is_ours = value.startswith("=") and not any(podspec.has_env(each, _IFNAME) for each in own)
    # GKE or a DRA driver makes what no annotation names
    may_exist = is_ours and name not in names.INTERFACES_OF_EVERY_POD
    return member.places.get(name, name if may_exist else "")


def _cannot_meet(
    members: Iterable[_Member],
    published: set[tuple[str, str]],
    present: Mapping[tuple[str, str], _Member],
) -> Iterator[str]:
    """Warn of pods that wait for a rank 0 of this input that never publishes its address."""
    for each in members:
        zero = each.waits_for and present.get((each.pod.namespace, each.waits_for))
        if zero and each.job not in published:
            why = (
                f": {one.message}"
                for one in zero.pod.decisions
                if one.step in ("rendezvous", "profile")
                and one.outcome in (Outcome.SKIPPED, Outcome.WARNED)
                and one.reason is not Reason.NO_SIZE
            )
            who = f"rank 0 of job {each.pod.job}, {each.waits_for}"
            yield f"{who}, publishes no address{next(why, '')}"


def _half_injected(members: Iterable[_Member]) -> Iterator[str]:
    """Warn of the first pods that ask for as many accelerators and do not get the same."""
    alike: dict[tuple[int, ...], dict[str, _Member]] = {}
    for each in members:
        if each.accelerators and each.state != DENIED and not each.is_out:
            gets = (", ".join(each.attached) or "no network") if each.is_injected else "nothing"
            alike.setdefault(each.accelerators, {}).setdefault(gets, each)
    for found in alike.values():
        if len(found) > 1:
            some, others, *_ = (f"{each.pod.name} gets {gets}" for gets, each in found.items())
            yield (
                f"{some}, {others}, and both ask for the same accelerators: make them alike, "
                f"also in label {names.PROFILE}"
            )
