"""List what would become of a cluster's workloads: ``dry-run -A``, or ``-n`` without a file."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from webhook.cli.dry_run_profiles import LOOKUP_SECONDS, assumed_networks, note
from webhook.cli.findings import Listing, print_listing
from webhook.core import names, podspec
from webhook.core.cluster.demand import NEVER_REACHED
from webhook.core.errors import InputError
from webhook.core.model import Namespace, Object, World
from webhook.core.profiles import Profiles
from webhook.diagnose.jobs import KINDS, Job, find_jobs
from webhook.diagnose.snapshot import Snapshot, Unread
from webhook.dry_run import DryRun, judge
from webhook.dry_run.screen import why_not
from webhook.dry_run.templates import find_templates
from webhook.kube.catalogue import PODS, UNFINISHED
from webhook.kube.connection import Connection
from webhook.world.cluster import Cluster
from webhook.world.view import PermittedWorld

_DECISIONS = ("denied", "injected", "observed", "left-alone")
_NO_PROFILE = "no-profile"
_KEYS = ("namespace", "workload", "would_be", "why")


class _LabelledWorld(PermittedWorld):
    """Answer as if namespaces without a profile had *profile*; an empty one changes nothing."""

    def __init__(self, world: World, profile: str | None) -> None:
        super().__init__(world)
        self._labels = {names.PROFILE: profile} if profile else {}
        self._find_namespace = world.namespace
        self.namespace = self.fresh_namespace = self._labelled

    def _labelled(self, name: str) -> Namespace | None:
        found = self._find_namespace(name)
        return found and replace(found, labels={**self._labels, **found.labels})


def judge_workloads(
    connection: Connection, profiles: Profiles, given: Mapping[str, Any]
) -> list[DryRun]:
    """Print a line for each workload with pods that a profile is for, and a sum.

    *given*: the options of the command. Raises Unavailable, and InputError where pods cannot be
    listed.
    """
    live = Cluster(connection, lookup_seconds=LOOKUP_SECONDS)
    world = _LabelledWorld(live, given["profile"])
    snapshot = Snapshot(connection, given["namespace"] or "")
    jobs = _read(snapshot, given["system_namespace"], given["selector"])
    runs = [
        judge(find_templates(job.pods), profile=None, profiles=profiles, world=world)
        for job in jobs
    ]
    rows = [_row(job, run) for job, run in zip(jobs, runs, strict=True)]
    shown = [row for row in rows if _NO_PROFILE not in row]
    document = {"workloads": [dict(zip(_KEYS, row, strict=True)) for row in shown]}
    headings = [key.replace("_", " ").upper() for key in _KEYS]
    listing = Listing(headings, shown, [row[1].lower() for row in shown], document)
    print_listing(listing, given["output"], no_headers=given["no_headers"])
    _sum_up(Counter(row[2] for row in rows))
    for each in snapshot.unread():
        note(f"{each.what}: {each.problem}")
    if assumed := assumed_networks(world):
        note(assumed)
    return runs


def _sum_up(counted: Counter[str]) -> None:
    each = ", ".join(f"{counted[name]} {name}" for name in _DECISIONS if counted[name])
    number = counted.total() - counted[_NO_PROFILE]
    note(f"{number} workloads for which there is a profile: {each or 'none'}")
    if without := counted[_NO_PROFILE]:
        note(f"{without} more are in namespaces without a profile: try one by --profile NAME")


def _row(job: Job, run: DryRun) -> tuple[str, ...]:
    """Sum up one workload, whose decision is the worst of its pods'."""
    decisions = {"observed" if pod.observed and pod.profile else pod.decision for pod in run.pods}
    decision = next(each for each in _DECISIONS if each in decisions)
    if decision == "denied":
        why = next(pod.message for pod in run.pods if not pod.allowed)
    elif not run.workloads:
        decision, why = _NO_PROFILE, ""
    elif decision == "left-alone":
        why = why_not(run.pods)
    else:
        found = [part for each in run.workloads for part in (each.text, *each.warnings)]
        why = "; ".join(dict.fromkeys(found))
    return job.namespace, _workload(job), decision, why


def _read(snapshot: Snapshot, system_namespace: str, selector: str) -> list[Job]:
    """Return the workloads with unfinished pods, in the order of the table."""

    def keep(pod: Object) -> Object | None:
        is_out = pod["metadata"]["namespace"] in (*NEVER_REACHED, system_namespace)
        return None if is_out else {**pod, "apiVersion": "v1", "kind": "Pod"}

    resource = PODS.select(labels=selector, fields=UNFINISHED)
    try:
        pods = snapshot.list_all(resource, keep, snapshot.namespace, partly=True)
    except Unread as unread:
        raise InputError(str(unread)) from None
    return sorted(find_jobs(pods), key=lambda job: (job.namespace, _workload(job)))


def _workload(job: Job) -> str:
    """Name the object that made the pods, ``PyTorchJob/bert``; else the pod itself."""
    pod = job.pods[0]
    owner = podspec.controller(pod)
    own = f"{owner['kind']}/{owner['name']}" if owner else f"Pod/{pod['metadata']['name']}"
    named = (f"{kind.kind}/{name}" for kind in KINDS for name in kind.owners(pod))
    return next(named, own)
