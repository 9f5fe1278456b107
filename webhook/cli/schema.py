"""Print the schema of profiles: for editors, or for the API server."""

from __future__ import annotations

import json

import click

from webhook.cli.options import option


@click.command("schema")
@option("--crd", is_flag=True, help="Print the CustomResourceDefinition of FabricProfile, as YAML, in place of it.")
def command(crd: bool) -> None:
    """Print the JSON Schema of profiles.yaml in its short form, for editors and CI.

    \b
    Example: let an editor complete and check the file while you type.
      fabric-injector schema > profiles.schema.json
    and as the first line of profiles.yaml, for every editor with yaml-language-server:
      # yaml-language-server: $schema=profiles.schema.json

    The schema knows each field by itself. What must hold between fields, such as a rendezvous network that is one of the profile's,
    is found when the file is loaded.

    \b
    With --crd, what this version installs: the API server then refuses a wrong profile when it is applied.
      fabric-injector schema --crd | kubectl diff --server-side -f -
    """  # noqa: D301  # \\b is click's own mark
    if crd:
        import yaml

        from webhook.core.profiles.custom_resource import custom_resource_definition

        click.echo(yaml.safe_dump(custom_resource_definition(), sort_keys=False, width=140), nl=False)
    else:
        from webhook.core.profiles import profiles_schema

        click.echo(json.dumps(profiles_schema(), indent=2))
