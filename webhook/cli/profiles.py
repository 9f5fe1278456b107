"""Validate profiles before they are applied: ``fabric-injector profiles validate``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from webhook.cli import options
from webhook.cli.findings import print_document
from webhook.cli.inputs import list_files, read_text, shown
from webhook.cli.options import Failure, connect_to_cluster, option
from webhook.cli.server_side import ask_server
from webhook.core.printable import printable
from webhook.core.profiles import Profile
from webhook.core.profiles.objects import PLURAL, PROFILE_API_VERSION
from webhook.core.wording import counted
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


@click.group("profiles")
def command() -> None:
    """Validate profiles before you apply them."""


class Fault(NamedTuple):
    """Say what is wrong with a profile; *field* is ``server`` for the cluster's own words."""

    file: str
    line: int
    field: str
    message: str


@command.command(epilog=options.CLUSTER_HELP)
@options.manifests
@options.recursive
@option("--server", is_flag=True, help="Ask the cluster too, by dry-run creates.")
@options.namespace("With --server: namespace of the pods.")
@options.output("json", text="A document with all faults.")
@options.cluster
def validate(
    file: tuple[Path, ...],
    recursive: bool,
    server: bool,
    namespace: str | None,
    output: str | None,
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
    if not file:
        raise click.UsageError("Missing option '-f' / '--file'.")
    try:
        from webhook.validate.text import check_text
    except ModuleNotFoundError as error:
        raise Failure(f"{_EXTRA} ({error})") from None
    files = list_files(file, recursive=recursive)
    checked = {shown(path): check_text(read_text(path)) for path in files}
    faults = [
        Fault(source, problem.line, problem.path, problem.message)
        for source, found in checked.items()
        for problem in found.problems
    ]
    faults += _ask_about(connect_to_cluster(), namespace, checked) if server else ()
    _print(faults, [*checked.values()], output)
    raise SystemExit(1 if faults else 0)


def _print(faults: list[Fault], checked: list[Found], output: str | None) -> None:
    profiles = sum(len(each.profiles) for each in checked)
    others = sum(each.others for each in checked)
    if not (profiles or faults):
        raise Failure("expected FabricProfiles, found none; name their file")
    if output:
        told = [fault._asdict() for fault in faults]
        print_document({"profiles": profiles, "others": others, "faults": told}, output)
        return
    for fault in faults:
        line = f"{fault.file}:{fault.line}: {fault.field}: {fault.message}"
        click.echo(printable(line, limit=None))
    beside = f"; {counted(others, 'other object')} left out" if others else ""
    click.echo(f"{counted(profiles, 'profile')}, {counted(len(faults), 'fault')}{beside}", err=True)


def _ask_about(
    connection: Connection, namespace: str | None, checked: Mapping[str, Found]
) -> Iterator[Fault]:
    """Yield what the API server refuses of profiles and the pods that they make.

    Raises Unavailable, and InputError if the caller may not create pods.
    """
    namespace = namespace or connection.namespace or "default"
    for source, found in checked.items():
        for profile in found.profiles:
            words = [*_ask_profile(connection, profile)]
            if profile.profile:
                of_pod = _ask_pod(connection, namespace, profile.profile)
                words += (f"pod in {namespace}: {each}" for each in of_pod)
            yield from (Fault(source, profile.line, "server", each) for each in words)


def _ask_profile(connection: Connection, profile: CheckedProfile) -> Iterator[str]:
    """Yield the server's words about the object; that one of its name exists is no fault."""
    path = f"/apis/{PROFILE_API_VERSION}/{PLURAL}"
    sent = {**profile.value, "metadata": {"generateName": f"{profile.name}-"}}
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
