"""Work with profiles: turn a file of them into objects of the cluster, and back."""

from __future__ import annotations

from pathlib import Path

import click

from webhook.cli.input_files import read_text, shown
from webhook.cli.options import Failure, unusable


@click.group("profiles")
def command() -> None:
    """Turn profiles into FabricProfile objects, and back."""


@command.command("convert")
@click.argument("file", type=click.Path(path_type=Path), default="-")
@click.option(
    "--to", type=click.Choice(["objects", "file"]), default="objects", show_default=True, help="What to print."
)
def convert(file: Path, to: str) -> None:
    """Print the FabricProfile objects of profiles.yaml, or of the ConfigMap that holds it; FILE - is standard input.

    \b
    Examples:
      kubectl get configmap -n fabric-injector fabric-injector-profiles -o yaml | fabric-injector profiles convert > profiles.yaml
      kubectl apply --dry-run=server -f profiles.yaml && kubectl apply -f profiles.yaml
      kubectl get fabricprofiles -o yaml | fabric-injector profiles convert --to file

    Comments are not kept. A Configuration, of what holds for the whole cluster, is printed first: the webhook reads it from its file.
    """  # noqa: D301  # \\b is click's own mark
    import yaml

    from webhook.core.errors import InputError, ProfilesError
    from webhook.core.profiles.convert import to_objects, to_short_form

    try:
        content = read_text(file)
        found = to_objects(content) if to == "objects" else [to_short_form(content)]
    except ProfilesError as error:
        raise Failure(str(unusable(shown(file), error))) from None
    except InputError as error:
        raise Failure(str(error)) from None
    click.echo(yaml.safe_dump_all(found, sort_keys=False, allow_unicode=True, explicit_start=len(found) > 1), nl=False)
