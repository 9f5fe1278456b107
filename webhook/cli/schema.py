"""Print the JSON Schema of profiles.yaml."""

from __future__ import annotations

import json

import click

from webhook.core.profiles import profiles_schema


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of profiles.yaml, for editors and CI.

    \b
    Example: let an editor complete and check the file while you type.
      fabric-injector schema > profiles.schema.json
    and as the first line of profiles.yaml, for every editor with yaml-language-server:
      # yaml-language-server: $schema=profiles.schema.json

    The schema knows each field by itself. What must hold between fields, such as a rendezvous network that is one of the profile's,
    is found when the file is loaded.
    """  # noqa: D301  # \\b is click's own mark
    click.echo(json.dumps(profiles_schema(), indent=2))
