"""Show all jobs, and what is wrong with each: ``fabric-injector status``."""

from __future__ import annotations

import gc
import json
import shutil
import sys
from functools import partial
from time import monotonic, sleep, strftime
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from webhook.cli.findings import code_lines, echo, show_progress, styled
from webhook.cli.input_files import read_profiles_option
from webhook.cli.listing import FORMS, Listing, print_listing
from webhook.cli.options import (
    CLUSTER_HELP,
    Failure,
    all_namespaces_option,
    cluster_options,
    connect_to_cluster,
    no_headers_option,
    option,
    output_option,
    profiles_in_place_option,
    selector_option,
    system_namespace_option,
    workload_namespace_option,
)
from webhook.core.printable import LONGEST_TEXT, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from webhook.diagnose.snapshot import Snapshot, Unread
    from webhook.diagnose.status.status import JobStatus

_LEAST_SECONDS = 10.0
"""How long --watch rests between two looks, at least."""
_REST = 9
"""How many times as long as a look it rests, so that looking takes at most a tenth of the time."""
_HEADINGS = ("NAMESPACE", "JOB", "PHASE", "MEMBERS", "WAITS", "ADDRESS")
_COLOUR = {"fail": "red", "warn": "yellow"}
_MOST_ENDED = 4
_LEAST_FINDING = 40
"""Characters of a finding beside its job; where a terminal has fewer, it stands below."""
_Shown = dict[tuple[str, str], tuple[object, ...]]


@click.command("status", epilog=CLUSTER_HELP)
@workload_namespace_option("Namespace of the jobs.")
@all_namespaces_option
@selector_option("Show jobs whose pods have these labels.")
@option("-w", "--watch", is_flag=True, help="Look again every 10 s or more; print changes.")
@output_option(*FORMS, default=None, text="json, yaml, name or wide.")
@no_headers_option
@profiles_in_place_option
@system_namespace_option
@cluster_options
def command(
    namespace: str | None,
    all_namespaces: bool,
    selector: str,
    watch: bool,
    profiles: Path | None,
    system_namespace: str,
    **_: Any,
) -> None:
    """Show all jobs that are injected or should be, and what is wrong with each.

    Jobs with problems come first; the last column shows the main one, as explain finds it. Jobs
    without pods are shown if their pods are refused or held back. Needs read access to pods;
    reports anything it cannot read.

    \b
    Examples:
      fabric-injector status -n research
      fabric-injector status -A --watch
      fabric-injector status -A -o json | jq '.jobs[] | select(.first.level == "fail")'

    Exit status: 0 no job fails, 1 a job fails, 2 the command or its input is wrong.
    """  # noqa: D301  # \\b is click's own mark
    if all_namespaces and namespace:
        raise click.UsageError("-n names one namespace, and -A means all: give one of them")
    from webhook.core.errors import WebhookError
    from webhook.diagnose.snapshot import Snapshot

    gc.disable()  # nothing that is read is garbage before the command ends
    try:
        given = read_profiles_option(profiles)
        connection = connect_to_cluster()
        space = "" if all_namespaces else namespace or connection.namespace or "default"
        open_snapshot = partial(
            Snapshot, connection, space, system_namespace=system_namespace, given=given
        )
        if watch:
            jobs = _watch(open_snapshot, space, selector)
        else:
            with show_progress() as progress:
                look = _look(open_snapshot(tell=progress), selector)
            _print(look, space)
            jobs = look.jobs
    except WebhookError as error:
        raise Failure(str(error)) from None
    sys.exit(int(any(job.is_failing for job in jobs)))


class Look(NamedTuple):
    """Hold what one look found; *ended*: jobs without a live pod, by namespace and name."""

    jobs: Sequence[JobStatus]
    unread: Sequence[Unread]
    ended: Sequence[tuple[str, str]]


def _look(cluster: Snapshot, selector: str) -> Look:
    from webhook.diagnose.collect.jobs import read_all
    from webhook.diagnose.status.status import ended_jobs, look_at_all

    snapshot, jobs = read_all(cluster, selector)
    cluster.tell(f"judging {len(jobs):,} jobs")
    return Look(look_at_all(snapshot, jobs), snapshot.unread, ended_jobs(jobs))


def _watch(open_snapshot: Callable[[], Snapshot], space: str, selector: str) -> Sequence[JobStatus]:
    """Look again and again until Ctrl-C; return what was found last."""
    from webhook.core.errors import Unavailable

    output = click.get_current_context().params["output"]
    look: Look | None = None
    shown: _Shown = {}
    try:
        while True:
            began, problem = monotonic(), ""
            try:
                look = _look(open_snapshot(), selector)
            except Unavailable as error:
                if look is None:
                    raise
                problem = f"not up to date: {error}"
            if output in (None, "wide") and sys.stdout.isatty():
                click.clear()
                print_table(look, space, most=shutil.get_terminal_size().lines, problem=problem)
            else:
                shown = print_changes(look.jobs, shown, output)
            sleep(max(_LEAST_SECONDS, _REST * (monotonic() - began)))
    except KeyboardInterrupt:
        return look.jobs if look else ()


