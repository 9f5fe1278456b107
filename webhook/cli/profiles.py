"""Validate profiles before they are applied: ``fabric-injector profiles validate``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from webhook.cli import options
from webhook.cli.cluster import ClusterCommand, connect_to_cluster
from webhook.cli.inputs import list_files, note, read_text, shown
from webhook.cli.options import option
from webhook.cli.printing import print_document
from webhook.cli.server_side import ask_server
from webhook.core.errors import InputError
from webhook.core.printable import printable
from webhook.core.profiles.objects import PLURAL, PROFILE_API_VERSION
from webhook.core.wording import counted
from webhook.dry_run.templates import Template, Templates
from webhook.kube.connection import Connection
from webhook.validate.sample import sample_pod

if TYPE_CHECKING:  # it needs the extra
    from webhook.validate.text import CheckedProfile

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


@command.command(cls=ClusterCommand)
@options.manifests(required=True)
@options.recursive
@option("--server", is_flag=True, help="Ask the cluster too, by dry-run creates.")
@options.namespace(help="With --server: namespace of the pods.")
@options.output("json", help="A document with all faults.")
def validate(
    file: tuple[Path, ...], recursive: bool, server: bool, namespace: str | None, output: str | None
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
    try:
        from webhook.validate.text import check_text
    except ModuleNotFoundError as error:
        raise InputError(f"{_EXTRA} ({error})") from None
    files = list_files(file, recursive=recursive)
    checked = {shown(path): check_text(read_text(path)) for path in files}
    faults = [
        {"file": source, "line": each.line, "field": each.path, "message": each.message}
        for source, found in checked.items()
        for each in found.problems
    ]
    if server:
        connection = connect_to_cluster()
        space = namespace or connection.namespace or "default"
        faults += [
            {"file": source, "line": profile.line, "field": "server", "message": words}
            for source, found in checked.items()
            for profile in found.profiles
            for words in _ask(connection, space, profile)
        ]
    profiles = sum(len(found.profiles) for found in checked.values())
    others = sum(found.others for found in checked.values())
    if not (profiles or faults):
        given = ", ".join(map(shown, file))
        raise InputError(f"{given}: expected FabricProfiles, found none; name their file")
    if output:
        print_document({"profiles": profiles, "others": others, "faults": faults}, output)
    else:
        for fault in faults:
            click.echo(printable("{file}:{line}: {field}: {message}".format(**fault), limit=None))
        beside = f"; {counted(others, 'other object')} left out" if others else ""
        note(f"{counted(profiles, 'profile')}, {counted(len(faults), 'fault')}{beside}")
    raise SystemExit(1 if faults else 0)


def _ask(connection: Connection, namespace: str, checked: CheckedProfile) -> Iterator[str]:
    """Yield what the API server refuses of a profile and of the pod that it makes.

    That a profile of its name exists is no fault. Raises Unavailable, and InputError if the caller
    may not create pods.
    """
    path = f"/apis/{PROFILE_API_VERSION}/{PLURAL}"
    sent = {**checked.value, "metadata": {"generateName": f"{checked.name}-"}}
    response = connection.request("POST", path, query=_DRY_RUN, body=sent)
    if why := _NOT_ASKED.get(response.status):
        note(f"{checked.name}: the profile itself was not sent to the server: {why}")
    elif response.status >= 300:
        status = response.json()
        causes = (status.get("details") or {}).get("causes") or ()
        yield from (f"{each.get('field', '')}: {each.get('message', '')}" for each in causes)
        if not causes:
            yield str(status.get("message") or response.problem)
    if checked.profile:
        pod = sample_pod(checked.profile)
        template = Template(f"FabricProfile/{checked.name}", namespace, pod)
        (answer,) = ask_server(connection, Templates((template,), ())).pods
        refused = [] if answer.allowed else [answer.message]
        unknown = [each for each in answer.warnings if each.startswith("unknown field")]
        yield from (f"pod in {namespace}: {each}" for each in (*refused, *unknown))
