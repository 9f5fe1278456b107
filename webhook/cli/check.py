"""Check a cluster before and after installation: ``fabric-injector check``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from webhook.cli.findings import echo, print_findings, print_json
from webhook.cli.options import (
    FILE,
    Failure,
    cluster_options,
    connect_to_cluster,
    namespace_option,
    option,
    output_option,
    validating_configuration_option,
    webhook_configuration_option,
)

if TYPE_CHECKING:
    from webhook.world.profiles_read import ProfilesRead

_LINE = 100


@click.command("check")
@option(
    "--profiles",
    type=FILE,
    help="YAML file of the profiles: FabricProfile objects, or the short form. Default: those that the webhook uses.",
)
@namespace_option("CHECK", "Namespace that fabric-injector is, or will be, installed in.")
@click.option(
    "--explain",
    "code",
    metavar="CODE",
    help="Print what a finding's code means, how to see it and what to do; look at nothing.",
)
@webhook_configuration_option
@validating_configuration_option
@cluster_options
@output_option(
    "text",
    "json",
    default="text",
    text="text: a line for each finding, failures first. json: one document for programs, with each finding's stable code.",
)
def command(
    profiles: Path | None,
    namespace: str,
    code: str | None,
    webhook_configuration: str,
    validating_configuration: str,
    output: str,
) -> None:
    """Look at profiles, networks, nodes, certificates, privileges, quotas and pods, and say what to do.

    Works before installation and after. Nothing is changed: the one pod that is sent is a dry run, which tells whether the webhook
    is called. What may not be read becomes a warning. Exit status 0: nothing failed, 1: something did, 2: the command or its input
    is wrong, or the cluster gives no answer.

    \b
    Examples:
      fabric-injector check --profiles profiles.yaml
      fabric-injector check
      fabric-injector check -o json | jq '.findings[] | select(.level == "fail")'
    """  # noqa: D301  # \\b is click's own mark
    if code is not None:
        _explain(code)
        return
    from webhook.core.errors import InputError, Unavailable
    from webhook.diagnose.check import Subject, examine
    from webhook.diagnose.collect.inventory import take_inventory
    from webhook.diagnose.finding import count, exit_status, worst_first

    try:
        given = None if profiles is None else _read(profiles)
        subject = Subject(namespace, webhook_configuration, validating_configuration)
        inventory = take_inventory(connect_to_cluster(), subject, given, _progress())
    except (InputError, Unavailable) as error:
        raise Failure(str(error)) from None
    finally:
        _clear()
    findings = worst_first(examine(inventory))
    if output == "json":
        print_json(findings)
    else:
        print_findings(findings)
        click.echo(", ".join(f"{number} {level}" for level, number in count(findings).items()))
    raise SystemExit(exit_status(findings))


def _explain(written: str) -> None:
    from webhook.diagnose.manual import find_code, section

    code = find_code(written)
    if code is None:
        raise click.BadParameter(
            f"no finding has code {written!r}; -o json shows each finding's, and docs/findings.md lists all",
            param_hint="--explain",
        )
    echo(section(code).rstrip())


def _read(path: Path) -> ProfilesRead:
    """Read the profiles of the file; its faults are findings, but a file that cannot be read is a wrong command."""
    from webhook.cli.input_files import read_text
    from webhook.world.profiles_read import read_file

    return read_file(str(path), read_text(path))


def _progress() -> Callable[[str], None]:
    """Show the progress on a terminal; a file or a pipe gets findings only."""
    if not sys.stderr.isatty():
        return lambda _text: None
    return lambda text: click.echo(f"\r{text:<{_LINE}.{_LINE}}", err=True, nl=False)


def _clear() -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{'':<{_LINE}}\r", err=True, nl=False)
