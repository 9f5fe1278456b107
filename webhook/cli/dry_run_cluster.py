"""Show what would become of the workloads that stand in a cluster: ``dry-run -A``, or ``-n`` without a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import click

from webhook.cli.dry_run_profiles import note, tell_assumed
from webhook.cli.findings import print_table, show_progress
from webhook.core import names, podspec
from webhook.core.cluster.demand import NEVER_REACHED
from webhook.core.model import Namespace, Object, World
from webhook.core.profiles import Profiles
from webhook.diagnose.collect.collector import Collector
from webhook.diagnose.jobs import KINDS as JOB_KINDS
from webhook.diagnose.jobs import identity
from webhook.diagnose.listing import Listing, Unread
from webhook.dry_run import DryRun, judge
from webhook.dry_run.templates import KINDS, find_templates
from webhook.kube.catalogue import PODS, UNFINISHED
from webhook.kube.connection import Connection
from webhook.kube.resource import Resource, Shape
from webhook.world.view import REFUSED, PermittedWorld

MOST_PAGES = 400
"""Two hundred thousand objects of one kind."""
_RUNTIMES = ("ClusterTrainingRuntime", "TrainingRuntime")
"""They make no pods: TrainJobs are completed by them."""
_CONDITIONS: Mapping[str, Shape] = {"status": {"conditions": [{"type": str, "status": str}]}}
_OVER = frozenset(("Complete", "Completed", "Succeeded", "Failed"))
_DECISIONS = ("denied", "injected", "observed", "left-alone")
_NO_PROFILE = "no-profile"


class _LabelledWorld(PermittedWorld):
    """Answer as if namespaces that name no profile named *profile*; an empty one changes nothing."""

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
    """Say what would become of one workload; *decision*: the worst of its pods'."""

    namespace: str
    workload: str
    decision: str
    text: str


def show_workloads(
    connection: Connection,
    namespace: str,
    system_namespace: str,
    profiles: Profiles,
    cluster: World,
    profile: str,
) -> tuple[frozenset[str], bool]:
    """Print a line for each workload that a profile is for, and a sum. *namespace* empty: all.

    Return what was decided, and whether no workload is half injected or cannot meet.

    *profile*: for namespaces that name none. Raises Unavailable.
    """
    world = _LabelledWorld(cluster, profile)
    with show_progress() as progress:
        found = _read(connection, namespace, system_namespace, progress)
        runs = (
            judge(find_templates(each), profile=None, profiles=profiles, world=world)
            for each in found
        )
        rows, is_whole = list[Row](), True
        for run in runs:
            is_whole = is_whole and run.is_whole
            if row := _row(run):
                rows.append(row)
    shown = [row for row in rows if row.decision != _NO_PROFILE]
    counted = Counter(row.decision for row in rows)
    if shown:
        print_table([("NAMESPACE", "WORKLOAD", "WOULD BE", "WHY"), *shown])
    each = ", ".join(
        f"{counted[decision]} {decision}" for decision in _DECISIONS if counted[decision]
    )
    click.echo(f"{len(shown)} workloads for which there is a profile: {each or 'none'}")
    if counted[_NO_PROFILE]:
        click.echo(
            f"{counted[_NO_PROFILE]} more are in namespaces without a profile: try one by --profile NAME"
        )
    tell_assumed(world)
    return frozenset(counted), is_whole


def _row(run: DryRun) -> Row | None:
    """Sum up one workload; None for one that makes no pod now."""
    if not run.pods:
        return None
    first = run.pods[0]
    workload = run.workloads[0].source if run.workloads else first.workload
    decisions = {"observed" if pod.observed and pod.profile else pod.decision for pod in run.pods}
    decision = next(each for each in _DECISIONS if each in decisions)
    if decision == "denied":
        text = next(pod.message for pod in run.pods if not pod.allowed)
    elif not run.workloads:
        decision, text = _NO_PROFILE, ""
    elif decision == "left-alone":
        text = next((each.message for pod in run.pods for each in pod.decisions), "")
    else:
        text = "; ".join(part for each in run.workloads for part in (each.text, *each.warnings))
    return Row(first.namespace, workload, decision, text)


