"""Hold what was read of a cluster and of the jobs in it: without a clock and without a network."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from webhook.core import names, podspec
from webhook.core.addresses.claim import read_claim, tell
from webhook.core.cluster.device_classes import DeviceOffers
from webhook.core.cluster.nodes import NodeOffer
from webhook.core.decide import select_profile
from webhook.core.errors import Denied, Unavailable
from webhook.core.model import Namespace, NetworkDefinition, Object
from webhook.core.networks import define_network, parse_networks
from webhook.core.profiles import Profile, Profiles
from webhook.core.reconcile import Member, beside_claims, read_member
from webhook.core.review import Verdict, decide
from webhook.diagnose.explain.nccl_log import PodLog
from webhook.diagnose.jobs import FINISHED, ObservedPod
from webhook.diagnose.snapshot import Unread
from webhook.diagnose.wording import natural, seconds_since
from webhook.world.view import REFUSED

_NETWORK = "network "


@dataclass(frozen=True)
class JobSnapshot:
    """Hold the objects as the API server gave them; None for what could not be read.

    *now* is the API server's time. By namespace: *labels*, *claims* by name, names of
    *claim_templates*. *networks*: the NetworkAttachmentDefinitions that were asked for by
    (namespace, name), None for one that does not exist. *unusable*: names of profiles with a
    fault; *not_ready*: what the controller says of others, by name. *workloads*: Kueue's that have
    not finished, *policies*: NetworkPolicies. *lease*: empty for one that does not exist. *logs*:
    by the name of each pod whose log was read; None where nobody asked for logs.
    """

    now: datetime
    labels: Mapping[str, Mapping[str, str]] | None = None
    events: tuple[Object, ...] | None = None
    nodes: tuple[NodeOffer, ...] | None = None
    networks: Mapping[tuple[str, str], Object | None] = field(default_factory=dict)
    profiles: Profiles | None = None
    unusable: frozenset[str] = frozenset()
    not_ready: Mapping[str, str] = field(default_factory=dict)
    claims: Mapping[str, Mapping[str, Object]] = field(default_factory=dict)
    claim_templates: Mapping[str, frozenset[str]] = field(default_factory=dict)
    device_offers: DeviceOffers = field(default_factory=DeviceOffers)
    workloads: tuple[Object, ...] | None = ()
    policies: tuple[Object, ...] = ()
    lease: Object | None = None
    lease_key: tuple[str, str] = ("fabric-injector", "fabric-injector")
    logs: Mapping[str, PodLog] | None = None
    unread: tuple[Unread, ...] = ()

    @cached_property
    def refused_networks(self) -> frozenset[str]:
        """Return the networks, as ``namespace/name``, that the caller may not read."""
        return frozenset(
            part.what.removeprefix(_NETWORK)
            for part in self.unread
            if part.what.startswith(_NETWORK) and REFUSED in part.problem
        )

    @cached_property
    def world(self) -> ReadWorld:
        """Return what admission asks the cluster for."""
        return ReadWorld(self.labels, self.networks, self.refused_networks)

    @cached_property
    def _spaces(self) -> Mapping[str, Mapping[str, list[Object]]]:
        """Return by name of a field and namespace the objects of the lists that are long."""
        kept: dict[str, dict[str, list[Object]]] = {}
        for field_name in ("events", "workloads"):
            by_space = kept.setdefault(field_name, {})
            for obj in getattr(self, field_name) or ():
                by_space.setdefault(str(obj["metadata"].get("namespace") or ""), []).append(obj)
        return kept

    def of(self, field_name: str, namespace: str) -> list[Object]:
        """Return what a list, ``events``, holds of a namespace."""
        return self._spaces[field_name].get(namespace, [])

    def observe(self, pods: Iterable[Object], most: int | None = None) -> tuple[ObservedPod, ...]:
        """Read pods as the controller and admission do, in the order of their names.

        *most*: of how many injected pods of one role and status admission is asked; None for all.
        """
        ordered = sorted(pods, key=lambda pod: natural(str(pod["metadata"].get("name"))))
        alike: Counter[tuple[str | None, str | None]] = Counter()
        observed = []
        for pod in ordered:
            status = podspec.annotations(pod).get(names.STATUS)
            kind = podspec.labels(pod).get(names.RENDEZVOUS), status
            alike[kind] += 1
            is_asked = most is None or status is None or alike[kind] <= most
            verdict = self._judge(pod) if is_asked else None
            observed.append(ObservedPod(pod, self._member(pod), verdict))
        return tuple(observed)

    def _judge(self, pod: Object) -> Verdict | None:
        return judge_today(pod, self.profiles, self.world, self.unusable)

    def _member(self, pod: Object) -> Member | None:
        live = (pod.get("status") or {}).get("phase") not in FINISHED
        member = read_member(pod) if live else None
        if member is not None and member.has_claims:
            user = member.name, member.uid
            claims = map(read_claim, self.claims.get(member.namespace, {}).values())
            member = beside_claims(member, tell(one for one in claims if user in one.users))
        return member

    def age(self, pod: ObservedPod) -> float:
        """Return for how many seconds a pod has existed."""
        return seconds_since(pod.created, self.now) or 0.0

    def seconds_bound(self, pod: ObservedPod) -> float:
        """Return for how long a pod that is on a node has been there."""
        condition = pod.condition("PodScheduled")
        since = condition.get("lastTransitionTime") if condition.get("status") == "True" else None
        return seconds_since(since or pod.created, self.now) or 0.0

    def seconds_waited(self, pod: ObservedPod) -> float | None:
        """Return for how long the wait step has run; None where it does not run."""
        running = pod.state_of(names.WAIT_CONTAINER).get("running")
        return None if running is None else seconds_since(running.get("startedAt"), self.now) or 0.0


@dataclass(frozen=True)
class ObservedJob:
    """Hold one job of a `JobSnapshot`, and what concerns it.

    *target* as ``job/train``; *owner* is the name that owners of its pods carry, ``train``.
    *focus* is the one pod that was asked for, else empty. *pods* are all that may belong to it,
    also finished ones. *labels*: of its namespace. *events*, *workloads*: as of
    the snapshot, those that concern it.
    """

    target: str
    namespace: str
    owner: str = ""
    focus: str = ""
    pods: tuple[ObservedPod, ...] = ()
    labels: Mapping[str, str] | None = None
    events: tuple[Object, ...] | None = None
    workloads: tuple[Object, ...] | None = ()

    @cached_property
    def live(self) -> tuple[ObservedPod, ...]:
        """Return the pods that are neither finished nor being deleted."""
        return tuple(pod for pod in self.pods if pod.is_live)

    @cached_property
    def members(self) -> Mapping[str, list[ObservedPod]]:
        """Return by the key of their job the pods that meet at an address."""
        found: dict[str, list[ObservedPod]] = {}
        for pod in self.pods:
            if pod.is_member and pod.member is not None:
                found.setdefault(pod.member.job, []).append(pod)
        return found

    @cached_property
    def warnings(self) -> tuple[Object, ...]:
        """Return its Events; none where they cannot be read."""
        return self.events or ()


def owners_of(pods: Iterable[Object], owner: str = "") -> frozenset[str]:
    """Return the names of what made these pods, and *owner*."""
    made = {str(podspec.controller(pod).get("name") or "") for pod in pods}
    return frozenset(made | {owner}) - {""}


_DEFAULTS = {names.NETWORKS: "", names.DEFAULT_NETWORK: "kube-system"}
"""Annotations that name networks, and the namespace of one without; empty for the pod's own."""

