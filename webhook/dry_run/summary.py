"""Say what the pods of each workload are together: roles, where they meet and train, problems."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

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

HALF_INJECTED = "half injected"
CANNOT_MEET = "cannot meet"
INJECTED = "injected"
_ALONE = "left alone"
_DENIED = "denied"
_PLURALS = {"worker": "workers", "candidate for rank 0": "candidates for rank 0"}
_POD_NETWORK = "the pod network"
_NODE_NETWORK = "the node's network"
_MOST_SHOWN = 60
_NUMBER = re.compile(r"\d+")
_IFNAME = names.ENV_NCCL_SOCKET_IFNAME
_SETS_INTERFACE = re.compile(rf"(?<![\w${{]){_IFNAME}\b")
"""In a command: ``export NCCL_SOCKET_IFNAME=eth0``, not ``$NCCL_SOCKET_IFNAME``."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Hold what the pods of one workload of the input are together.

    *source* is the object of the input, ``Job/train``; for plain pods, their job. *roles* counts
    all pods of each role, ``{"rank 0": 1, "worker": 3}``. *jobs* counts process groups. *agents* is
    where torchrun's agents meet, if their ranks meet elsewhere. *meets* and *trains* are of the
    ranks, ``net1 of default/rdma-net``. Each is empty if unknown, and if there is a *problem*:
    ``half injected`` or ``cannot meet``.
    """

    source: str
    namespace: str
    roles: dict[str, int]
    jobs: int
    agents: str
    meets: str
    trains: str
    problem: str
    warnings: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return one line: ``4 pods: 1 rank 0, 3 workers; meets and trains on net1 of …``."""
        number = sum(self.roles.values())
        text = f"{number} pods" if number > 1 else "1 pod"
        if len(self.roles) == 1 and not (self.meets or self.agents):
            text += f", {'all ' if number > 1 else ''}{next(iter(self.roles))}"
        else:
            jobs = f" in {self.jobs} jobs" if self.jobs > 1 else ""
            roles = self.roles.items()
            counted = [f"{n} {_PLURALS.get(role, role) if n > 1 else role}" for role, n in roles]
            text += f"{jobs}: {', '.join(counted)}"
        places = self.problem or self._places()
        return f"{text}; {places}" if places else text

    def _places(self) -> str:
        if not self.agents:
            return _on(meets=self.meets, trains=self.trains)
        ranks = _on(meet=self.meets, train=self.trains)
        return f"torchrun meets on {self.agents}{f', its ranks {ranks}' if ranks else ''}"

    def as_json(self) -> Object:
        """Return the entry of the document."""
        return {
            **{key: getattr(self, key) for key in ("source", "namespace", "roles", "jobs")},
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
    everyone = _Everyone(
        {(each.pod.namespace, each.pod.job) for each in members.values() if each.publishes},
        {
            (each.pod.namespace, podspec.own_name(each.pod.before)): each
            for each in members.values()
        },
    )
    return tuple(
        _summary(namespace, source, [members[id(pod)] for pod in found], everyone)
        for (namespace, source), found in group(pods).items()
        if source and any(pod.profile or not pod.allowed for pod in found)
    )


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

    *network* is where its address is, ``net1 of default/rdma-net``; *attached* maps its networks to
    interfaces. *needs*: what its wait step waits for. *asked*: all that its containers ask for.
    """

    def __init__(self, pod: PodResult) -> None:
        made, self.pod = pod.planned, pod
        annotations = podspec.annotations(made)
        is_denied = any(each.outcome is Outcome.DENIED for each in pod.decisions)
        is_marked = names.STATUS in annotations
        is_denied = is_denied or not pod.allowed
        self.state = _DENIED if is_denied else INJECTED if is_marked else _ALONE
        self.is_injected = self.state == INJECTED
        self.publishes = pod.rendezvous == "master" and self.is_injected
        self.is_out = podspec.labels(pod.before).get(names.PROFILE) == names.PROFILE_NONE
        own, containers = annotations.get(names.CONTAINER), podspec.containers(made)
        self.training: Object = next((each for each in containers if each.get("name") == own), {})
        network, _, rest = annotations.get(names.RENDEZVOUS_NETWORK, "").partition("@")
        self.interface = rest.rpartition("/")[0]
        self.network = f"{self.interface} of {network}" if self.interface else network
        self.attached = attached(made, pod.namespace)
        self.needs, self.asked = needs(made), asked(made)
        self.accelerators = _asks(self.asked, filter(is_accelerator, self.asked))

    def has(self, reason: Reason, step: str = "", outcome: Outcome | None = None) -> bool:
        """Tell whether a decision has this reason; step and outcome only count if given."""
        return any(
            each.reason is reason and step in ("", each.step) and outcome in (None, each.outcome)
            for each in self.pod.decisions
        )

    def interfaces(self) -> list[str]:
        """Return all interfaces that the pod has."""
        own = (self.interface, *(each for _, each in self.attached))
        return [*names.INTERFACES_OF_EVERY_POD, *dict.fromkeys(filter(None, own))]


class _Everyone(NamedTuple):
    """Hold the jobs of the whole input that publish an address, and its pods by name."""

    published: set[tuple[str, str]]
    named: Mapping[tuple[str, str], _Member]


def attached(pod: Object, namespace: str) -> list[tuple[str, str]]:
    """Return the networks that Multus attaches, with interfaces: ``[("default/net", "net1")]``."""
    value = "" if podspec.is_host_network(pod) else podspec.annotations(pod).get(names.NETWORKS, "")
    with suppress(ValueError):
        elements = enumerate(parse_networks(value, namespace).elements, 1)
        return [
            (f"{each.namespace}/{each.name}", each.interface or f"net{n}") for n, each in elements
        ]
    return []


def asked(pod: Object) -> dict[str, str]:
    """Return what the containers of a pod ask for together, ``{"nvidia.com/gpu": "8 + 8"}``."""
    found: dict[str, str] = {}
    for container in podspec.running_containers(pod):
        for name, quantity in {**podspec.requests(container), **podspec.limits(container)}.items():
            if quantity not in ("0", 0):
                found[name] = f"{found[name]} + {quantity}" if name in found else str(quantity)
    return found


def _asks(asked_for: Mapping[str, str], resources: Iterable[str]) -> str:
    return ", ".join(
        sorted(f"{name}: {asked_for[name]}" for name in resources if name in asked_for)
    )


def _summary(namespace: str, source: str, members: list[_Member], everyone: _Everyone) -> Summary:
    first = [each for each in members if each.publishes]
    keys = {each.pod.job for each in first}
    roles: Counter[str] = Counter()
    for each in members:
        roles[_role(each, has_first=bool(first), several=len(keys) > 1)] += each.pod.replicas
    (never, unseen), half = _waiting(members, everyone), [*_half_injected(members)]
    (agents, meets), (trains, unsure) = _meets(members), _trains(members)
    if problem := CANNOT_MEET if never else HALF_INJECTED if half else "":
        agents, meets, trains, unsure = "", "", "", []
    warnings = tuple(map(printable, (*never, *unseen, *half, *unsure)))
    jobs = sum(each.pod.replicas for each in first) if len(keys) == 1 else 1
    return Summary(source, namespace, dict(roles), jobs, agents, meets, trains, problem, warnings)


def _role(member: _Member, *, has_first: bool, several: bool) -> str:
    if not member.is_injected:
        return member.state
    if member.pod.rendezvous == "worker":
        return "worker"
    if member.pod.rendezvous:
        return "candidate for rank 0" if several else "rank 0"
    return "worker" if has_first and member.pod.system else INJECTED


def _meets(members: Sequence[_Member]) -> tuple[str, str]:
    """Return where torchrun's agents meet, empty if the ranks meet there too, and where ranks do.

    With c10d the agents meet at the endpoint's name, and rank 0 sends the ranks its own address.
    """
    if _left_out(members):
        return "", ""
    # templates of which some pod meets nobody
    apart = {each.pod.source for each in members if each.has(Reason.SINGLE_NODE)}
    injected = [each for each in members if each.is_injected]
    joined = [each for each in injected if each.pod.rendezvous and each.pod.source not in apart]
    if not joined:
        keep = [each.has(Reason.KEEPS_NAME, outcome=Outcome.SKIPPED) for each in members]
        return "", _POD_NETWORK if any(keep) else ""
    agents, places = "", dict[str, None]()
    for each in [each for each in joined if each.pod.rendezvous == "worker"] or joined:
        match meets_by(each.training):
            case "c10d":
                agents = _POD_NETWORK
                places.update((_sent_by(zero), None) for zero in joined if zero.publishes)
            case "static":
                given = given_variables(each.training)
                taken = filter(podspec.takes_rank_zero, podspec.env(each.training))
                is_moved = any(one["name"] in given for one in taken)
                places[each.network if is_moved else _POD_NETWORK] = None
            case "":
                is_moved = any(need.startswith("master-addr") for need in each.needs)
                places[each.network if is_moved else _POD_NETWORK] = None
    if any(each.has(Reason.HOST_NETWORK, "rendezvous") for each in injected):
        places[_POD_NETWORK] = None
    meets = " and ".join(filter(None, places))
    return "" if meets == agents else agents, meets


def _sent_by(zero: _Member) -> str:
    """Return where the ranks of a c10d job find rank 0; empty where its user decides that."""
    own = [each for each in podspec.env(zero.training) if each["name"] == "PET_LOCAL_ADDR"]
    if any(map(podspec.is_published, own)):
        return zero.network
    is_given = own or podspec.mentions(zero.training, "--local-addr", "--local_addr")
    return "" if is_given else _POD_NETWORK


def _trains(members: Sequence[_Member]) -> tuple[str, list[str]]:
    """Return where NCCL connects in all injected pods, empty if unknown; warn where it differs.

    NCCL connects on ``eth0`` but does not train there: devices without an interface, such as EFA's,
    carry the data.
    """
    if any(map(_sets_interface, members)):
        return "", []
    warnings = []
    if out := _left_out(members):
        warnings.append(
            f"label {names.PROFILE}={names.PROFILE_NONE} leaves {_named(out)} alone beside "
            "injected pods that ask for the same accelerators: "
            "if they train together, label all of them alike"
        )
    found: dict[tuple[str, ...], list[_Member]] = {}
    for each in members:
        if each.is_injected:
            found.setdefault(_nccl_interfaces(each), []).append(each)
    for choice, those in found.items():
        unwanted = {*choice}.intersection(names.INTERFACES_OF_EVERY_POD)
        if not unwanted or unwanted == {*choice}:
            continue
        value = podspec.env_value(those[0].training, _IFNAME) or ""
        wanted = _listed([each for each in choice if each not in unwanted])
        warnings.append(
            f"{_IFNAME}={value[:_MOST_SHOWN]} lets NCCL choose among {_listed(choice)} in "
            f"{_named(those)}: it may not use {wanted}; name one interface, or remove the variable"
        )
    if len(found) > 1 and not warnings and () not in found:
        each_in = ", ".join(f"{_listed(of)} in {_named(those)}" for of, those in found.items())
        remedy = f"set {_IFNAME} alike in all pods, or remove it"
        warnings.append(f"NCCL uses different interfaces: {each_in}; {remedy}")
    if len(found) != 1 or warnings:
        return "", warnings
    networks: dict[str, set[str]] = {}
    for member in members:
        networks.setdefault(member.interface, set()).add(member.network)
    taken = [one for one in next(iter(found)) if one not in names.INTERFACES_OF_EVERY_POD]
    places = [networks.get(one, set()) for one in taken]
    named = [min(of) if len(of) == 1 else one for one, of in zip(taken, places, strict=True)]
    return _listed(named), []


def _sets_interface(member: _Member) -> bool:
    """Tell whether a command sets NCCL's interface, over the variable of its container."""
    return any(
        _SETS_INTERFACE.search(text)
        for container in podspec.containers(member.pod.before)
        for text in (*(container.get("command") or ()), *(container.get("args") or ()))
    )


def _nccl_interfaces(member: _Member) -> tuple[str, ...]:
    """Return the interfaces among which NCCL chooses in a pod; empty where nothing there says."""
    if podspec.is_host_network(member.pod.planned):
        return (_NODE_NETWORK,)
    value = podspec.env_value(member.training, _IFNAME) or ""
    if len(value) < 2 or "$(" in value:
        return ()
    if found := tuple(each for each in member.interfaces() if nccl_may_use(value, each)):
        return found
    name = member.training.get("name")
    own = [each for each in podspec.containers(member.pod.before) if each.get("name") == name]
    is_ours = not any(podspec.has_env(each, _IFNAME) for each in own)
    # The annotation names no interface that GKE or a DRA driver makes: trust the webhook's value.
    return (value[1:],) if is_ours and value.startswith("=") else ()


def _waiting(members: Sequence[_Member], everyone: _Everyone) -> tuple[list[str], list[str]]:
    """Warn of pods whose rank 0 never publishes its address, and whose rank 0 is not admitted."""
    never: list[str] = []
    unseen: list[str] = []
    waiting: dict[tuple[str, str], list[_Member]] = {}
    for each in members:
        if each.is_injected and "master-addr" in each.needs:
            waiting.setdefault((each.pod.job, rank_zero(each.pod.planned)), []).append(each)
    for (job, name), those in waiting.items():
        namespace = those[0].pod.namespace
        if (namespace, job) in everyone.published or any(_may_be(each, name) for each in members):
            continue
        number = sum(each.pod.replicas for each in those)
        who = f"{number} pods wait" if number > 1 else "1 pod waits"
        text = f"{who} for the address of {name or 'rank 0'}, rank 0 of job {job}"
        zero = everyone.named.get((namespace, name))
        if zero is not None and zero.state != _DENIED:
            never.append(f"{text}, which publishes none{_why_none(zero)}")
        elif zero is not None:
            unseen.append(f"{text}, which is denied")
        elif any(each.state == _DENIED for each in members):
            unseen.append(f"{text}, which may be a denied pod")
        else:
            unseen.append(f"{text}, which is not in this input")
    return never, unseen


def _why_none(member: _Member) -> str:
    """Return why a pod takes no part in a rendezvous, or in anything."""
    found = (
        each.message
        for each in member.pod.decisions
        if each.step in ("rendezvous", "profile")
        and each.outcome in (Outcome.SKIPPED, Outcome.WARNED)
        and each.reason is not Reason.NO_SIZE
    )
    return "".join(f": {message}" for message in [*found][:1])


def rank_zero(pod: Object) -> str:
    """Return whom the wait step waits for, as it writes it for people; empty if for nobody."""
    found = podspec.init_containers(pod)
    waits = [each for each in found if each.get("name") == names.WAIT_CONTAINER]
    values = [podspec.env_value(wait, "FABRIC_INJECTOR_RANK_ZERO") for wait in waits]
    return next(filter(None, values), "")


def _may_be(member: _Member, rank_zero: str) -> bool:
    """Tell whether this pod stands for one of this name: the two differ only in numbers."""
    if member.pod.replicas == 1 or member.state == _DENIED:
        return False
    own = podspec.own_name(member.pod.before)
    return own != rank_zero and _NUMBER.sub("0", own) == _NUMBER.sub("0", rank_zero)


def _left_out(members: Sequence[_Member]) -> list[_Member]:
    """Return the pods that their label leaves alone beside injected ones of equal accelerators."""
    injected = {each.accelerators for each in members if each.is_injected}
    return [each for each in members if each.accelerators in injected - {""} and each.is_out]


def _half_injected(members: Iterable[_Member]) -> Iterator[str]:
    """Warn of the first pods that ask for the same accelerators and do not get the same.

    Only resources that injection asks for count: a role may need a licence of its own.
    """
    alike: dict[str, list[_Member]] = {}
    for each in members:
        if each.accelerators and each.state != _DENIED and not each.is_out:
            alike.setdefault(each.accelerators, []).append(each)
    for those in alike.values():
        before = [(each, asked(each.pod.before)) for each in those if each.is_injected]
        devices = {name for each, own in before for name, _ in each.asked.items() - own.items()}
        gets: dict[str, list[_Member]] = {}
        for each in those:
            found = [*sorted(key for key, _ in each.attached), _asks(each.asked, devices)]
            gets.setdefault(", ".join(filter(None, found)) if each.is_injected else "", []).append(
                each
            )
        if before and len(gets) > 1:
            (what, some), (other, others), *_ = gets.items()
            yield (
                f"{_named(some)} ({what or 'nothing'}) and {_named(others)} ({other or 'nothing'}) "
                "ask for the same accelerators and do not get the same: make them alike, also in "
                f"label {names.PROFILE}"
            )


def _named(members: Sequence[_Member]) -> str:
    """Name pods: ``bert-master-0``, ``3 pods from bert-worker-0 on``."""
    number = sum(each.pod.replicas for each in members)
    return f"{number} pods from {members[0].pod.name} on" if number > 1 else members[0].pod.name


def _listed(texts: Sequence[str]) -> str:
    *first, last = texts or ("",)
    return " and ".join((", ".join(first), last)) if first else last
