"""Say of each workload what its pods are together: how many of each role, where they meet and train, and what keeps them from it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from webhook.core import names, podspec
from webhook.core.accelerators import is_accelerator
from webhook.core.injection.environment import nccl_may_use
from webhook.core.injection.fixed_settings import INTERFACES
from webhook.core.injection.wait import needs
from webhook.core.model import Object, Outcome, Reason
from webhook.core.networks.annotation import parse_networks
from webhook.core.printable import printable
from webhook.core.workloads.launchers import given_variables, meets_by

if TYPE_CHECKING:
    from webhook.dry_run.judge import PodResult

HALF_INJECTED = "half injected"
CANNOT_MEET = "cannot meet"
_RANK_ZERO = "rank 0"
_CANDIDATE = "candidate for rank 0"
_WORKER = "worker"
_INJECTED = "injected"
_ALONE = "left alone"
_DENIED = "denied"
_PLURALS = {_WORKER: "workers", _CANDIDATE: "candidates for rank 0"}
_POD_NETWORK = "the pod network"
_NODE_NETWORK = "the node's network"
_MOST_SHOWN = 60
_NUMBER = re.compile(r"\d+")
_SETS_INTERFACE = re.compile(rf"(?<![\w${{]){names.ENV_NCCL_SOCKET_IFNAME}\b")
"""In a command: ``export NCCL_SOCKET_IFNAME=eth0``, ``mpirun -x NCCL_SOCKET_IFNAME``, not ``$NCCL_SOCKET_IFNAME``."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Hold what the pods of one workload of the input are together.

    *source*: the object of the input, ``Job/train``; for pods that the input itself holds, their job. *roles*: pods of each role,
    ``{"rank 0": 1, "worker": 3}``, the pods that are not shown among them. *jobs*: process groups, each with a rank 0 of its own.
    *agents*: where torchrun's agents meet, where their ranks meet elsewhere. *meets* and *trains*: of the ranks,
    ``net1 of default/rdma-net``. Each is empty where nothing is known, and where there is a *problem*: ``half injected`` or
    ``cannot meet``.
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
        """Return one line: ``4 pods: 1 rank 0, 3 workers; meets and trains on net1 of default/rdma-net``."""
        number = sum(self.roles.values())
        text = f"{number} pods" if number > 1 else "1 pod"
        if len(self.roles) == 1 and not (self.meets or self.agents):
            text += (
                f", all {next(iter(self.roles))}" if number > 1 else f", {next(iter(self.roles))}"
            )
        else:
            jobs = f" in {self.jobs} jobs" if self.jobs > 1 else ""
            counted = [
                f"{count} {_PLURALS.get(role, role) if count > 1 else role}"
                for role, count in self.roles.items()
            ]
            text += f"{jobs}: {', '.join(counted)}"
        places = self.problem or self._places()
        return f"{text}; {places}" if places else text

    def _places(self) -> str:
        if self.agents:
            ranks = _on((("meet", self.meets), ("train", self.trains)))
            return f"torchrun meets on {self.agents}{f', its ranks {ranks}' if ranks else ''}"
        return _on((("meets", self.meets), ("trains", self.trains)))

    def as_json(self) -> Object:
        """Return the entry of the document."""
        return {
            "source": self.source,
            "namespace": self.namespace,
            "pods": sum(self.roles.values()),
            "roles": self.roles,
            "jobs": self.jobs,
            "agents": self.agents,
            "meets": self.meets,
            "trains": self.trains,
            "problem": self.problem,
            "summary": self.text,
            "warnings": list(self.warnings),
        }


def _on(done: Iterable[tuple[str, str]]) -> str:
    """Write what is done where, ``meets and trains on net1``."""
    verbs: dict[str, list[str]] = {}
    for verb, place in done:
        if place:
            verbs.setdefault(place, []).append(verb)
    return ", ".join(f"{' and '.join(each)} on {place}" for place, each in verbs.items())


