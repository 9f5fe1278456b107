"""Show all jobs of a cluster or a namespace, and what is wrong with each: ``fabric-injector status``."""

from __future__ import annotations

import gc
import json
import logging
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from webhook.cli.findings import echo, print_document, show_progress
from webhook.cli.input_files import read_profiles_option
from webhook.cli.options import (
    FILE,
    Failure,
    cluster_options,
    connect_to_cluster,
    option,
    output_option,
    system_namespace_option,
)
from webhook.core.errors import Unavailable, WebhookError
from webhook.core.printable import printable
from webhook.diagnose.wording import counted

if TYPE_CHECKING:
    from webhook.diagnose.listing import Unread
    from webhook.diagnose.status.status import JobStatus
    from webhook.kube.connection import Connection
    from webhook.world.profiles_read import ProfilesRead

_HEADINGS = ("NAMESPACE", "JOB", "PHASE", "MEMBERS", "WAITS", "ADDRESS")
_FINDING = "FIRST FINDING"
_COLOUR = {"fail": "red", "warn": "yellow"}
_LEAST_FINDING = 40
"""Characters that a finding gets in the line of its job; where a terminal has fewer, it has a line of its own."""
_LEAST_SECONDS, _MOST_SECONDS = 2.0, 10.0
"""How soon one look follows another, and how long nothing may change before waits are shown as they have grown."""


@click.command("status")
@option("-n", "--namespace", metavar="NS", help="Namespace of the jobs; else the kubeconfig's.")
@option("-A", "--all-namespaces", is_flag=True, help="Show the jobs of all namespaces.")
@option(
    "-w",
    "--watch",
    is_flag=True,
    help="Go on, and show each change; without a terminal, a line for each job that changes.",
)
@option("--profiles", type=FILE, help="YAML file of the profiles, in place of those that the webhook uses.")
@system_namespace_option
@output_option(
    "table",
    "json",
    default="table",
    text="Form of the answer. json: one document for programs; with --watch a line of JSON for each job that changes.",
)
@cluster_options
def command(
    namespace: str | None,
    all_namespaces: bool,
    watch: bool,
    profiles: Path | None,
    system_namespace: str,
    output: str,
) -> None:
    """Show the jobs that are injected or should be: phase, members, how long they wait, rank 0's address, and what is wrong.

    The last column is the first warning or failure that fabric-injector explain job/NAME tells of the job, and those in trouble stand
    first. A job without a live pod is left out, unless its pods are refused. Reads what explain reads, each list once; writes nothing.
    What you may not read is named and left out; pods must be readable.

    \b
    Examples:
      fabric-injector status -n research
      fabric-injector status -A --watch
      fabric-injector status -A -o json | jq '.jobs[] | select(.first.level == "fail")'

    Exit status: 0 no job fails, 1 some job fails, 2 the command or its input is wrong, or pods cannot be read. With --watch, of the
    last look.
    """  # noqa: D301  # \\b is click's own mark
    if all_namespaces and namespace:
        raise click.UsageError("-n names one namespace, and -A means all: give one of them")
    try:
        given = read_profiles_option(profiles)
        connection = connect_to_cluster()
        space = "" if all_namespaces else namespace or connection.namespace or "default"
        if watch:
            found = _watch(connection, space, given, system_namespace, output)
        else:
            found = _look(connection, space, given, system_namespace, output)
    except WebhookError as error:
        raise Failure("\n".join(printable(line, limit=None) for line in str(error).split("\n"))) from None
    sys.exit(int(any(job.is_failing for job in found)))


def _look(
    connection: Connection, space: str, given: ProfilesRead | None, system_namespace: str, output: str
) -> list[JobStatus]:
    from webhook.diagnose.collect.status import read_status
    from webhook.diagnose.status.status import look_at_all

    gc.disable()  # nothing that is read is garbage before the command ends
    with show_progress() as progress:
        reading = read_status(connection, space, profiles=given, system_namespace=system_namespace, progress=progress)
        progress(f"judging {len(reading.pods):,} pods")
        found = look_at_all(reading)
    if output == "json":
        unread = [{"what": each.what, "problem": each.problem} for each in reading.unread]
        failing = sum(job.is_failing for job in found)
        summary = {"jobs": len(found), "failing": failing}
        jobs = [job.as_json() for job in found]
        print_document({"namespace": space, "jobs": jobs, "summary": summary, "unread": unread})
    else:
        _print(found, reading.unread, space)
    return found