def _print(look: Look, space: str) -> None:
    given = click.get_current_context().params
    output, no_headers = given["output"], given["no_headers"]
    if output in (None, "wide"):
        print_table(look, space, wide=output == "wide", no_headers=no_headers)
        return
    failing = sum(job.is_failing for job in look.jobs)
    document = {
        "namespace": space or None,
        "jobs": [job.as_json() for job in look.jobs],
        "summary": {"jobs": len(look.jobs), "failing": failing},
        "unread": [{"what": each.what, "problem": each.problem} for each in look.unread],
    }
    names = [f"job/{job.name}" for job in look.jobs]
    print_listing(Listing((), (), names, document), output, no_headers=no_headers)


def print_changes(jobs: Sequence[JobStatus], shown: _Shown, output: str | None) -> _Shown:
    """Print a line for each job that is not as it was *shown*; how long it waits is no change."""
    now = {(job.namespace, job.name): _unchanging(job) for job in jobs}
    at = strftime("%H:%M:%S")
    for job in jobs:
        key = job.namespace, job.name
        if shown.get(key) == now[key]:
            continue
        code = f"{finding_of(job)} ({job.first.code})" if job.first else "ok"
        line = printable(f"{at}  {'  '.join(job.cells())}  {code}", limit=LONGEST_TEXT)
        echo(json.dumps(job.as_json()) if output == "json" else line)
    for namespace, name in shown.keys() - now.keys():
        gone = {"namespace": namespace, "name": name, "phase": None}
        line = printable(f"{at}  {namespace}  {name}  has no live pod any more", limit=None)
        echo(json.dumps(gone) if output == "json" else line)
    sys.stdout.flush()
    return now


def _unchanging(job: JobStatus) -> tuple[object, ...]:
    first = job.first
    finding = (first.level, str(first.code), first.subject) if first else ()
    return (job.phase, job.members, job.waits_seconds is None, job.address, *finding)


def print_table(
    look: Look,
    space: str,
    *,
    wide: bool = False,
    no_headers: bool = False,
    most: int | None = None,
    problem: str = "",
) -> None:
    """Print the jobs, in at most *most* lines if it is not None; then notes, and the codes."""
    from webhook.diagnose.snapshot import UNREAD
    from webhook.diagnose.wording import counted

    codes = [job.first.code for job in look.jobs if job.first]
    notes = [
        printable(f"  {each.what}: {each.problem}", limit=LONGEST_TEXT) for each in look.unread
    ]
    below = [styled("warn", "yellow") + note for note in notes]
    below += code_lines([*codes, *([UNREAD] if look.unread else [])])
    lines = (
        table(look.jobs, with_namespace=not space, wide=wide) if look.jobs else [_none(look, space)]
    )
    if no_headers and look.jobs:
        del lines[0]
    if problem:
        lines.insert(0, styled(printable(problem, limit=None), "yellow"))
    if most is not None and len(lines) + len(below) >= most:
        del lines[max(1, most - len(below) - 2) :]
        lines.append(f"… {counted(len(look.jobs), 'job')} in all")
    for line in (*lines, *below):
        echo(line)


def _none(look: Look, space: str) -> str:
    from webhook.diagnose.wording import listed

    where = f"namespace {space}" if space else "any namespace"
    if not look.ended:
        return f"no job in {where} is injected, or trains where a profile is asked for"
    named = listed([name if space else f"{of}/{name}" for of, name in look.ended], _MOST_ENDED)
    return printable(f"no job in {where} has a live pod; ended: {named}", limit=None)


def table(jobs: Sequence[JobStatus], *, with_namespace: bool, wide: bool = False) -> list[str]:
    """Return the lines of the table, as wide as the terminal unless it is to be *wide*."""
    cells = [_HEADINGS, *(tuple(printable(cell, limit=80) for cell in job.cells()) for job in jobs)]
    rows = cells if with_namespace else [row[1:] for row in cells]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    texts = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() and not wide else None
    left = None if columns is None else columns - len(texts[0]) - 2
    is_beside = left is None or left >= _LEAST_FINDING
    lines = [f"{texts[0]}  FINDING" if is_beside else texts[0].rstrip()[:columns]]
    for job, text in zip(jobs, texts[1:], strict=True):
        finding = printable(finding_of(job), limit=LONGEST_TEXT)
        if is_beside:
            lines.append(f"{text}  {_coloured(job, _cut(finding, left))}".rstrip())
            continue
        lines.append(text.rstrip()[:columns])
        if finding:
            lines.append(f"  {_coloured(job, _cut(finding, columns and columns - 2))}")
    return lines


def finding_of(job: JobStatus) -> str:
    """Return the main finding in one line; empty if all is well."""
    first = job.first
    return "" if first is None else f"{first.level} {first.subject}: {first.message}"


def _cut(text: str, most: int | None) -> str:
    return text if most is None or len(text) <= most else text[: max(0, most - 1)] + "…"


def _coloured(job: JobStatus, text: str) -> str:
    return text if job.first is None else styled(text[:4], _COLOUR[job.first.level]) + text[4:]
