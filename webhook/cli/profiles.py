"""Validate profiles before they are applied: ``fabric-injector profiles validate``."""

from __future__ import annotations

from pathlib import Path

import click

from webhook.cli import options
from webhook.cli.inputs import list_files, note, read_text, shown
from webhook.cli.printing import print_document
from webhook.core.errors import InputError
from webhook.core.printable import printable
from webhook.core.wording import counted

_EXTRA = "libraries are missing: in the source's folder, pipx install --force '.[validate]'"


@click.group("profiles")
def command() -> None:
    """Validate profiles before you apply them."""


@command.command()
@options.manifests(required=True)
@options.recursive
@options.output("json", help="A document with all faults.")
def validate(file: tuple[Path, ...], recursive: bool, output: str | None) -> None:
    """Find all faults of profiles at once, each with file, line and field.

    The rules and their messages are those of the API server. Exit status 0: no fault, 1: some,
    2: a file is unusable.

    \b
    Examples:
      fabric-injector profiles validate -R -f clusters/
      kustomize build | fabric-injector profiles validate -f -
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
    profiles = sum(len(found.profiles) for found in checked.values())
    others = sum(found.others for found in checked.values())
    if not (profiles or faults):
        raise InputError("expected FabricProfiles, found none; name their file")
    if output:
        print_document({"profiles": profiles, "others": others, "faults": faults}, output)
    else:
        for fault in faults:
            click.echo(printable("{file}:{line}: {field}: {message}".format(**fault), limit=None))
        beside = f"; {counted(others, 'other object')} left out" if others else ""
        note(f"{counted(profiles, 'profile')}, {counted(len(faults), 'fault')}{beside}")
    raise SystemExit(1 if faults else 0)
