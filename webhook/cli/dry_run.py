"""Show what would be injected into any workload: ``fabric-injector dry-run``."""

import sys
from collections.abc import Collection, Sequence
from typing import Any

import click

from webhook.cli import options
from webhook.cli.dry_run_cluster import judge_workloads
from webhook.cli.findings import print_lines
from webhook.cli.inputs import (
    choose_profiles,
    note,
    note_unread,
    permitted_world,
    read_manifests,
    read_profiles,
)
from webhook.cli.options import MANIFEST, connect_to_cluster, option
from webhook.cli.server_side import ask_server
from webhook.core.errors import InputError
from webhook.diagnose.snapshot import Snapshot
from webhook.dry_run import RENDERERS, DryRun, judge
from webhook.dry_run.screen import screen
from webhook.dry_run.templates import find_templates, require_namespace
from webhook.world.objects import ObjectsWorld, load_objects
from webhook.world.profiles_read import of_file_objects


@click.command("dry-run", cls=options.ClusterCommand)
@options.manifests
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
    if is_list:
        runs = judge_workloads(given)
    else:
        run, profiles = _judge_files(given)
        _show(run, profiles, given)
        runs = [run]
    sys.exit(_exit_status(runs, given["require_injection"]))


def _refuse_contradictions(given: dict[str, Any], *, is_list: bool) -> None:
    """Raise UsageError for options that do not go together."""
    files, output = given["file"], given["output"]
    of_pods = any(given[key] for key in ("server", "objects", "diff", "verbose"))
    of_files = any(given[key] for key in ("profiles", "objects", "profile"))
    wrong = ""
    if given["all_namespaces"] and (files or given["namespace"]):
        wrong = "-A lists all workloads of the cluster: leave out -n and the file"
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
    if any(run.is_broken for run in runs):
        return 2
    is_injected = any(pod.is_injected for run in runs for pod in run.pods)
    if not all(run.is_allowed for run in runs) or (is_injection_required and not is_injected):
        return 1
    return 0 if all(run.is_whole for run in runs) else 3


def _judge_files(given: dict[str, Any]) -> tuple[DryRun, Collection[str]]:
    """Judge the pods of the manifests; return the names of all profiles too.

    *given*: the options of the command. All files are read before a cluster is asked.
    """
    namespace, profile = given["namespace"], given["profile"]
    warnings: dict[int, Sequence[str]] = {}
    documents = read_manifests(given["file"], warnings, recursive=given["recursive"])
    if namespace:
        require_namespace(documents, namespace)
    read, objects = read_profiles(given["profiles"]), load_objects(given["objects"])
    if given["objects"]:
        read = read or of_file_objects("--objects", objects)
        if read is None:
            raise InputError("--objects holds no FabricProfile: give --profiles FILE")
        templates = find_templates(documents, namespace, warnings)
        known, world = choose_profiles(read, profile), ObjectsWorld(objects)
        run = judge(templates, profile=profile, profiles=known, world=world)
        return run, known.profiles
    connection = connect_to_cluster()
    templates = find_templates(documents, namespace or connection.namespace, warnings)
    if given["server"]:
        return ask_server(connection, templates), ()
    snapshot = Snapshot(connection, system_namespace=given["system_namespace"], given=read)
    known, seen = choose_profiles(snapshot.profiles(), profile), permitted_world(connection)
    run = judge(templates, profile=profile, profiles=known, world=seen)
    note_unread(snapshot, seen)
    return run, known.profiles


def _show(run: DryRun, profiles: Collection[str], given: dict[str, Any]) -> None:
    if output := given["output"]:
        click.echo(RENDERERS[output](run), nl=False)
        for part in run.ignored:
            note(f"{part.source}: {part.message}")
    else:
        print_lines(screen(run, profiles, diff=given["diff"], verbose=given["verbose"]))
    if not run.pods:
        note("no pod template was found")
