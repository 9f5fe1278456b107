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
from webhook.core.addresses.claim import Claim, read_claim, tell
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
from webhook.diagnose.jobs import FINISHED, Job, ObservedPod, find_jobs
from webhook.diagnose.snapshot import Unread
from webhook.diagnose.wording import event_time, natural, seconds_since
from webhook.kube.resource import Key
from webhook.world.view import REFUSED, View

Labels = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class JobSnapshot:
    """Hold the objects as the API server gave them; None for what could not be read.

    *now* is the API server's time. *labels*: of namespaces by name. By (namespace, name):
    *networks* that were asked for, None for one that does not exist, *claims*, *claim_templates*.
    *unusable*: names of profiles with a fault; *not_ready*: what the controller says of others, by
    name. *workloads*: Kueue's that have not finished, *policies*: NetworkPolicies. *lease*: empty
    for one that does not exist. *logs*: by the name of each pod whose log was read; None where
    nobody asked for logs.
    """

    now: datetime
    labels: Labels | None = None
    events: tuple[Object, ...] | None = None
    nodes: tuple[NodeOffer, ...] | None = None
    networks: Mapping[Key, Object | None] = field(default_factory=dict)
    profiles: Profiles | None = None
    unusable: frozenset[str] = frozenset()
    not_ready: Mapping[str, str] = field(default_factory=dict)
    claims: Mapping[Key, Object] | None = field(default_factory=dict)
    claim_templates: Collection[Key] | None = ()
    device_offers: DeviceOffers = field(default_factory=DeviceOffers)
    workloads: tuple[Object, ...] | None = ()
    policies: tuple[Object, ...] | None = ()
    lease: Object | None = None
    lease_key: Key = ("fabric-injector", "fabric-injector")
    logs: Mapping[str, PodLog] | None = None
    unread: tuple[Unread, ...] = ()

    @cached_property
    def broken_networks(self) -> Mapping[Key, str]:
        """Return by its name why the CNI configuration of a network cannot be read."""
        found = {}
        for key, network in self.networks.items():
            if text := ((network or {}).get("spec") or {}).get("config"):
                try:
                    json.loads(text)
                except (ValueError, RecursionError) as error:
                    found[key] = str(error)
        return found

    @cached_property
    def world(self) -> View:
        """Answer what admission asks by what was read; raise Unavailable for what was not.

        Networks with a broken configuration count as unread. Those that may not be read are taken
        to exist and to give addresses, as in a dry run.
        """
        refused = {each.what for each in self.unread if REFUSED in each.problem}
        known = {
            key: None if found is None else define_network(found)
            for key, found in self.networks.items()
            if key not in self.broken_networks
        }

        def namespace(name: str) -> Namespace | None:
            if name not in (self.labels or {}):
                raise Unavailable(f"namespace {name} was not read")
            return Namespace(name, (self.labels or {})[name])

        def network(space: str, name: str) -> NetworkDefinition | None:
            if (space, name) in known:
                return known[space, name]
            if f"network {space}/{name}" in refused:
                return NetworkDefinition(space, name, has_ipam=True)
            raise Unavailable(f"network {space}/{name} was not read")

        return View(namespace, namespace, network)

    @cached_property
    def _spaces(self) -> Mapping[Key, list[Object]]:
        """Return by name of a field and namespace the objects of the lists that are long."""
        kept: dict[Key, list[Object]] = {}
        for name in ("events", "workloads"):
            for obj in getattr(self, name) or ():
                kept.setdefault((name, obj["metadata"].get("namespace") or ""), []).append(obj)
        return kept

    def of(self, field_name: str, namespace: str) -> list[Object]:
        """Return what a list, ``events``, holds of a namespace."""
        return self._spaces.get((field_name, namespace), [])

    def observe(
        self, job: Job, target: str = "", *, focus: str = "", most: int | None = None
    ) -> ObservedJob:
        """Return a job with what is read of it, its pods in the order of their names.

        *most*: of how many injected pods of one role and status admission is asked; None for all.
        """
        alike: Counter[tuple[str | None, str | None]] = Counter()
        pods = []
        for pod in sorted(job.pods, key=lambda pod: natural(str(pod["metadata"].get("name")))):
            status = podspec.annotations(pod).get(names.STATUS)
            kind = podspec.labels(pod).get(names.RENDEZVOUS), status
            alike[kind] += 1
            is_asked = most is None or status is None or alike[kind] <= most
            verdict = self.judge_today(pod) if is_asked else None
            pods.append(ObservedPod(pod, self._member(pod), verdict))
        space = job.namespace
        concerns = job.concerns()
        return ObservedJob(
            target or f"job/{job.name}",
            space,
            job.owner,
            focus,
            tuple(pods),
            (self.labels or {}).get(space),
            None if self.events is None else tuple(filter(concerns, self.of("events", space))),
            None if self.workloads is None else job.held_by(self.of("workloads", space)),
        )

    def judge_today(self, pod: Object) -> Verdict | None:
        """Return what admission would decide today; None where that cannot be known."""
        if self.profiles is None:
            return None
        namespace = str(pod["metadata"].get("namespace") or "")
        try:
            space = self.world.namespace(namespace)
            labels = {**(space.labels if space else {}), **podspec.labels(pod)}
            if labels.get(names.PROFILE) in self.unusable:
                return None  # the webhook may hold it with other content, or not at all
            return decide(pod, namespace, self.profiles, self.world)
        except Unavailable:
            return None

    def _member(self, pod: Object) -> Member | None:
        live = (pod.get("status") or {}).get("phase") not in FINISHED
        member = read_member(pod) if live else None
        if member is not None and member.has_claims:
            used = self._claims_by_user.get((member.name, member.uid), ())
            member = beside_claims(member, tell(used))
        return member

    @cached_property
    def _claims_by_user(self) -> Mapping[tuple[str, str], list[Claim]]:
        found: dict[tuple[str, str], list[Claim]] = {}
        for claim in map(read_claim, (self.claims or {}).values()):
            for user in claim.users:
                found.setdefault(user, []).append(claim)
        return found

    def age(self, pod: ObservedPod) -> float:
        """Return for how many seconds a pod has existed."""
        return seconds_since(pod.created, self.now) or 0.0

    def seconds_bound(self, pod: ObservedPod) -> float:
        """Return for how long a pod that is on a node has been there."""
        return seconds_since(pod.since("PodScheduled") or pod.created, self.now) or 0.0

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
    def groups(self) -> Mapping[str, list[ObservedPod]]:
        """Return by key all pods of each injected job: of a selector there may be several."""
        known = {pod.name: pod for pod in self.pods}
        found: dict[str, list[ObservedPod]] = {}
        for job in find_jobs(pod.pod for pod in self.pods):
            if job.key:
                pods = [known[pod["metadata"]["name"]] for pod in job.pods]
                found.setdefault(job.key, []).extend(pods)
        return found

    def last_words(self, *reasons: str) -> Mapping[str, str]:
        """Return by pod name the last message of an Event of each pod with one of the reasons."""
        found = [event for event in self.warnings if event.get("reason") in reasons]
        return {
            str((event.get("involvedObject") or {}).get("name")): str(event.get("message") or "")
            for event in sorted(found, key=event_time)
        }

    @cached_property
    def warnings(self) -> tuple[Object, ...]:
        """Return its Events; none where they cannot be read."""
        return self.events or ()


