"""List what would become of a cluster's workloads: ``dry-run -A``, or ``-n`` without a file."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from webhook.cli.findings import Listing, print_listing
from webhook.cli.inputs import choose_profiles, note, note_unread, permitted_world, read_profiles
from webhook.cli.options import connect_to_cluster
from webhook.core import names, podspec
from webhook.core.cluster.demand import NEVER_REACHED
from webhook.core.model import Namespace, Object
from webhook.diagnose.jobs import KINDS, Job, find_jobs
from webhook.diagnose.snapshot import Snapshot
from webhook.dry_run import DryRun, judge
from webhook.dry_run.screen import why_not
from webhook.dry_run.templates import find_templates
from webhook.kube.catalogue import PODS, UNFINISHED

_DECISIONS = ("denied", "injected", "observed", "left-alone")
_NO_PROFILE = "no-profile"
_KEYS = ("namespace", "workload", "would_be", "why")


def judge_workloads(given: Mapping[str, Any]) -> list[DryRun]:
    """Print a line for each workload with pods that a profile is for, and a sum.

    *given*: the options of the command.
    """
    read, system = read_profiles(given["profiles"]), given["system_namespace"]
    connection = connect_to_cluster()
    snapshot = Snapshot(connection, given["namespace"] or "", system_namespace=system, given=read)
    profiles = choose_profiles(snapshot.profiles(), given["profile"])
    world = permitted_world(connection)
    if profile := given["profile"]:
        world.namespace = world.fresh_namespace = partial(_labelled, world.namespace, profile)
    runs, rows = [], []
    for job in _read(snapshot, given["selector"]):
        run = judge(find_templates(job.pods), profile=None, profiles=profiles, world=world)
        runs.append(run)
        rows.append(_row(job, run))
    shown = [row for row in rows if _NO_PROFILE not in row]
    document = {"workloads": [dict(zip(_KEYS, row, strict=True)) for row in shown]}
    headings = [key.replace("_", " ").upper() for key in _KEYS]
    listing = Listing(headings, shown, [row[1].lower() for row in shown], document)
    print_listing(listing, given["output"], no_headers=given["no_headers"])
    counted = Counter(row[2] for row in rows)
    sums = ", ".join(f"{counted[name]} {name}" for name in _DECISIONS if counted[name])
    note(f"{len(shown)} workloads for which there is a profile: {sums or 'none'}")
    if without := counted[_NO_PROFILE]:
        note(f"{without} more are in namespaces without a profile: try one by --profile NAME")
    note_unread(snapshot, world)
    return runs


def _labelled(find: Callable[[str], Namespace | None], profile: str, name: str) -> Namespace | None:
    """Find a namespace; one without a profile is taken to have this one."""
    found = find(name)
    return found and replace(found, labels={names.PROFILE: profile, **found.labels})


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


def _read(snapshot: Snapshot, selector: str) -> list[Job]:
    """Return the workloads with unfinished pods, in the order of the table."""

    def keep(pod: Object) -> Object | None:
        is_out = pod["metadata"]["namespace"] in (*NEVER_REACHED, snapshot.system_namespace)
        return None if is_out else {**pod, "apiVersion": "v1", "kind": "Pod"}

    resource = PODS.select(labels=selector, fields=UNFINISHED)
    pods = snapshot.list_all(resource, keep, snapshot.namespace, partly=True)
    return sorted(find_jobs(pods), key=lambda job: (job.namespace, _workload(job)))


def _workload(job: Job) -> str:
    """Name the object that made the pods, ``PyTorchJob/bert``; else the pod itself."""
    pod = job.pods[0]
    owner = podspec.controller(pod)
    own = f"{owner['kind']}/{owner['name']}" if owner else f"Pod/{pod['metadata']['name']}"
    named = (f"{kind.kind}/{name}" for kind in KINDS for name in kind.owners(pod))
    return next(named, own)
