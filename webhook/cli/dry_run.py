"""Show what would be injected into any workload: ``fabric-injector dry-run``."""

import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import click

from webhook.cli.dry_run_cluster import list_workloads
from webhook.cli.dry_run_profiles import (
    LOOKUP_SECONDS,
    assumed_networks,
    check_profile,
    choose_profiles,
    note,
)
from webhook.cli.findings import print_lines
from webhook.cli.input_files import read_manifests
from webhook.cli.options import (
    CLUSTER_HELP,
    MANIFEST,
    Failure,
    all_namespaces_option,
    cluster_options,
    connect_to_cluster,
    manifest_options,
    no_headers_option,
    objects_option,
    option,
    output_option,
    selector_option,
    system_namespace_option,
    workload_namespace_option,
)
from webhook.cli.server_side import ask_server
from webhook.core.errors import Unavailable
from webhook.dry_run import RENDERERS, DryRun, judge
from webhook.dry_run.screen import screen
from webhook.dry_run.templates import find_templates, require_namespace
from webhook.kube.connection import Connection
from webhook.world.cluster import Cluster
from webhook.world.objects import ObjectsWorld, load_objects
from webhook.world.view import PermittedWorld


@click.command("dry-run", epilog=CLUSTER_HELP)
@manifest_options
@workload_namespace_option("Namespace of objects that name none.")
@all_namespaces_option
@option("--profiles", type=MANIFEST, help="File of FabricProfiles, not the cluster's.")
@option("--profile", metavar="NAME", help="Use this profile, whatever the labels say.")
@objects_option(MANIFEST)
@option("--server", is_flag=True, help="Send each pod to the cluster, as a dry-run create.")
@option("--diff", is_flag=True, help="Show what changes in each pod.")
@option("-v", "--verbose", is_flag=True, help="Show each step and its reason.")
@output_option(
    *(*RENDERERS, "name", "wide"),
    default=None,
    text="json, yaml, patch or pod; of a list name or wide.",
)
@no_headers_option
@selector_option("List workloads of these labels.")
@option("--require-injection", is_flag=True, help="End with 1 if nothing is injected.")
@system_namespace_option
@cluster_options
def command(
    file: tuple[Path, ...],
    more: tuple[Path, ...],
    namespace: str | None,
    all_namespaces: bool,
    objects: tuple[Path, ...],
    server: bool,
    require_injection: bool,
    **_: Any,
) -> None:
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
    manifests = [*file, *more]
    lists = not manifests and (all_namespaces or namespace is not None)
    _refuse_contradictions(manifests, lists=lists)
    try:
        connection = None if objects else connect_to_cluster()
        if lists and connection:
            decided, is_whole = _list(connection, namespace or "")
            is_denied, is_injected = "denied" in decided, "injected" in decided
        else:
            run = _run(manifests, connection, namespace)
            if run.is_broken:
                sys.exit(2)
            is_denied, is_whole = not run.is_allowed, run.is_whole
            is_injected = any(pod.is_injected for pod in run.pods)
    except Unavailable as error:
        # without an answer, --server gets none either
        is_another_way = not server and " answered " in str(error)
        hint = "; --server lets the cluster decide, with fewer rights" if is_another_way else ""
        raise Failure(f"{error}{hint}") from None
    if is_denied or (require_injection and not is_injected):
        sys.exit(1)
    sys.exit(0 if is_whole else 3)


def _refuse_contradictions(manifests: Sequence[Path], *, lists: bool) -> None:
    """Raise UsageError for options that do not go together."""
    given = click.get_current_context().params
    of_pods = ("server", "objects", "diff", "verbose")
    refusals = {
        "-A lists all workloads of the cluster: leave out -n and the file": given["all_namespaces"]
        and (manifests or given["namespace"]),
        "name a manifest: -f FILE, or -f -; or list workloads: -A or -n NS": not manifests
        and not lists,
        "a list takes -o json|yaml|name|wide, -l, --profile and --profiles": lists
        and (any(given[key] for key in of_pods) or given["output"] in ("patch", "pod")),
        "pods of a file take -o json|patch|pod|yaml, and no -l": manifests
        and (given["selector"] or given["output"] in ("name", "wide")),
        "--server asks the cluster, which has its own: leave out --profiles, --objects, "
        "--profile": given["server"]
        and (given["profiles"] or given["objects"] or given["profile"]),
    }
    for message, is_given in refusals.items():
        if is_given:
            raise click.UsageError(message)


def _list(connection: Connection, namespace: str) -> tuple[Collection[str], bool]:
    """Print a line for each workload; return what was decided, and whether all are whole."""
    given = click.get_current_context().params
    known = choose_profiles(given["profiles"], [], connection, given["system_namespace"])
    check_profile(given["profile"], known)
    return list_workloads(
        connection,
        (namespace, given["system_namespace"], given["selector"]),
        known,
        Cluster(connection, lookup_seconds=LOOKUP_SECONDS),
        given["profile"] or "",
        (given["output"], given["no_headers"]),
    )


def _run(manifests: Sequence[Path], connection: Connection | None, namespace: str | None) -> DryRun:
    """Judge the pods of the manifests, and print the answers."""
    given = click.get_current_context().params
    warnings: dict[int, Sequence[str]] = {}
    documents = read_manifests(manifests, warnings, recursive=given["recursive"])
    if namespace:
        require_namespace(documents, namespace)
    space = namespace or (connection and connection.namespace) or None
    templates = find_templates(documents, space, warnings)
    if given["server"] and connection:
        run = ask_server(connection, templates)
        _show(run, ())
        return run
    found, profile = load_objects(given["objects"]), given["profile"]
    known = choose_profiles(given["profiles"], found, connection, given["system_namespace"])
    check_profile(profile, known)
    live = Cluster(connection, lookup_seconds=LOOKUP_SECONDS) if connection else None
    world = PermittedWorld(live or ObjectsWorld(found))
    run = judge(templates, profile=profile, profiles=known, world=world)
    if assumed := assumed_networks(world):
        note(assumed)
    _show(run, known.profiles)
    return run


def _show(run: DryRun, profiles: Collection[str]) -> None:
    given = click.get_current_context().params
    if output := given["output"]:
        click.echo(RENDERERS[output](run), nl=False)
        for part in run.ignored:
            note(f"{part.source}: {part.message}")
    else:
        print_lines(screen(run, profiles, diff=given["diff"], verbose=given["verbose"]))
    if not run.pods:
        note("no pod template was found")
