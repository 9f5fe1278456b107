"""Check a cluster before and after installation: ``fabric-injector check``."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from webhook.cli.findings import echo, print_codes, print_findings, print_json, show_progress
from webhook.cli.options import (
    FILE,
    Failure,
    cluster_options,
    connect_to_cluster,
    option,
    output_option,
    webhook_configuration_option,
)
from webhook.core.printable import printable

if TYPE_CHECKING:
    from pathlib import Path

    from webhook.diagnose.finding import Finding
    from webhook.diagnose.snapshot import Snapshot
    from webhook.world.profiles_read import ProfilesRead

_WAIT_SECONDS = 300.0
_PAUSE_SECONDS = 3.0


class _Seconds(click.FloatRange):
    """Read how long to wait; ``nan``, which is neither less nor more than anything, would never be over."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        return (
            self.fail(f"{value!r} is not a valid float range.", param, ctx)
            if math.isnan(found)
            else found
        )


@click.command("check")
@option(
    "--profiles",
    type=FILE,
    help="YAML file of FabricProfile objects. Default: those that the webhook uses.",
)
@option(
    "-n",
    "--namespace",
    "workload",
    metavar="NS",
    default="",
    help="Look at the pods of this namespace only. Default: at all, and at the installation.",
)
@option(
    "--system-namespace",
    metavar="NS",
    help="Namespace that fabric-injector is, or will be, installed in. Default: that of the "
    "Service that its webhook configuration calls, or fabric-injector without one.",
)
@click.option(
    "--wait",
    is_flag=False,
    flag_value=_WAIT_SECONDS,
    type=_Seconds(min=0),
    metavar="[SECONDS]",
    help=f"Look again until nothing fails, as long as this: for pipelines, after installation. Alone: {_WAIT_SECONDS:g} s.",
)
@webhook_configuration_option
@cluster_options
@output_option(
    "text",
    "json",
    default="text",
    text="text: a line for each finding, failures first. json: one document for programs, with each finding's stable code.",
)
def command(
    profiles: Path | None,
    workload: str,
    system_namespace: str | None,
    wait: float | None,
    webhook_configuration: str,
    output: str,
) -> None:
    """Look at profiles, networks, nodes, certificates, privileges, quotas and pods, and say what to do.

    Works before installation and after. Nothing is changed: the one pod that is sent is a dry run, which tells whether the webhook
    is called. What may not be read becomes a warning. Exit status 0: nothing failed, 1: something did, 2: the command or its input
    is wrong, or the cluster gives no answer.

    \b
    Examples:
      fabric-injector check --profiles profiles.yaml
      fabric-injector check --wait 120
      fabric-injector check -n research
      fabric-injector check -o json | jq '.findings[] | select(.level == "fail")'
    """  # noqa: D301  # \\b is click's own mark
    from webhook.core.errors import InputError, Unavailable
    from webhook.diagnose.check import open_snapshot
    from webhook.diagnose.finding import exit_status

    ends = time.monotonic() + (wait or 0.0)
    try:
        given = None if profiles is None else _read(profiles)
        connection = connect_to_cluster()
        while True:
            try:
                snapshot = open_snapshot(
                    connection,
                    workload,
                    system_namespace,
                    configuration=webhook_configuration,
                    given=given,
                )
                findings = _look(snapshot)
                if time.monotonic() >= ends or not exit_status(findings):
                    break
            except Unavailable:
                if time.monotonic() >= ends:
                    raise
            time.sleep(min(_PAUSE_SECONDS, max(0.0, ends - time.monotonic())))
    except (InputError, Unavailable) as error:
        raise Failure(str(error)) from None
    if output == "json":
        print_json(
            findings,
            cluster=connection.title,
            systemNamespace=snapshot.system_namespace,
            namespace=snapshot.namespace or None,
        )
    else:
        _print(findings, snapshot)
    raise SystemExit(exit_status(findings))


def _look(snapshot: Snapshot) -> list[Finding]:
    from webhook.diagnose.check import check

    with show_progress() as progress:
        snapshot.tell = progress
        return check(snapshot)


def _print(findings: Sequence[Finding], snapshot: Snapshot) -> None:
    from webhook.diagnose.finding import count, grouped
    from webhook.diagnose.wording import counted

    number = count(findings)
    verdict = (
        counted(number["fail"], "failure"),
        counted(number["warn"], "warning"),
        f"{number['ok']:,} ok",
    )
    scope = f"installation in namespace {snapshot.system_namespace}"
    if snapshot.namespace:
        scope = f"namespace {snapshot.namespace}"
    echo(", ".join(verdict))
    echo(f"cluster: {printable(snapshot.connection.title, limit=None)}; {scope}")
    print_findings(grouped(findings))
    print_codes(findings)


def _read(path: Path) -> ProfilesRead:
    """Read the profiles of the file; its faults are findings, but a file that cannot be read is a wrong command."""
    from webhook.cli.input_files import read_text
    from webhook.world.profiles_read import read_file

    return read_file(str(path), read_text(path))