def summarise(pods: Sequence[PodResult]) -> tuple[Summary, ...]:
    """Return a summary of each workload, in the input's order; none for workloads that no profile is for."""
    members = {id(pod): _member(pod) for pod in pods}
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


class _Member(NamedTuple):
    """Hold what was decided about one pod, as far as its workload is concerned.

    *training*: its training container. *network*: where its address is, ``net1 of default/rdma-net``. *interfaces*: all that it has.
    *needs*: what its wait step waits for. *accelerators*: what it asks for. *facts*: what is the same in all pods that train
    together, by its name. *asked*: all that it asks for, and *given*: what of that injection asks for.
    """

    pod: PodResult
    state: str
    training: Object
    network: str
    interfaces: Sequence[str]
    needs: Sequence[str]
    accelerators: str
    facts: Mapping[str, str]
    asked: Mapping[str, str]
    given: Collection[str]

    def facts_with(self, devices: Collection[str]) -> Mapping[str, str]:
        """Return the facts, with how many of these devices the pod asks for."""
        asks = [f"{name}: {self.asked[name]}" for name in sorted(devices) if name in self.asked]
        return {**self.facts, "devices": ", ".join(asks)}

    @property
    def publishes(self) -> bool:
        """Tell whether the controller publishes the pod's address to the members of its job."""
        return self.pod.rendezvous == "master" and self.state == _INJECTED


class _Everyone(NamedTuple):
    """Hold the pods of the whole input: the jobs for which one of them publishes, and each by its name; both by namespace."""

    published: set[tuple[str, str]]
    named: Mapping[tuple[str, str], _Member]


def _member(pod: PodResult) -> _Member:
    made = pod.planned
    annotations = podspec.annotations(made)
    is_denied = not pod.allowed or any(each.outcome is Outcome.DENIED for each in pod.decisions)
    state = _DENIED if is_denied else _INJECTED if names.STATUS in annotations else _ALONE
    own = annotations.get(names.CONTAINER)
    network, interface = _network(made)
    attached = _attached(made, pod.namespace)
    asked = _asked(made)
    accelerators = [f"{name}: {number}" for name, number in asked.items() if is_accelerator(name)]
    before = _asked(pod.before)
    return _Member(
        pod,
        state,
        next((each for each in podspec.containers(made) if each.get("name") == own), {}),
        f"{interface} of {network}" if interface else network,
        [*INTERFACES, *dict.fromkeys(filter(None, (interface, *(each for _, each in attached))))],
        needs(made),
        ", ".join(sorted(accelerators)),
        {
            "training system": pod.system,
            "number of nodes": "one" if _is_one_node(pod) else "several",
            "networks": ", ".join(sorted(key for key, _ in attached)),
        },
        asked,
        {name for name, number in asked.items() if before.get(name) != number},
    )


def _is_one_node(pod: PodResult) -> bool:
    """Tell a pod that meets nobody, by its decisions."""
    return any(each.reason is Reason.SINGLE_NODE for each in pod.decisions)


def _network(pod: Object) -> tuple[str, str]:
    """Read network and interface from the annotation of the rendezvous network, ``default/rdma-net@net1/any``."""
    network, _, rest = podspec.annotations(pod).get(names.RENDEZVOUS_NETWORK, "").partition("@")
    return network, rest.rpartition("/")[0]


def _attached(pod: Object, namespace: str) -> list[tuple[str, str]]:
    """Return the networks that Multus attaches, each with its interface: ``[("default/rdma-net", "net1")]``."""
    value = "" if podspec.is_host_network(pod) else podspec.annotations(pod).get(names.NETWORKS, "")
    with suppress(ValueError):
        elements = enumerate(parse_networks(value, namespace).elements, 1)
        return [
            (f"{each.namespace}/{each.name}", each.interface or f"net{number}")
            for number, each in elements
        ]
    return []


