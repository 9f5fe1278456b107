"""Let the API server judge profiles and the pods that they make, by dry-run creates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import click

from webhook.cli.server_side import ask_server
from webhook.core.printable import printable
from webhook.core.profiles import Profile
from webhook.core.profiles.objects import PLURAL, PROFILE_API_VERSION
from webhook.dry_run.templates import Template, Templates
from webhook.kube.connection import Connection, Response
from webhook.validate.sample import sample_pod
from webhook.validate.text import CheckedProfile, Found

_DRY_RUN = {"dryRun": "All", "fieldValidation": "Strict"}
_NOT_ASKED = {
    401: "log in to the cluster again",
    403: "you may not create FabricProfiles",
    404: "the cluster has no FabricProfiles",
}
_CONFLICT = 409


def ask_about(
    connection: Connection, namespace: str | None, checked: Mapping[str, Found]
) -> Iterator[str]:
    """Yield what the API server refuses, a line each.

    Raises Unavailable, and InputError if the caller may not create pods.
    """
    namespace = namespace or connection.namespace or "default"
    for source, found in checked.items():
        for profile in found.profiles:
            place = f"{source}:{profile.line}"
            yield from (f"{place}: server: {each}" for each in _ask_profile(connection, profile))
            if profile.profile:
                words = _ask_pod(connection, namespace, profile.profile)
                yield from (f"{place}: server: pod in {namespace}: {each}" for each in words)


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
        yield from _words(response)


def _words(response: Response) -> Iterator[str]:
    """Yield each cause of a refusal, else its message."""
    status = response.json()
    causes = (status.get("details") or {}).get("causes") or ()
    if not causes:
        yield str(status.get("message") or response.problem)
    for cause in causes:
        yield f"{cause.get('field', '')}: {cause.get('message', '')}"


def _ask_pod(connection: Connection, namespace: str, profile: Profile) -> Iterator[str]:
    template = Template(f"FabricProfile/{profile.name}", namespace, sample_pod(profile))
    (answer,) = ask_server(connection, Templates((template,), ())).pods
    if not answer.allowed:
        yield answer.message
    yield from (each for each in answer.warnings if each.startswith("unknown field"))
