"""Show what would be injected into any workload: ``fabric-injector dry-run``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from webhook.cli.options import (
    Failure,
    FileType,
    cluster_options,
    connect_to_cluster,
    objects_option,
    option,
    output_option,
    system_namespace_option,
    workload_namespace_option,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from webhook.core.profiles import Profiles
    from webhook.dry_run import DryRun

_FILE = FileType(allow_dash=True)
_FORMS = ("json", "diff", "patch", "pod")
"""The keys of RENDERERS, which help does not import."""


@click.command("dry-run")
@option(
    "-f",
    "--file",
    type=_FILE,
    multiple=True,
    help="Manifest, YAML or JSON, or a folder of them; - reads standard input. Repeatable; further FILEs may follow. In the "
    "environment variable, separate files with ':'.",
)
@option("-R", "--recursive", is_flag=True, help="Read the folders inside a folder too.")
@click.argument("more", type=_FILE, nargs=-1, metavar="[FILE]...")
@option(
    "--profiles",
    type=_FILE,
    help="YAML file of the profiles: FabricProfile objects, or the short form. Default: those that the webhook uses; beside --objects, "
    "the FabricProfiles in there, else samples. Where it holds no Configuration, the cluster's counts, or that in --objects.",
)
@system_namespace_option
@objects_option(_FILE)
@workload_namespace_option(
    "Namespace of objects that name none, and the only one that others may name; else the kubeconfig's, else default. "
    "Without a file: look at its workloads."
)
@option(
    "-A",
    "--all-namespaces",
    is_flag=True,
    help="Look at the workloads that stand in the cluster, in all namespaces.",
)
@option(
    "--profile",
    metavar="NAME",
    help="Use this profile, whatever the labels say; without a file, in namespaces that name none.",
)
@output_option(*_FORMS, default="diff", text="Form of the answer, see Output above.")
@option(
    "--server",
    is_flag=True,
    help="Ask the cluster: send each pod as a dry-run create, with your own credentials.",
)
@option(
    "--require-injection",
    is_flag=True,
    help="End with status 1 where nothing is injected into any pod.",
)
@cluster_options
def command(
    file: tuple[Path, ...],
    recursive: bool,
    more: tuple[Path, ...],
    profiles: Path | None,
    system_namespace: str,
    objects: tuple[Path, ...],
    namespace: str | None,
    all_namespaces: bool,
    profile: str | None,
    output: str,
    server: bool,
    require_injection: bool,
) -> None:
    """Show what would be injected into any workload, and why.

    FILE holds pods, or anything that holds pod templates: Jobs, Volcano Jobs, PyTorchJobs, TrainJobs, JobSets, LeaderWorkerSets,
    PodCliqueSets, StormServices, RayClusters, AppWrappers, Deployments, Lists of them, or all that torchx run --dryrun prints.
    Of a folder, its files that end in .json, .yaml or .yml are read, as by kubectl.
    Without --objects the cluster is the one of the service account, else of the kubeconfig. You need get of the namespace and list of
    fabricprofiles, by ClusterRole fabric-injector-profile-viewer; networks that you may not read are taken to exist, which is said.

    \b
    Examples:
      fabric-injector dry-run -f job.yaml -n research
      fabric-injector dry-run -f job.yaml --profiles profiles.yaml --objects cluster.yaml
      torchx run --dryrun -s kubernetes -cfg queue=default dist.ddp -j 2x8 --script train.py |
        fabric-injector dry-run -f - --profiles changed-profiles.yaml --namespace research
      fabric-injector dry-run -f job.yaml --server
      fabric-injector dry-run -f pod.yaml --objects cluster.yaml -o patch | jq '.[0].patch'
      fabric-injector dry-run -A --profile rdma-shared

    \b
    Output:
      diff   for each pod the decision, a unified diff, what each step did, warnings;
             for each workload its pods by role, and where they meet and train or why they cannot
      json   the document that POST /dry-run answers
      patch  a JSON list of {source, namespace, name, allowed, message, patch}, each with a JSON Patch
      pod    a YAML stream of the pods as they leave admission

    With -A, or -n and no file: a line for each workload that stands in the cluster and that a profile is for, and a sum.

    Exit status: 0 all pods are allowed, 1 some pod is denied, 2 the command or its input is wrong, 3 a workload is half injected or
    cannot meet; of several, 2 counts first, then 1. 1 too where nothing is injected, with --require-injection.
    """  # noqa: D301  # \\b is click's own mark
    manifests = [*file, *more]
    if all_namespaces and (manifests or namespace):
        raise click.UsageError(
            "-A looks at all that stands in the cluster: leave out the manifest and -n"
        )
    looks_around = not manifests and (all_namespaces or namespace is not None)
    if not manifests and not looks_around:
        raise click.UsageError(
            "name a manifest: -f FILE, or -f - for standard input; or look at the cluster's workloads: -A or -n NS"
        )
    if looks_around and (server or objects or output != "diff"):
        raise click.UsageError(
            "-A and -n NS look at the cluster's workloads: leave out --server, --objects and -o"
        )
    if server and (profiles or objects or profile):
        raise click.UsageError(
            "--server asks the cluster, which has its own: leave out --profiles, --objects, --profile"
        )
    from webhook.cli.dry_run_profiles import (
        LOOKUP_SECONDS,
        check_profile,
        choose_profiles,
        note,
        tell_assumed,
    )
    from webhook.cli.input_files import read_manifests
    from webhook.core.errors import Unavailable, WebhookError
    from webhook.dry_run import judge
    from webhook.dry_run.render import next_steps
    from webhook.dry_run.templates import find_templates, require_namespace
    from webhook.world.cluster import Cluster
    from webhook.world.objects import ObjectsWorld, load_objects
    from webhook.world.view import PermittedWorld

    try:
        warnings: dict[int, Sequence[str]] = {}
        documents = read_manifests(manifests, warnings, recursive=recursive) if manifests else []
        if namespace:
            require_namespace(documents, namespace)
        connection = None if objects else connect_to_cluster()
        known: Profiles | None = None
        templates = find_templates(
            documents, namespace or (connection and connection.namespace) or None, warnings
        )
        if server and connection:
            from webhook.cli.server_side import ask_server

            run = ask_server(connection, templates)
        else:
            found = load_objects(objects)
            known = choose_profiles(profiles, found, connection, system_namespace)
            check_profile(profile, known)
            cluster = (
                Cluster(connection, lookup_seconds=LOOKUP_SECONDS)
                if connection
                else ObjectsWorld(found)
            )
            if looks_around and connection:
                from webhook.cli.dry_run_cluster import show_workloads

                decided, is_whole = show_workloads(
                    connection, namespace or "", system_namespace, known, cluster, profile or ""
                )
                if "denied" in decided or (require_injection and "injected" not in decided):
                    sys.exit(1)
                sys.exit(0 if is_whole else 3)
            world = PermittedWorld(cluster)
            run = judge(templates, profile=profile, profiles=known, world=world)
            tell_assumed(world)
    except Unavailable as error:
        is_another_way = not server and " answered " in str(
            error
        )  # without an answer, none comes to --server either
        hint = "; --server lets the cluster decide, with fewer rights" if is_another_way else ""
        raise Failure(f"{error}{hint}") from None
    except WebhookError as error:
        raise Failure(str(error)) from None
    _show(run, output)
    is_injected = any(pod.is_injected for pod in run.pods)
    if not is_injected:
        for step in next_steps(run, known.profiles if known else ()):
            note(f"next: {step}")
    if run.is_broken:
        sys.exit(2)
    if not run.is_allowed or (require_injection and not is_injected):
        sys.exit(1)
    sys.exit(0 if run.is_whole else 3)


def _show(run: DryRun, output: str) -> None:
    from webhook.dry_run import RENDERERS

    if output == "diff" and sys.stdout.isatty():
        from webhook.cli.coloured import print_diff

        print_diff(run)
    else:
        click.echo(RENDERERS[output][1](run), nl=False)
    if output != "diff":
        for part in run.ignored:
            click.echo(f"{part.source}: {part.message}", err=True)
    if not run.pods:
        click.echo("no pod template was found", err=True)