def _asked(pod: Object) -> dict[str, str]:
    """Return what the containers of a pod ask for together, ``{"nvidia.com/gpu": "8"}``; the numbers of several are listed."""
    found: dict[str, str] = {}
    for container in podspec.running_containers(pod):
        for name, quantity in {**podspec.requests(container), **podspec.limits(container)}.items():
            if quantity not in ("0", 0):
                found[name] = f"{found[name]} + {quantity}" if name in found else str(quantity)
    return found


def _summary(namespace: str, source: str, members: list[_Member], everyone: _Everyone) -> Summary:
    """Put together what was decided about each pod of one workload."""
    first = [each for each in members if each.publishes]
    keys = {each.pod.job for each in first}
    roles: Counter[str] = Counter()
    for each in members:
        roles[_role(each, has_first=bool(first), several=len(keys) > 1)] += each.pod.replicas
    (never, unseen), half = _waiting(members, everyone), [*_half_injected(members)]
    (agents, meets), (trains, unsure) = _meets(members), _trains(members)
    cannot_meet = bool(never) or any(map(_never_meets, members))
    if problem := CANNOT_MEET if cannot_meet else HALF_INJECTED if half else "":
        agents, meets, trains, unsure = "", "", "", []
    warnings = tuple(map(printable, (*never, *unseen, *half, *unsure)))
    jobs = sum(each.pod.replicas for each in first) if len(keys) == 1 else 1
    return Summary(source, namespace, dict(roles), jobs, agents, meets, trains, problem, warnings)


def _role(member: _Member, *, has_first: bool, several: bool) -> str:
    if member.state != _INJECTED:
        return member.state
    if member.pod.rendezvous:
        return (
            _WORKER if member.pod.rendezvous == "worker" else _CANDIDATE if several else _RANK_ZERO
        )
    return _WORKER if has_first and member.pod.system else _INJECTED


def _meets(members: Sequence[_Member]) -> tuple[str, str]:
    """Say where torchrun's agents meet, empty where the ranks meet there too, and where the ranks do: where they look for rank 0.

    With c10d the agents meet at the name of the endpoint, and rank 0 tells the ranks its own address.
    """
    if _left_out(members):
        return "", ""
    apart = {
        each.pod.source for each in members if _is_one_node(each.pod)
    }  # templates of pods that meet nobody
    joined = [
        each
        for each in members
        if each.state == _INJECTED and each.pod.rendezvous and each.pod.source not in apart
    ]
    if not joined:
        return "", _POD_NETWORK if any(map(_keeps_name, members)) else ""
    agents: dict[str, None] = {}
    places: dict[str, None] = {}
    for each in [each for each in joined if each.pod.rendezvous == "worker"] or joined:
        match meets_by(each.training):
            case "c10d":
                agents[_POD_NETWORK] = None
                places.update((_told_by(zero), None) for zero in joined if zero.publishes)
            case "static":
                given = given_variables(each.training)
                is_moved = any(
                    podspec.is_published(one) and one["name"] in given
                    for one in podspec.env(each.training)
                )
                places[each.network if is_moved else _POD_NETWORK] = None
            case "":
                is_moved = any(need.startswith("master-addr") for need in each.needs)
                places[each.network if is_moved else _POD_NETWORK] = None
    if any(map(_looks_from_the_node, members)):
        places[_POD_NETWORK] = None
    meets = " and ".join(filter(None, places))
    return "" if meets in agents else "".join(agents), meets


def _told_by(zero: _Member) -> str:
    """Return where the ranks of a c10d job find rank 0; empty where its user says it."""
    if "local-addr:own" in zero.needs:
        return zero.network
    is_said = podspec.has_env(zero.training, "PET_LOCAL_ADDR") or podspec.mentions(
        zero.training, "--local-addr", "--local_addr"
    )
    return "" if is_said else _POD_NETWORK


def _never_meets(member: _Member) -> bool:
    """Tell a member of which a decision says that its own command can never meet rank 0."""
    return any(
        each.step == "rendezvous" and each.reason is Reason.DISAGREES
        for each in member.pod.decisions
    )


