"""Validate profiles before they are applied: ``fabric-injector profiles validate``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from webhook.cli.input_files import list_files, read_text, shown
from webhook.cli.options import (
    CLUSTER_HELP,
    Failure,
    cluster_options,
    connect_to_cluster,
    manifest_options,
    option,
    workload_namespace_option,
)
from webhook.cli.server_side import ask_server
from webhook.core.printable import printable
from webhook.core.profiles import Profile
from webhook.core.profiles.objects import PLURAL, PROFILE_API_VERSION
from webhook.diagnose.wording import counted
from webhook.dry_run.templates import Template, Templates
from webhook.kube.connection import Connection
from webhook.validate.sample import sample_pod

if TYPE_CHECKING:  # it needs the extra
    from webhook.validate.text import CheckedProfile, Found

_EXTRA = "libraries are missing: in the source's folder, pipx install --force '.[validate]'"
_DRY_RUN = {"dryRun": "All", "fieldValidation": "Strict"}
_NOT_ASKED = {
    401: "log in to the cluster again",
    403: "you may not create FabricProfiles",
    404: "the cluster has no FabricProfiles",
}
_CONFLICT = 409


@click.group("profiles")
def command() -> None:
    """Validate profiles before you apply them.

    \b
    Examples:
      fabric-injector profiles validate -f profile.yaml
    """  # noqa: D301  # \\b is click's own mark


@command.command(epilog=CLUSTER_HELP)
@manifest_options
@option("--server", is_flag=True, help="Ask the cluster too, by dry-run creates.")
@workload_namespace_option("With --server: namespace of the pods.")
@cluster_options
def validate(
    file: tuple[Path, ...],
    recursive: bool,
    more: tuple[Path, ...],
    server: bool,
    namespace: str | None,
) -> None:
    """Find all faults of profiles at once, each with file, line and field.

    The rules and their messages are those of the API server. Exit status 0: no fault, 1: some,
    2: a file is unusable, or the cluster gives no answer.

    \b
    Examples:
      fabric-injector profiles validate -R -f clusters/
      kustomize build | fabric-injector profiles validate -f -
      fabric-injector profiles validate -f profile.yaml --server -n research
    """  # noqa: D301  # \\b is click's own mark
    if not (file or more):
        raise click.UsageError("Missing option '-f' / '--file'.")
    try:
        from webhook.validate.text import check_text
    except ModuleNotFoundError as error:
        raise Failure(f"{_EXTRA} ({error})") from None
    files = list_files((*file, *more), recursive=recursive)
    checked = {shown(path): check_text(read_text(path)) for path in files}
    lines = [
        f"{source}:{problem.line}: {problem.path}: {problem.message}"
        for source, found in checked.items()
        for problem in found.problems
    ]
    lines += _ask_about(connect_to_cluster(), namespace, checked) if server else ()
    for line in lines:
        click.echo(printable(line, limit=None))
    profiles = sum(len(each.profiles) for each in checked.values())
    others = sum(each.others for each in checked.values())
    if not (profiles or lines):
        raise Failure("expected FabricProfiles, found none; name their file")
    beside = f"; {counted(others, 'other object')} left out" if others else ""
    click.echo(f"{counted(profiles, 'profile')}, {counted(len(lines), 'fault')}{beside}", err=True)
    raise SystemExit(1 if lines else 0)


def _ask_about(
    connection: Connection, namespace: str | None, checked: Mapping[str, Found]
) -> Iterator[str]:
    """Yield what the API server refuses of profiles and the pods that they make, a line each.

    Raises Unavailable, and InputError if the caller may not create pods.
    """
    namespace = namespace or connection.namespace or "default"
    for source, found in checked.items():
        for profile in found.profiles:
            place = f"{source}:{profile.line}: server"
            yield from (f"{place}: {each}" for each in _ask_profile(connection, profile))
            if profile.profile:
                words = _ask_pod(connection, namespace, profile.profile)
                yield from (f"{place}: pod in {namespace}: {each}" for each in words)


def _ask_profile(connection: Connection, profile: CheckedProfile) -> Iterator[str]:
    """Yield the server's words about the object; one of this name that exists is no fault."""
    path = f"/apis/{PROFILE_API_VERSION}/{PLURAL}"
    sent = profile.value
    response = connection.request("POST", path, query=_DRY_RUN, body=sent)
    if response.status == _CONFLICT:
        sent = {**sent, "metadata": {"generateName": f"{profile.name}-"}}
        response = connection.request("POST", path, query=_DRY_RUN, body=sent)
    if response.status in _NOT_ASKED:
        why = _NOT_ASKED[response.status]
        note = f"{profile.name}: the profile itself was not sent to the server: {why}"
        click.echo(printable(note, limit=None), err=True)
    elif response.status >= 300:
        status = response.json()
        causes = (status.get("details") or {}).get("causes") or ()
        yield from (f"{each.get('field', '')}: {each.get('message', '')}" for each in causes)
        if not causes:
            yield str(status.get("message") or response.problem)


def _ask_pod(connection: Connection, namespace: str, profile: Profile) -> Iterator[str]:
    template = Template(f"FabricProfile/{profile.name}", namespace, sample_pod(profile))
    (answer,) = ask_server(connection, Templates((template,), ())).pods
    if not answer.allowed:
        yield answer.message
    yield from (each for each in answer.warnings if each.startswith("unknown field"))
