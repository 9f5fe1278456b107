"""Hold what was read of a cluster and of the jobs in it: without a clock and without a network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from webhook.core import names, podspec
from webhook.core.addresses.claim import read_claim, tell
from webhook.core.cluster.device_classes import DeviceOffers
from webhook.core.cluster.nodes import NodeOffer
from webhook.core.model import Object
from webhook.core.profiles import Profiles
from webhook.core.reconcile import Member, beside_claims, read_member
from webhook.diagnose.explain.judgement import ReadWorld, judge_today
from webhook.diagnose.explain.nccl_log import PodLog
from webhook.diagnose.explain.observation import natural, seconds_since
from webhook.diagnose.jobs import FINISHED, ObservedPod
from webhook.diagnose.snapshot import Unread
from webhook.world.view import REFUSED

_NETWORK = "network "


@dataclass(frozen=True)
class JobSnapshot:
    """Hold the objects as the API server gave them; None for what could not be read.

    *now* is the API server's time. By namespace: *labels*, *labelled* (when the profile label was
    written, as `label_time` says), *claims* by name, names of *claim_templates*. *networks*: the
    NetworkAttachmentDefinitions that were asked for by (namespace, name), None for one that does
    not exist. *neighbours*: by the name of a node that offers what a pod on no node asks for, the
    pods of all namespaces there. *unusable*: names of profiles with a fault; *not_ready*: what the
    controller says of others, by name. *workloads*: Kueue's that have not finished, *pod_groups*:
    Volcano's, *suspended*: jobs, *policies*: NetworkPolicies. *lease*: empty for one that does not
    exist. *configured*: whether the MutatingWebhookConfiguration exists. *logs*: by the name of
    each pod whose log was read; None where nobody asked for logs.
    """

    now: datetime
    labels: Mapping[str, Mapping[str, str]] | None = None
    labelled: Mapping[str, str] = field(default_factory=dict)
    events: tuple[Object, ...] | None = None
    nodes: tuple[NodeOffer, ...] | None = None
    neighbours: Mapping[str, tuple[Object, ...]] | None = field(default_factory=dict)
    networks: Mapping[tuple[str, str], Object | None] = field(default_factory=dict)
    profiles: Profiles | None = None
    unusable: frozenset[str] = frozenset()
    not_ready: Mapping[str, str] = field(default_factory=dict)
    claims: Mapping[str, Mapping[str, Object]] = field(default_factory=dict)
    claim_templates: Mapping[str, frozenset[str]] = field(default_factory=dict)
    device_offers: DeviceOffers = field(default_factory=DeviceOffers)
    workloads: tuple[Object, ...] | None = ()
    pod_groups: tuple[Object, ...] = ()
    suspended: tuple[Object, ...] = ()
    policies: tuple[Object, ...] = ()
    configured: bool | None = None
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
        for field_name in ("events", "workloads", "pod_groups", "suspended"):
            by_space = kept.setdefault(field_name, {})
            for obj in getattr(self, field_name) or ():
                by_space.setdefault(str(obj["metadata"].get("namespace") or ""), []).append(obj)
        return kept

    def of(self, field_name: str, namespace: str) -> list[Object]:
        """Return what a list, ``events``, holds of a namespace."""
        return self._spaces[field_name].get(namespace, [])

    def observe(self, pods: Iterable[Object]) -> tuple[ObservedPod, ...]:
        """Read pods as the controller and admission do, in the order of their names."""
        ordered = sorted(pods, key=lambda pod: natural(str(pod["metadata"].get("name"))))
        return tuple(
            ObservedPod(
                pod,
                self._member(pod),
                judge_today(pod, self.profiles, self.world, self.unusable),
            )
            for pod in ordered
        )

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
    """Hold one job of a `JobSnapshot`, and what is said of it.

    *target* as ``job/train``; *owner* is the name that owners of its pods carry, ``train``.
    *focus* is the one pod that was asked for, else empty. *pods* are all that may belong to it,
    also finished ones. *labels*: of its namespace. *events*, *workloads*, *pod_groups*,
    *suspended*: as of the snapshot, those that concern it.
    """

    target: str
    namespace: str
    owner: str = ""
    focus: str = ""
    pods: tuple[ObservedPod, ...] = ()
    labels: Mapping[str, str] | None = None
    events: tuple[Object, ...] | None = None
    workloads: tuple[Object, ...] | None = ()
    pod_groups: tuple[Object, ...] = ()
    suspended: tuple[Object, ...] = ()

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


def label_time(namespace: Object) -> str:
    """Return when the namespace's profile label was last written; empty where that is not known.

    Source: metadata.managedFields. One who applies a label that is there already owns it too, at
    the time of its own last change: of several times none is trusted.
    """
    times = {
        str(entry["time"])
        for entry in namespace["metadata"].get("managedFields") or ()
        if f"f:{names.PROFILE}"
        in (((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get("f:labels") or {})
        and entry.get("time")
    }
    return times.pop() if len(times) == 1 else ""


def owners_of(pods: Iterable[Object], owner: str = "") -> frozenset[str]:
    """Return the names of what made these pods, and *owner*."""
    made = {str(podspec.controller(pod).get("name") or "") for pod in pods}
    return frozenset(made | {owner}) - {""}
