"""Show what would be injected into any workload: ``fabric-injector dry-run``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

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

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from webhook.core.profiles import Profiles
    from webhook.dry_run import DryRun
    from webhook.kube.connection import Connection


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
    *("json", "yaml", "patch", "pod", "name", "wide"),
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
    from webhook.core.errors import Unavailable, WebhookError

    try:
        connection = None if objects else connect_to_cluster()
        if lists and connection:
            _end_list(*_list(connection, namespace or ""))
        run, known = _run(manifests, connection, namespace)
    except Unavailable as error:
        # without an answer, --server gets none either
        is_another_way = not server and " answered " in str(error)
        hint = "; --server lets the cluster decide, with fewer rights" if is_another_way else ""
        raise Failure(f"{error}{hint}") from None
    except WebhookError as error:
        raise Failure(str(error)) from None
    _show(run, known.profiles if known else ())
    if run.is_broken:
        sys.exit(2)
    is_injected = any(pod.is_injected for pod in run.pods)
    if not run.is_allowed or (require_injection and not is_injected):
        sys.exit(1)
    sys.exit(0 if run.is_whole else 3)


def _refuse_contradictions(manifests: Sequence[Path], *, lists: bool) -> None:
    """Raise UsageError for options that do not go together."""
    given = click.get_current_context().params
    if given["all_namespaces"] and (manifests or given["namespace"]):
        raise click.UsageError("-A lists all workloads of the cluster: leave out -n and the file")
    if not manifests and not lists:
        raise click.UsageError("name a manifest: -f FILE, or -f -; or list workloads: -A or -n NS")
    of_pods = ("server", "objects", "diff", "verbose")
    if lists and (any(given[key] for key in of_pods) or given["output"] in ("patch", "pod")):
        raise click.UsageError("a list takes -o json|yaml|name|wide, -l, --profile and --profiles")
    if manifests and (given["selector"] or given["output"] in ("name", "wide")):
        raise click.UsageError("pods of a file take -o json|patch|pod|yaml, and no -l")
    if given["server"] and (given["profiles"] or given["objects"] or given["profile"]):
        instead = "leave out --profiles, --objects, --profile"
        raise click.UsageError(f"--server asks the cluster, which has its own: {instead}")


def _list(connection: Connection, namespace: str) -> tuple[Collection[str], bool]:
    """Print a line for each workload; return what was decided, and whether all are whole."""
    from webhook.cli.dry_run_cluster import list_workloads
    from webhook.cli.dry_run_profiles import LOOKUP_SECONDS, check_profile, choose_profiles
    from webhook.world.cluster import Cluster

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


def _end_list(decided: Collection[str], is_whole: bool) -> NoReturn:
    is_missed = (
        click.get_current_context().params["require_injection"] and "injected" not in decided
    )
    sys.exit(1 if "denied" in decided or is_missed else 0 if is_whole else 3)


def _run(
    manifests: Sequence[Path], connection: Connection | None, namespace: str | None
) -> tuple[DryRun, Profiles | None]:
    """Judge the pods of the manifests; return the profiles too, None if the server judges."""
    from webhook.cli.dry_run_profiles import (
        LOOKUP_SECONDS,
        assumed_networks,
        check_profile,
        choose_profiles,
        note,
    )
    from webhook.cli.input_files import read_manifests
    from webhook.dry_run import judge
    from webhook.dry_run.templates import find_templates, require_namespace
    from webhook.world.cluster import Cluster
    from webhook.world.objects import ObjectsWorld, load_objects
    from webhook.world.view import PermittedWorld

    given = click.get_current_context().params
    warnings: dict[int, Sequence[str]] = {}
    documents = read_manifests(manifests, warnings, recursive=given["recursive"])
    if namespace:
        require_namespace(documents, namespace)
    space = namespace or (connection and connection.namespace) or None
    templates = find_templates(documents, space, warnings)
    if given["server"] and connection:
        from webhook.cli.server_side import ask_server

        return ask_server(connection, templates), None
    found = load_objects(given["objects"])
    known = choose_profiles(given["profiles"], found, connection, given["system_namespace"])
    profile = given["profile"]
    check_profile(profile, known)
    live = Cluster(connection, lookup_seconds=LOOKUP_SECONDS) if connection else None
    world = PermittedWorld(live or ObjectsWorld(found))
    run = judge(templates, profile=profile, profiles=known, world=world)
    if assumed := assumed_networks(world):
        note(assumed)
    return run, known


def _show(run: DryRun, profiles: Collection[str]) -> None:
    from webhook.cli.dry_run_profiles import note
    from webhook.cli.terminal import print_lines
    from webhook.dry_run.render import RENDERERS
    from webhook.dry_run.screen import screen

    given = click.get_current_context().params
    if output := given["output"]:
        click.echo(RENDERERS[output](run), nl=False)
        for part in run.ignored:
            note(f"{part.source}: {part.message}")
    else:
        print_lines(screen(run, profiles, diff=given["diff"], verbose=given["verbose"]))
    if not run.pods:
        note("no pod template was found")