Labels = Mapping[str, Mapping[str, str]]
Networks = Mapping[tuple[str, str], Object | None]


def broken_networks(networks: Networks) -> Mapping[tuple[str, str], str]:
    """Return by its name why the CNI configuration of a network cannot be read."""
    found = {}
    for key, network in networks.items():
        if text := ((network or {}).get("spec") or {}).get("config"):
            try:
                json.loads(text)
            except (ValueError, RecursionError) as error:
                found[key] = str(error)
    return found


class ReadWorld:
    """Implement model.World for what was read; raise Unavailable for what was not.

    Networks with a broken configuration count as unread. Those that may not be read are taken to
    exist and to give addresses, as in a dry run.
    """

    def __init__(
        self, labels: Labels | None, networks: Networks, refused: Collection[str] = ()
    ) -> None:
        self._labels = labels or {}
        self._networks = {
            key: None if found is None else define_network(found)
            for key, found in networks.items()
            if key not in broken_networks(networks)
        }
        self._refused = refused

    def namespace(self, name: str) -> Namespace | None:
        """Give a namespace."""
        if name not in self._labels:
            raise Unavailable(f"namespace {name} was not read")
        return Namespace(name, self._labels[name])

    fresh_namespace = namespace

    def network(self, namespace: str, name: str) -> NetworkDefinition | None:
        """Look a network up."""
        if (namespace, name) in self._networks:
            return self._networks[namespace, name]
        if f"{namespace}/{name}" in self._refused:
            return NetworkDefinition(namespace, name, has_ipam=True)
        raise Unavailable(f"network {namespace}/{name} was not read")

    def has_profile(self, _name: str) -> bool:
        """Know no other profile than those that were read."""
        return False


def judge_today(
    pod: Object, profiles: Profiles | None, world: ReadWorld, unusable: Collection[str] = ()
) -> Verdict | None:
    """Return what admission would decide today; None where that cannot be known.

    *unusable*: names of profiles that the webhook may hold with other content, or not at all.
    """
    if profiles is None:
        return None
    namespace = str(pod["metadata"].get("namespace") or "")
    try:
        space = world.namespace(namespace)
        labels = {**(space.labels if space else {}), **podspec.labels(pod)}
        if labels.get(names.PROFILE) in unusable:
            return None
        return decide(pod, namespace, profiles, world)
    except Unavailable:
        return None


def networks_to_read(
    pods: Iterable[Object], labels: Labels | None, profiles: Profiles | None
) -> list[tuple[str, str]]:
    """Return (namespace, name) of each network that pods ask for or their profiles give.

    *labels*: of namespaces by their names.
    """
    wanted: dict[tuple[str, str], None] = {}
    for pod in pods:
        own = str(pod["metadata"].get("namespace") or "")
        for annotation, default in _DEFAULTS.items():
            if text := podspec.annotations(pod).get(annotation):
                with suppress(ValueError):  # the pod's verdict says what is wrong with it
                    for each in parse_networks(text, default or own).elements:
                        wanted[each.namespace, each.name] = None
        space = Namespace(own, (labels or {}).get(own, {}))
        with suppress(Denied):  # likewise
            profile = select_profile(pod, space, profiles or Profiles(), None)
            for network in profile.networks if isinstance(profile, Profile) else ():
                wanted[network.network.namespace or own, network.network.name] = None
    return list(wanted)