def _looks_from_the_node(member: _Member) -> bool:
    """Tell a member that is given no address, since it is on the node's network."""
    skipped = any(
        each.step == "rendezvous" and each.reason is Reason.HOST_NETWORK
        for each in member.pod.decisions
    )
    return skipped and member.state == _INJECTED


def _keeps_name(member: _Member) -> bool:
    """Tell a member that the profile leaves on the pod network."""
    return any(
        each.outcome is Outcome.SKIPPED and each.reason is Reason.KEEPS_NAME
        for each in member.pod.decisions
    )


def _trains(members: Sequence[_Member]) -> tuple[str, list[str]]:
    """Say on which interfaces NCCL connects in all injected pods, empty where that is not known of each, and warn where it differs.

    ``eth0`` is where NCCL connects, and not where it trains: devices such as EFA's, which have no interface, carry the data.
    """
    if any(map(_sets_interface, members)):
        return "", []
    found: dict[tuple[str, ...], list[_Member]] = {}
    warnings = []
    if out := _left_out(members):
        warnings.append(
            f"label {names.PROFILE}={names.PROFILE_NONE} leaves {_named(out)} alone beside injected pods that ask for the same "
            "accelerators: if they train together, label all of them alike"
        )
    for each in members:
        if each.state == _INJECTED:
            found.setdefault(_nccl_interfaces(each), []).append(each)
    for choice, those in found.items():
        if (
            len(choice) > 1
            and (lacking := [one for one in choice if one not in INTERFACES])
            and lacking != [*choice]
        ):
            value = podspec.env_value(those[0].training, names.ENV_NCCL_SOCKET_IFNAME) or ""
            warnings.append(
                f"{names.ENV_NCCL_SOCKET_IFNAME}={value[:_MOST_SHOWN]} lets NCCL choose among {_listed(choice)} in {_named(those)}: "
                f"it may not use {_listed(lacking)}; name one interface, or remove the variable"
            )
    if len(found) > 1 and not warnings and () not in found:
        differing = ", ".join(
            f"{_listed(choice)} in {_named(those)}" for choice, those in found.items()
        )
        warnings.append(
            f"NCCL uses different interfaces: {differing}; set {names.ENV_NCCL_SOCKET_IFNAME} alike in all pods, or remove it"
        )
    if len(found) != 1 or warnings:
        return "", warnings
    networks: dict[str, set[str]] = {}
    for each in members:
        networks.setdefault(_network(each.pod.planned)[1], set()).add(each.network)
    taken = [one for one in next(iter(found)) if one not in INTERFACES]
    return _listed(
        [next(iter(networks[one])) if len(networks.get(one, ())) == 1 else one for one in taken]
    ), warnings


def _sets_interface(member: _Member) -> bool:
    """Tell whether a command sets NCCL's interface after the variables of its container, for its own ranks or mpirun's."""
    return any(
        _SETS_INTERFACE.search(text)
        for container in podspec.containers(member.pod.before)
        for text in (*(container.get("command") or ()), *(container.get("args") or ()))
    )


def _nccl_interfaces(member: _Member) -> tuple[str, ...]:
    """Return the interfaces among which NCCL chooses in a pod; empty where nothing there says it."""
    if podspec.is_host_network(member.pod.planned):
        return (_NODE_NETWORK,)
    value = podspec.env_value(member.training, names.ENV_NCCL_SOCKET_IFNAME) or ""
    if len(value) < 2 or "$(" in value:
        return ()
    if found := tuple(each for each in member.interfaces if nccl_may_use(value, each)):
        return found
    own = [
        each
        for each in podspec.containers(member.pod.before)
        if each.get("name") == member.training.get("name")
    ]
    is_ours = not any(podspec.has_env(each, names.ENV_NCCL_SOCKET_IFNAME) for each in own)
    # The annotation says nothing of interfaces that GKE or a DRA driver makes: one that the webhook names is there.
    return (value[1:],) if is_ours and value.startswith("=") else ()