_DEFAULTS = {names.NETWORKS: "", names.DEFAULT_NETWORK: "kube-system"}
"""Annotations that name networks, and the namespace of one without; empty for the pod's own."""


def networks_to_read(
    pods: Iterable[Object], labels: Labels | None, profiles: Profiles | None
) -> list[Key]:
    """Return (namespace, name) of each network that pods ask for or their profiles give.

    One pod of each kind is looked at. *labels*: of namespaces by their names.
    """
    kinds: dict[object, Object] = {}
    for pod in pods:
        told = podspec.annotations(pod)
        asked = *map(told.get, _DEFAULTS), podspec.labels(pod).get(names.PROFILE)
        kinds.setdefault((pod["metadata"].get("namespace"), names.STATUS in told, *asked), pod)
    wanted: dict[Key, None] = {}
    for pod in kinds.values():
        own = str(pod["metadata"].get("namespace") or "")
        for annotation, default in _DEFAULTS.items():
            with suppress(ValueError):  # the pod's verdict says what is wrong with it
                text = podspec.annotations(pod).get(annotation) or ""
                for each in parse_networks(text, default or own).elements:
                    wanted[each.namespace, each.name] = None
        space = Namespace(own, (labels or {}).get(own, {}))
        with suppress(Denied):  # likewise
            profile = select_profile(pod, space, profiles or Profiles(), None)
            for network in profile.networks if isinstance(profile, Profile) else ():
                wanted[network.network.namespace or own, network.network.name] = None
    return list(wanted)
