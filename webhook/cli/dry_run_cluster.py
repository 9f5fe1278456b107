"""List what would become of a cluster's workloads: ``dry-run -A``, or ``-n`` without a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from webhook.cli.dry_run_profiles import assumed_networks, note
from webhook.cli.findings import show_progress
from webhook.cli.listing import Listing as PrintedList
from webhook.cli.listing import print_listing
from webhook.core import names, podspec
from webhook.core.cluster.demand import NEVER_REACHED
from webhook.core.model import Namespace, Object, World
from webhook.core.profiles import Profiles
from webhook.diagnose.jobs import KINDS as JOB_KINDS
from webhook.diagnose.jobs import identity
from webhook.diagnose.snapshot import Snapshot, Unread, at_once
from webhook.dry_run import DryRun, judge
from webhook.dry_run.screen import why_not
from webhook.dry_run.templates import KINDS, find_templates
from webhook.kube.catalogue import PODS, UNFINISHED
from webhook.kube.connection import Connection
from webhook.kube.resource import Resource
from webhook.world.view import REFUSED, PermittedWorld

_RUNTIMES = ("ClusterTrainingRuntime", "TrainingRuntime")
"""They make no pods: they complete TrainJobs."""
_OVER = frozenset(("Complete", "Completed", "Succeeded", "Failed"))
_DECISIONS = ("denied", "injected", "observed", "left-alone")
_NO_PROFILE = "no-profile"


class _LabelledWorld(PermittedWorld):
    """Answer as if namespaces without a profile had *profile*; an empty one changes nothing."""

    def __init__(self, world: World, profile: str) -> None:
        super().__init__(world)
        self._profile = profile
        self._find_namespace = world.namespace
        self.namespace = self.fresh_namespace = self._labelled

    def _labelled(self, name: str) -> Namespace | None:
        found = self._find_namespace(name)
        if found is None or not self._profile or names.PROFILE in found.labels:
            return found
        return replace(found, labels={**found.labels, names.PROFILE: self._profile})


class Row(NamedTuple):
    """Say what would become of one workload; *would_be*: the worst of its pods' decisions."""

    namespace: str
    workload: str
    would_be: str
    why: str


def list_workloads(
    connection: Connection,
    where: tuple[str, str, str],
    profiles: Profiles,
    cluster: World,
    profile: str,
    form: tuple[str | None, bool],
) -> tuple[Collection[str], bool]:
    """Print a line for each workload that a profile is for, and a sum.

    *where*: namespace (empty: all), that of fabric-injector, and a label selector. *profile* is for
    namespaces without one. *form*: output, and whether to leave out headings. Return what was
    decided, and whether every workload is whole. Raises Unavailable.
    """
    world = _LabelledWorld(cluster, profile)
    with show_progress() as progress:
        found = _read(connection, where, progress)
        runs = [
            judge(find_templates(each), profile=None, profiles=profiles, world=world)
            for each in found
        ]
    rows = [_row(run) for run in runs if run.pods]
    shown = [row for row in rows if row.would_be != _NO_PROFILE]
    print_listing(
        PrintedList(
            ("NAMESPACE", "WORKLOAD", "WOULD BE", "WHY"),
            shown,
            [row.workload.lower() for row in shown],
            {"workloads": [row._asdict() for row in shown]},
        ),
        form[0],
        no_headers=form[1],
    )
    counted = Counter(row.would_be for row in rows)
    _sum_up(counted)
    if assumed := assumed_networks(world):
        note(assumed)
    return counted.keys(), all(run.is_whole for run in runs)


def _sum_up(counted: Counter[str]) -> None:
    each = ", ".join(f"{counted[name]} {name}" for name in _DECISIONS if counted[name])
    number = counted.total() - counted[_NO_PROFILE]
    note(f"{number} workloads for which there is a profile: {each or 'none'}")
    if without := counted[_NO_PROFILE]:
        note(f"{without} more are in namespaces without a profile: try one by --profile NAME")


def _row(run: DryRun) -> Row:
    """Sum up one workload."""
    first = run.pods[0]
    workload = run.workloads[0].source if run.workloads else first.workload
    decisions = {"observed" if pod.observed and pod.profile else pod.decision for pod in run.pods}
    decision = next(each for each in _DECISIONS if each in decisions)
    if decision == "denied":
        why = next(pod.message for pod in run.pods if not pod.allowed)
    elif not run.workloads:
        decision, why = _NO_PROFILE, ""
    elif decision == "left-alone":
        why = why_not(run.pods)
    else:
        why = "; ".join(part for each in run.workloads for part in (each.text, *each.warnings))
    return Row(first.namespace, workload, decision, why)


