"""Show what would be injected: ``fabric-injector dry-run``, of manifests or of a cluster's pods."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import click

from webhook.cli import options
from webhook.cli.cluster import ClusterCommand, connect_to_cluster
from webhook.cli.inputs import (
    choose_profiles,
    note,
    note_unread,
    permitted_world,
    read_manifests,
    read_profiles,
)
from webhook.cli.options import MANIFEST, option
from webhook.cli.printing import Listing, print_lines, print_listing
from webhook.cli.server_side import ask_server
from webhook.core import names, podspec
from webhook.core.cluster.demand import NEVER_REACHED
from webhook.core.errors import InputError
from webhook.core.model import Namespace
from webhook.core.yaml_reader import Document
from webhook.diagnose.jobs import KINDS, Job, find_jobs
from webhook.diagnose.snapshot import Snapshot
from webhook.dry_run import RENDERERS, DryRun, judge
from webhook.dry_run.screen import screen, why_not
from webhook.dry_run.templates import find_templates, require_namespace
from webhook.kube.catalogue import PODS, UNFINISHED
from webhook.kube.reader import whole
from webhook.world.objects import ObjectsWorld, load_objects
from webhook.world.profiles_read import of_file_objects

_DECISIONS = ("denied", "injected", "observed", "left-alone")
_NO_PROFILE = "no-profile"
_KEYS = ("namespace", "workload", "would_be", "why")


@click.command("dry-run", cls=ClusterCommand)
@options.manifests()
@options.recursive
@options.namespace(help="Namespace of objects that name none.")
@options.all_namespaces
@option("--profiles", type=MANIFEST, help="File of FabricProfiles, not the cluster's.")
@option("--profile", metavar="NAME", help="Use this profile, whatever the labels say.")
@options.objects(type=MANIFEST)
@option("--server", is_flag=True, help="Send each pod to the cluster, as a dry-run create.")
@option("--diff", is_flag=True, help="Show what changes in each pod.")
@option("-v", "--verbose", is_flag=True, help="Show each step and its reason.")
@options.output(
    *RENDERERS, "name", "wide", help="json, yaml, patch or pod; of a list name or wide."
)
@options.no_headers
@options.selector(help="List workloads of these labels.")
@option("--require-injection", is_flag=True, help="End with 1 if nothing is injected.")
@options.system_namespace
def command(**given: Any) -> None:
    """Show what would be injected into a workload, and why.

    FILE holds pods or jobs. With -A, or -n and no file: list the cluster's workloads.

    \b
    Examples:
      fabric-injector dry-run -f job.yaml -n research
      fabric-injector dry-run -f job.yaml --profiles profiles.yaml --objects cluster.yaml
      fabric-injector dry-run -A --profile rdma-shared

    Exit status: 0 all pods allowed, 1 a pod is denied, 2 the input is wrong,
    3 a workload is half injected or cannot meet. 2 goes before 1, and 1 before 3.
    """  # noqa: D301  # \\b is click's own mark
    is_list = not given["file"] and (given["all_namespaces"] or given["namespace"] is not None)
    _refuse_contradictions(given, is_list=is_list)
    runs = _list_workloads(given) if is_list else [_judge_files(given)]
    raise SystemExit(_exit_status(runs, given["require_injection"]))


def _refuse_contradictions(given: dict[str, Any], *, is_list: bool) -> None:
    """Raise UsageError for options that do not go together."""
    files, output = given["file"], given["output"]
    of_pods = any(given[key] for key in ("server", "objects", "diff", "verbose"))
    of_files = any(given[key] for key in ("profiles", "objects", "profile"))
    wrong = ""
    if given["all_namespaces"] and files:
        wrong = "-A lists all workloads of the cluster: leave out the file"
    elif not files and not is_list:
        wrong = "name a manifest: -f FILE, or -f -; or list workloads: -A or -n NS"
    elif is_list and (of_pods or output in ("patch", "pod")):
        wrong = "a list takes -o json|yaml|name|wide, -l, --profile and --profiles"
    elif files and (given["selector"] or output in ("name", "wide")):
        wrong = "pods of a file take -o json|patch|pod|yaml, and no -l"
    elif given["server"] and of_files:
        wrong = "--server takes the cluster's own: leave out --profiles, --objects, --profile"
    if wrong:
        raise click.UsageError(wrong)


def _exit_status(runs: Sequence[DryRun], is_injection_required: bool) -> int:
    pods = [pod for run in runs for pod in run.pods]
    if any(part.broken for run in runs for part in run.ignored):
        return 2
    if is_injection_required and not any(pod.is_injected for pod in pods):
        return 1
    if not all(pod.allowed for pod in pods):
        return 1
    return 3 if any(each.problem for run in runs for each in run.workloads) else 0


def _judge_files(given: dict[str, Any]) -> DryRun:
    """Judge the pods of the manifests, and print the answers; all files are read before a cluster.

    *given*: the options of the command.
    """
    namespace, profile = given["namespace"], given["profile"]
    documents = read_manifests(given["file"], recursive=given["recursive"])
    if namespace:
        require_namespace(documents, namespace)
    read, objects = read_profiles(given["profiles"]), load_objects(given["objects"])
    if given["objects"]:
        read = read or of_file_objects("--objects", objects)
        if read is None:
            raise InputError("--objects holds no FabricProfile: give --profiles FILE")
        templates = find_templates(documents, namespace)
        known, world = choose_profiles(read, profile), ObjectsWorld(objects)
        run = judge(templates, profile=profile, profiles=known, world=world)
        return _show(run, known.profiles, given)
    connection = connect_to_cluster()
    templates = find_templates(documents, namespace or connection.namespace)
    if given["server"]:
        return _show(ask_server(connection, templates), (), given)
    snapshot = Snapshot(connection, system_namespace=given["system_namespace"], given=read)
    known, seen = choose_profiles(snapshot.profiles(), profile), permitted_world(connection)
    run = judge(templates, profile=profile, profiles=known, world=seen)
    note_unread(snapshot, seen)
    return _show(run, known.profiles, given)


def _show(run: DryRun, profiles: Collection[str], given: dict[str, Any]) -> DryRun:
    if output := given["output"]:
        click.echo(RENDERERS[output](run), nl=False)
        for part in run.ignored:
            note(f"{part.source}: {part.message}")
    else:
        print_lines(screen(run, profiles, diff=given["diff"], verbose=given["verbose"]))
    if not run.pods:
        note("no pod template was found")
    return run


def _list_workloads(given: dict[str, Any]) -> list[DryRun]:
    """Print a line for each workload with pods that a profile is for, and a sum.

    *given*: the options of the command.
    """
    read, system = read_profiles(given["profiles"]), given["system_namespace"]
    connection = connect_to_cluster()
    space = "" if given["all_namespaces"] else given["namespace"]
    snapshot = Snapshot(connection, space, system_namespace=system, given=read)
    profiles = choose_profiles(snapshot.profiles(), given["profile"])
    world = permitted_world(connection)
    if profile := given["profile"]:
        world.namespace = world.fresh_namespace = partial(_labelled, world.namespace, profile)
    runs, rows = [], []
    for job in _find_workloads(snapshot, given["selector"]):
        templates = find_templates(map(Document, job.pods))
        run = judge(templates, profile=None, profiles=profiles, world=world)
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


def _find_workloads(snapshot: Snapshot, selector: str) -> list[Job]:
    """Return the workloads with unfinished pods, in the order of the table."""
    resource = PODS.select(labels=selector, fields=UNFINISHED)
    pods = snapshot.list_all(resource, whole, snapshot.namespace, partly=True)
    out = (*NEVER_REACHED, snapshot.system_namespace)
    kept = (pod for pod in pods if pod["metadata"]["namespace"] not in out)
    jobs = find_jobs({**pod, "apiVersion": "v1", "kind": "Pod"} for pod in kept)
    return sorted(jobs, key=lambda job: (job.namespace, _workload(job)))


def _workload(job: Job) -> str:
    """Name the object that made the pods, ``PyTorchJob/bert``; else the pod itself."""
    pod = job.pods[0]
    owner = podspec.controller(pod)
    own = f"{owner['kind']}/{owner['name']}" if owner else f"Pod/{pod['metadata']['name']}"
    named = (f"{kind.kind}/{name}" for kind in KINDS for name in kind.owners(pod))
    return next(named, own)
