"""Validate profiles before they are applied: ``fabric-injector profiles validate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from webhook.cli.options import (
    CLUSTER_HELP,
    Failure,
    cluster_options,
    connect_to_cluster,
    manifest_options,
    option,
    workload_namespace_option,
)
from webhook.core.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from webhook.validate.text import Found

_EXTRA = "libraries are missing: in the source's folder, pipx install --force '.[validate]'"


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
    from webhook.cli.input_files import list_files, read_text, shown
    from webhook.core.errors import WebhookError

    if not (file or more):
        raise click.UsageError("Missing option '-f' / '--file'.")
    try:
        from webhook.validate.text import check_text
    except ModuleNotFoundError as error:
        raise Failure(f"{_EXTRA} ({error})") from None
    try:
        files = list_files((*file, *more), recursive=recursive)
        checked = {shown(path): check_text(read_text(path)) for path in files}
        lines = [
            f"{source}:{problem.line}: {problem.path}: {problem.message}"
            for source, found in checked.items()
            for problem in found.problems
        ]
        if server:
            from webhook.cli.profiles_server import ask_about

            lines += ask_about(connect_to_cluster(), namespace, checked)
    except WebhookError as error:
        raise Failure(str(error)) from None
    _print(lines, [*checked.values()])
    raise SystemExit(1 if lines else 0)


def _print(lines: list[str], found: Iterable[Found]) -> None:
    from webhook.diagnose.wording import counted

    for line in lines:
        click.echo(printable(line, limit=None))
    profiles = sum(len(each.profiles) for each in found)
    others = sum(each.others for each in found)
    if not (profiles or lines):
        raise Failure("expected FabricProfiles, found none; name their file")
    beside = f"; {counted(others, 'other object')} left out" if others else ""
    click.echo(f"{counted(profiles, 'profile')}, {counted(len(lines), 'fault')}{beside}", err=True)