def _read(
    connection: Connection, where: tuple[str, str, str], progress: Callable[[str], None]
) -> list[list[Object]]:
    """Return for each workload its object, or its pods if no listed object owns them."""
    namespace, system_namespace, selector = where
    cluster = Snapshot(connection, namespace, tell=progress)
    lists = at_once(
        [
            partial(_list, cluster, partial(_list_kind, cluster, kind, selector))
            for kind in KINDS
            if kind[1] not in ("Pod", "PodTemplate")
        ]
    )
    objects = [obj for each in lists for obj in each]
    standing = _Standing(objects, (*NEVER_REACHED, system_namespace))
    running = PODS.select(labels=selector, fields=UNFINISHED)
    pods = _list(
        cluster,
        partial(cluster.list_all, running, standing.keep_pod, namespace, partly=True),
    )
    _tell_unread(cluster.unread())
    runtimes = [obj for obj in objects if obj["kind"] in _RUNTIMES]
    jobs: dict[tuple[str, str], list[Object]] = {}
    for pod in pods:
        space, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        jobs.setdefault((space, identity(pod) or name), []).append(pod)
    tops = [obj for obj in objects if standing.is_workload(obj)]
    completed = [[obj, *(runtimes if obj["kind"] == "TrainJob" else ())] for obj in tops]
    return [*completed, *jobs.values()]


class _Standing:
    """Tell the top objects: no listed object controls them."""

    def __init__(self, objects: Iterable[Object], never: Collection[str]) -> None:
        self._never = never
        self._known = {
            (each["metadata"].get("namespace"), each["kind"], each["metadata"]["name"])
            for each in objects
        }

    def is_workload(self, obj: Object) -> bool:
        """Tell a workload to be shown: not over, and no part of another one."""
        conditions = (obj.get("status") or {}).get("conditions") or ()
        kept = [each for each in conditions if isinstance(each, dict)]  # some CRDs check nothing
        is_over = any(each.get("type") in _OVER and each.get("status") == "True" for each in kept)
        return obj["kind"] not in _RUNTIMES and not is_over and self._is_top(obj)

    def keep_pod(self, pod: Object) -> Object | None:
        """Return a pod that no listed object made, else None."""
        space = pod["metadata"]["namespace"]
        by_label = ((space, kind.kind, name) for kind in JOB_KINDS for name in kind.owners(pod))
        is_part = not self._is_top(pod) or any(key in self._known for key in by_label)
        return None if is_part else _typed(pod, "v1", "Pod")

    def _is_top(self, obj: Object) -> bool:
        space, owner = obj["metadata"].get("namespace"), podspec.controller(obj)
        is_known = (space, owner.get("kind"), owner.get("name")) in self._known
        return space not in self._never and not is_known and owner.get("kind") != "Pod"


def _list(cluster: Snapshot, read: Callable[[], Sequence[Object]]) -> Sequence[Object]:
    """Return what is read; nothing, with a note, where it cannot be read."""
    try:
        return read()
    except Unread as unread:
        cluster.note(unread.what, unread.problem)
        return ()


def _list_kind(cluster: Snapshot, of: tuple[str, str], selector: str) -> Sequence[Object]:
    """List a kind in the most stable served version, the shortest."""
    group, kind = of
    prefix = f"/apis/{group}" if group else "/api"
    versions = partial(cluster.reader.versions, prefix)
    served = cluster.once(("versions", group), group, versions) if group else ("v1",)
    is_of_cluster = kind == "ClusterTrainingRuntime"
    for version in sorted(served or (), key=lambda each: (len(each), each)):
        resource = Resource(
            f"{kind.lower()}s",
            f"{prefix}/{version}",
            label_selector="" if kind in _RUNTIMES else selector,
        )
        keep = partial(_typed, version=f"{group}/{version}".lstrip("/"), kind=kind)
        space = "" if is_of_cluster else cluster.namespace
        found = cluster.list_optional(resource, keep, space, partly=True)
        if found is not None:
            return found
    return ()


def _typed(obj: Object, version: str, kind: str) -> Object:
    """Give an item of a list its type, which the list has for all of them."""
    return {**obj, "apiVersion": version, "kind": kind}


def _tell_unread(unread: Sequence[Unread]) -> None:
    if refused := [each.what for each in unread if REFUSED in each.problem]:
        note(f"what you may not list is missing here: {', '.join(refused)}; ask for list of it")
    for each in unread:
        if REFUSED not in each.problem:
            note(f"{each.what}: {each.problem}")