def _waiting(members: Sequence[_Member], everyone: _Everyone) -> tuple[list[str], list[str]]:
    """Warn of pods that wait for the address of one that never publishes it, and of those whose rank 0 is not among the admitted."""
    never: list[str] = []
    unseen: list[str] = []
    waiting: dict[tuple[str, str], list[_Member]] = {}
    for each in members:
        if each.state == _INJECTED and "master-addr" in each.needs:
            waiting.setdefault((each.pod.job, _rank_zero(each.pod.planned)), []).append(each)
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
    """Give the reason of the decision that a pod takes no part in a rendezvous, or in anything."""
    steps, outcomes = ("rendezvous", "profile"), (Outcome.SKIPPED, Outcome.WARNED)
    found = [
        each
        for each in member.pod.decisions
        if each.step in steps and each.outcome in outcomes and each.reason is not Reason.NO_SIZE
    ]
    return f": {found[0].message}" if found else ""


def _rank_zero(pod: Object) -> str:
    """Read whom the wait step waits for, as it tells it to people."""
    waits = [
        each for each in podspec.init_containers(pod) if each.get("name") == names.WAIT_CONTAINER
    ]
    return next(
        filter(None, (podspec.env_value(wait, "FABRIC_INJECTOR_RANK_ZERO") for wait in waits)), ""
    )


def _may_be(member: _Member, rank_zero: str) -> bool:
    """Tell whether a pod that is not shown, but for which this one stands, may have this name: it differs in numbers alone."""
    if member.pod.replicas == 1 or member.state == _DENIED:
        return False
    own = podspec.own_name(member.pod.before)
    return own != rank_zero and _NUMBER.sub("0", own) == _NUMBER.sub("0", rank_zero)


def _is_out(member: _Member) -> bool:
    return podspec.labels(member.pod.before).get(names.PROFILE) == names.PROFILE_NONE


def _left_out(members: Sequence[_Member]) -> list[_Member]:
    """Return the pods that their label leaves alone, though injected ones ask for the same accelerators."""
    injected = {each.accelerators for each in members if each.state == _INJECTED}
    return [each for each in members if each.accelerators in injected - {""} and _is_out(each)]


def _half_injected(members: Iterable[_Member]) -> Iterator[str]:
    """Warn of pods that ask for the same accelerators and do not get the same; of those whose label says ``none``, nobody asks it."""
    alike: dict[str, list[_Member]] = {}
    for each in members:
        if each.accelerators and each.state != _DENIED and not _is_out(each):
            alike.setdefault(each.accelerators, []).append(each)
    for those in alike.values():
        alone = [each for each in those if each.state == _ALONE]
        injected = [each for each in those if each.state == _INJECTED]
        if alone and injected:
            yield (
                f"pods that ask for the same accelerators are injected ({_named(injected)}) and left alone ({_named(alone)}): "
                f"if they train together, give all of them the label {names.PROFILE}, or all {names.PROFILE}={names.PROFILE_NONE}"
            )
        # what users ask for besides is no half injection: a role may need a licence or a fuse
        devices = {name for each in injected for name in each.given}
        for other in injected[1:]:
            first, second = injected[0].facts_with(devices), other.facts_with(devices)
            fact = next((fact for fact, value in first.items() if second[fact] != value), "")
            if (
                fact and other.pod.source != injected[0].pod.source
            ):  # pods of one template are what their user made alike
                told = " and ".join(
                    f"{facts[fact] or 'none'} ({each.pod.name})"
                    for facts, each in ((first, injected[0]), (second, other))
                )
                yield f"pods that ask for the same accelerators differ in {fact}: {told}; if they train together, make them alike"
                break


def _named(members: Sequence[_Member]) -> str:
    """Name pods: ``bert-master-0``, ``3 pods from bert-worker-0 on``."""
    number = sum(each.pod.replicas for each in members)
    return f"{number} pods from {members[0].pod.name} on" if number > 1 else members[0].pod.name


def _listed(texts: Sequence[str]) -> str:
    *first, last = texts or ("",)
    return " and ".join((", ".join(first), last)) if first else last