def _read(
    connection: Connection, namespace: str, system_namespace: str, progress: Callable[[str], None]
) -> list[list[Object]]:
    """Return what each workload is judged by: its object; or those of its pods, where no listed object owns them."""
    with Collector(connection, progress, most_pages=MOST_PAGES) as collector:
        kinds = [(group, kind) for group, kind in KINDS if kind not in ("Pod", "PodTemplate")]
        begun = [
            (kind, collector.begin(partial(_read_kind, collector, group, kind, namespace)))
            for group, kind in kinds
        ]
        found = [(kind, future.result()) for kind, future in begun]
        objects = [obj for _, listing in found for obj in listing.items]
        standing = _Standing(objects, (*NEVER_REACHED, system_namespace))
        pods = collector.list_part(
            "pods", PODS.select(fields=UNFINISHED), standing.keep_pod, namespace
        ).items
    installed = {kind for kind, listing in found if listing.installed}
    _tell_unread(collector.notes(), {kind for kind, _ in found} - installed)
    runtimes = [obj for obj in objects if obj["kind"] in _RUNTIMES]
    tops = [obj for obj in objects if standing.is_workload(obj)]
    jobs: dict[tuple[str, str], list[Object]] = {}
    for pod in filter(None, pods):
        space, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        jobs.setdefault((space, identity(pod) or name), []).append(pod)
    return [
        *([obj, *(runtimes if obj["kind"] == "TrainJob" else ())] for obj in tops),
        *jobs.values(),
    ]


class _Standing:
    """Tell which objects are the top ones: those of which no object that was listed is the controller."""

    def __init__(self, objects: Iterable[Object], never: Collection[str]) -> None:
        self._never = never
        self._known = {
            (each["metadata"].get("namespace"), each["kind"], each["metadata"]["name"])
            for each in objects
        }

    def is_workload(self, obj: Object) -> bool:
        """Tell a workload whose pods are to be shown: not over, and no part of another one."""
        conditions = (obj.get("status") or {}).get("conditions") or ()
        is_over = any(
            each.get("type") in _OVER and each.get("status") == "True" for each in conditions
        )
        return obj["kind"] not in _RUNTIMES and not is_over and self._is_top(obj)

    def keep_pod(self, pod: Object) -> Object | None:
        """Return a pod that no listed object made, else None."""
        space = pod["metadata"]["namespace"]
        by_label = ((space, kind.kind, name) for kind in JOB_KINDS for name in kind.owners(pod))
        is_part = not self._is_top(pod) or any(key in self._known for key in by_label)
        return None if is_part else _typed(pod, "v1", "Pod")

    def _is_top(self, obj: Object) -> bool:
        space, owner = obj["metadata"].get("namespace"), podspec.controller(obj)
        is_part = (space, owner.get("kind"), owner.get("name")) in self._known or owner.get(
            "kind"
        ) == "Pod"
        return space not in self._never and not is_part


def _read_kind(collector: Collector, group: str, kind: str, namespace: str) -> Listing[Object]:
    """List a kind in the most stable version by which it is served, the shortest; *installed* is false where none is."""
    prefix = f"/apis/{group}" if group else "/api"
    versions = (
        (collector.part(group, partial(collector.reader.versions, prefix)) or ())
        if group
        else ("v1",)
    )
    is_of_cluster = kind == "ClusterTrainingRuntime"
    for version in sorted(versions, key=lambda each: (len(each), each)):
        resource = Resource(
            f"{kind.lower()}s",
            f"{prefix}/{version}",
            namespaced=not is_of_cluster,
            shape=_CONDITIONS,
        )
        keep = partial(_typed, version=f"{group}/{version}".lstrip("/"), kind=kind)
        what = f"{resource.name}.{group}".rstrip(".")
        listing = collector.list_part(what, resource, keep, "" if is_of_cluster else namespace)
        if listing.installed:
            return listing
    return Listing(installed=False)


def _typed(obj: Object, version: str, kind: str) -> Object:
    """Say of an item of a list what it is, as the list does for all of them."""
    return {**obj, "apiVersion": version, "kind": kind}


def _tell_unread(unread: Iterable[Unread], absent: Collection[str]) -> None:
    refused = [each.what for each in unread if REFUSED in each.problem]
    if refused:
        note(f"what you may not list is missing here: {', '.join(refused)}; ask for list of it")
    for each in unread:
        if REFUSED not in each.problem:
            note(f"{each.what}: {each.problem}")
    if absent:
        note(f"not installed in this cluster: {', '.join(sorted(absent))}")
