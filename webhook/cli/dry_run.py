"""Show what would be injected into any workload: ``fabric-injector dry-run``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import click

from webhook import names
from webhook.cli.options import Failure, cluster_options, connect_to_cluster
from webhook.dry_run import RENDERERS, DryRun, judge
from webhook.errors import InputError, ProfilesError, Unavailable, WebhookError
from webhook.kube.cluster import Cluster
from webhook.kube.objects import ObjectsWorld, load_objects
from webhook.model import World
from webhook.profiles import Profiles, parse_profiles
from webhook.templates import find_templates, parse_documents

_LOOKUP_SECONDS = 10.0
_FILE = click.Path(path_type=Path, allow_dash=True)


@click.command("dry-run")
@click.option(
    "-f",
    "--file",
    type=_FILE,
    multiple=True,
    show_envvar=True,
    help="Manifest, YAML or JSON; - reads standard input. Repeatable; further FILEs may follow. In the "
    "environment variable, separate files with ':'.",
)
@click.argument("more", type=_FILE, nargs=-1, metavar="[FILE]...")
@click.option("--profiles", type=_FILE, show_envvar=True, help="YAML file of the profiles, as the webhook reads it.")
@click.option(
    "--objects",
    type=_FILE,
    multiple=True,
    show_envvar=True,
    help="YAML or JSON file of Namespaces, NetworkAttachmentDefinitions and Pods in place of a cluster, which is then not "
    "contacted. Repeatable; in the environment variable, separate files with ':'.",
)
@click.option(
    "-n", "--namespace", metavar="NS", show_envvar=True, help="Namespace of objects that name none; else default."
)
@click.option("--profile", metavar="NAME", show_envvar=True, help="Use this profile, whatever the labels say.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(list(RENDERERS)),
    default="diff",
    show_default=True,
    show_envvar=True,
    help="Form of the answer, see Output above.",
)
@click.option(
    "--server",
    is_flag=True,
    show_envvar=True,
    help="Ask the cluster: send each pod as a dry-run create, with your own credentials.",
)
@cluster_options
def command(
    file: tuple[Path, ...],
    more: tuple[Path, ...],
    profiles: Path | None,
    objects: tuple[Path, ...],
    namespace: str | None,
    profile: str | None,
    output: str,
    server: bool,
) -> None:
    """Show what would be injected into any workload, and why.

    FILE holds pods, or anything that holds pod templates: Jobs, Volcano Jobs, PyTorchJobs, TrainJobs, JobSets, LeaderWorkerSets,
    RayClusters, AppWrappers, Deployments, Lists of them, or all that torchx run --dryrun prints. Without --objects the cluster is
    the one of the service account, else of the kubeconfig.

    \b
    Examples:
      fabric-injector dry-run -f job.yaml --profiles profiles.yaml --objects cluster.yaml
      torchx run --dryrun -s kubernetes dist.ddp -j 2x8 --script train.py |
        fabric-injector dry-run -f - --profiles profiles.yaml --namespace research
      fabric-injector dry-run -f job.yaml --server
      fabric-injector dry-run -f pod.yaml --objects cluster.yaml -o patch | jq '.[0].patch'

    \b
    Output:
      diff   for each pod the decision, a unified diff, what each step did, warnings
      json   the document that POST /dry-run answers
      patch  a JSON list of {source, namespace, name, allowed, message, patch}, each with a JSON Patch
      pod    a YAML stream of the pods as they leave admission

    Exit status: 0 all pods are allowed, 1 some pod is denied, 2 the command or its input is wrong.
    """  # noqa: D301  # \\b is click's own mark
    manifests = [*file, *more]
    if not manifests:
        raise click.UsageError("name a manifest: -f FILE, or -f - for standard input")
    if server and (profiles or objects or profile):
        raise click.UsageError(
            "--server asks the cluster, which has its own: leave out --profiles, --objects, --profile"
        )
    try:
        templates = find_templates(_read_all(manifests), namespace)
        if server:
            from webhook.cli.server_side import ask_server

            run = ask_server(connect_to_cluster(), templates)
        else:
            known = _profiles(profiles, objects)
            _check_profile(profile, known)
            run = judge(templates, profile=profile, profiles=known, world=_world(objects))
    except Unavailable as error:
        raise Failure(
            str(error) if server else f"{error}; --server lets the cluster decide, with fewer rights"
        ) from None
    except WebhookError as error:
        raise Failure(str(error)) from None
    _show(run, output)
    sys.exit(2 if run.is_broken else 0 if run.is_allowed else 1)


def _read_all(manifests: Sequence[Path]) -> list[Any]:
    documents: list[Any] = []
    for path in manifests:
        text = _read(path)
        try:
            documents += parse_documents(text)
        except InputError as error:
            raise InputError(f"{_name(path)}: {error}") from None
    if not documents:
        raise InputError(f"{', '.join(map(_name, manifests))}: expected a manifest, found nothing; give it some object")
    return documents


def _read(path: Path) -> str:
    try:
        content = sys.stdin.buffer.read() if path.name == "-" else path.read_bytes()
    except OSError as error:
        raise InputError(f"{_name(path)}: cannot be read ({error.strerror}); correct the path or its mode") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{_name(path)}: line {line}: not UTF-8; save the file in that encoding") from None


def _name(path: Path) -> str:
    return "standard input" if path.name == "-" else str(path)


def _profiles(path: Path | None, objects: Sequence[Path]) -> Profiles:
    if path is None:
        if not objects:
            raise InputError(
                "no --profiles: give the file that the webhook reads (the data of its ConfigMap), or --server to ask the cluster"
            )
        click.echo("no --profiles: the sample profiles are used, see fabric-injector demo", err=True)
        return parse_profiles(files("webhook.demo").joinpath("profiles.yaml").read_text(encoding="utf-8"))
    try:
        return parse_profiles(_read(path))
    except ProfilesError as error:
        faults = "\n".join(f"{_name(path)}: {problem}" for problem in error.problems)
        raise InputError(f"the profiles cannot be used\n{faults}") from None


def _check_profile(name: str | None, known: Profiles) -> None:
    if name is not None and name != names.PROFILE_NONE and name not in known.profiles:
        choice = ", ".join([*sorted(known.profiles), names.PROFILE_NONE])
        raise InputError(f"--profile {name}: no profile is named so; use one of: {choice}")


def _world(objects: Sequence[Path]) -> World:
    if objects:
        return ObjectsWorld(load_objects(objects))
    return Cluster(connect_to_cluster(), lookup_seconds=_LOOKUP_SECONDS)


def _show(run: DryRun, output: str) -> None:
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