def _watch(
    connection: Connection, space: str, given: ProfilesRead | None, system_namespace: str, output: str
) -> list[JobStatus]:
    from webhook.diagnose.collect.status import StatusWatch

    logging.getLogger("webhook.kube").addHandler(logging.NullHandler())
    logging.getLogger("webhook.kube").propagate = False  # what keeps a watch from going on stands above the table
    found: list[JobStatus] = []
    shown: dict[tuple[str, str], tuple[str, ...]] = {}
    problem = ""
    try:
        with StatusWatch(connection, space, profiles=given, system_namespace=system_namespace) as watch:
            watch.first_lists()
            while True:
                began = time.monotonic()
                try:
                    found, unread = watch.look()
                    problem = watch.doubt()
                except Unavailable as error:
                    unread, problem = (), str(error)
                if output == "table" and sys.stdout.isatty():
                    click.clear()
                    _print(found, unread, space, most=shutil.get_terminal_size().lines, problem=problem)
                else:
                    shown = _print_changes(found, shown, output)
                watch.wait(_MOST_SECONDS)
                time.sleep(max(0.0, _LEAST_SECONDS - (time.monotonic() - began)))
    except KeyboardInterrupt:
        return found


def _print_changes(
    found: Sequence[JobStatus], shown: dict[tuple[str, str], tuple[str, ...]], output: str
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Print a line for each job that is not as it was *shown*; how long it waits is no change."""
    now = {(job.namespace, job.name): _unchanging(job) for job in found}
    at = time.strftime("%H:%M:%S")
    for job in found:
        key = job.namespace, job.name
        if shown.get(key) == now[key]:
            continue
        if output == "json":
            click.echo(json.dumps(job.as_json()))
        else:
            echo(printable(f"{at}  {'  '.join(job.cells())}  {_text(job) or 'ok'}", limit=None))
    for namespace, name in shown.keys() - now.keys():
        if output == "json":
            click.echo(json.dumps({"namespace": namespace, "name": name, "phase": None}))
        else:
            echo(printable(f"{at}  {namespace}  {name}  has no live pod any more", limit=None))
    sys.stdout.flush()
    return now


def _unchanging(job: JobStatus) -> tuple[str, ...]:
    first = job.first
    waits = "-" if job.waits_seconds is None else "waits"
    told = (first.level, str(first.code), first.subject) if first else ()
    return (job.phase, str(job.members), waits, job.address, *told)


def _print(
    found: Sequence[JobStatus], unread: Sequence[Unread], space: str, *, most: int | None = None, problem: str = ""
) -> None:
    """Print the table, as much of it as fits into *most* lines; then what could not be read."""
    if problem:
        echo(_styled(printable(f"not up to date: {problem}", limit=None), "yellow"))
    if found:
        lines = list(_table(found, with_namespace=not space))
        notes = 2 + len(unread) + bool(problem)
        if most is not None and len(lines) > most - notes:
            del lines[max(1, most - notes - 1) :]
            lines.append(f"… {counted(len(found), 'job')} in all")
        for line in lines:
            echo(line)
    else:
        where = f"namespace {space}" if space else "any namespace"
        echo(f"no job in {where} is injected, or trains where a profile is asked for")
    for each in unread:
        echo(_styled("warn", "yellow") + printable(f"  {each.what}: {each.problem}", limit=None))


def _table(found: Sequence[JobStatus], *, with_namespace: bool) -> list[str]:
    rows = [tuple(printable(cell, limit=80) for cell in job.cells()) for job in found]
    columns = [_HEADINGS, *rows] if with_namespace else [row[1:] for row in (_HEADINGS, *rows)]
    widths = [max(map(len, column)) for column in zip(*columns, strict=True)]
    terminal = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    left = None if terminal is None else terminal - sum(widths) - 2 * len(widths)
    beside = left is None or left >= _LEAST_FINDING
    texts = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in columns]
    lines = [f"{texts[0]}  {_FINDING}" if beside else texts[0].rstrip()[:terminal]]
    for job, text in zip(found, texts[1:], strict=True):
        told = printable(_text(job), limit=None)
        if beside:
            lines.append(f"{text}  {_coloured(job, _cut(told, left))}".rstrip())
            continue
        lines.append(text.rstrip()[:terminal])
        if told:
            lines.append(f"  {_coloured(job, _cut(told, terminal and terminal - 2))}")
    return lines


def _text(job: JobStatus) -> str:
    """Return the finding in one line: level, subject unless it is the job itself, message."""
    first = job.first
    return "" if first is None else f"{first.level} {first.subject}: {first.message}"


def _cut(text: str, most: int | None) -> str:
    return text if most is None or len(text) <= most else text[: max(0, most - 1)] + "…"


def _coloured(job: JobStatus, text: str) -> str:
    return text if job.first is None else _styled(text[:4], _COLOUR[job.first.level]) + text[4:]


def _styled(text: str, colour: str) -> str:
    """Colour a text, unless NO_COLOR says otherwise; what is no terminal gets none. Source: no-color.org."""
    return text if os.environ.get("NO_COLOR") else click.style(text, fg=colour)
