"""Print the jobs that `status` found: a table that fits a terminal, or a line for each job that changes."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from webhook.cli.findings import code_lines, echo, styled
from webhook.core.printable import LONGEST_TEXT, printable
from webhook.diagnose.snapshot import UNREAD
from webhook.diagnose.wording import counted, listed

if TYPE_CHECKING:
    from webhook.diagnose.snapshot import Unread
    from webhook.diagnose.status.status import JobStatus

_HEADINGS = ("NAMESPACE", "JOB", "PHASE", "MEMBERS", "WAITS", "ADDRESS")
_FINDING = "FIRST FINDING"
_COLOUR = {"fail": "red", "warn": "yellow"}
_MOST_ENDED = 4
_LEAST_FINDING = 40
"""Characters that a finding gets in the line of its job; where a terminal has fewer, it has a line of its own."""


def print_changes(
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
            echo(printable(f"{at}  {'  '.join(job.cells())}  {_told(job)}", limit=LONGEST_TEXT))
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


def print_status(
    found: Sequence[JobStatus],
    unread: Sequence[Unread],
    space: str,
    *,
    ended: Sequence[tuple[str, str]] = (),
    most: int | None = None,
    problem: str = "",
) -> None:
    """Print the table, as much of it as fits into *most* lines, or which jobs have *ended*; then what is unread, and the codes."""
    if problem:
        echo(styled(printable(f"not up to date: {problem}", limit=None), "yellow"))
    codes = code_lines(
        [*(job.first.code for job in found if job.first), *([UNREAD] if unread else [])]
    )
    if found:
        lines = list(status_table(found, with_namespace=not space))
        notes = 2 + len(unread) + bool(problem) + len(codes)
        if most is not None and len(lines) > most - notes:
            del lines[max(1, most - notes - 1) :]
            lines.append(f"… {counted(len(found), 'job')} in all")
        for line in lines:
            echo(line)
    else:
        where = f"namespace {space}" if space else "any namespace"
        if ended:
            named = listed([name if space else f"{of}/{name}" for of, name in ended], _MOST_ENDED)
            who = f"{counted(len(ended), 'injected job')} {'has' if len(ended) == 1 else 'have'} ended there: {named}"
            echo(printable(f"no job in {where} has a live pod; {who}", limit=None))
        else:
            echo(f"no job in {where} is injected, or trains where a profile is asked for")
    for each in unread:
        echo(
            styled("warn", "yellow")
            + printable(f"  {each.what}: {each.problem}", limit=LONGEST_TEXT)
        )
    for line in codes:
        echo(line)


def status_table(found: Sequence[JobStatus], *, with_namespace: bool) -> list[str]:
    """Return the lines of the table, as wide as the terminal."""
    rows = [tuple(printable(cell, limit=80) for cell in job.cells()) for job in found]
    columns = [_HEADINGS, *rows] if with_namespace else [row[1:] for row in (_HEADINGS, *rows)]
    widths = [max(map(len, column)) for column in zip(*columns, strict=True)]
    terminal = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    left = None if terminal is None else terminal - sum(widths) - 2 * len(widths)
    beside = left is None or left >= _LEAST_FINDING
    texts = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in columns
    ]
    lines = [f"{texts[0]}  {_FINDING}" if beside else texts[0].rstrip()[:terminal]]
    for job, text in zip(found, texts[1:], strict=True):
        told = printable(_text(job), limit=LONGEST_TEXT)
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


def _told(job: JobStatus) -> str:
    """Return the finding in one line, with its code: lines of changes have no end at which codes could stand."""
    return "ok" if job.first is None else f"{_text(job)} ({job.first.code})"


def _cut(text: str, most: int | None) -> str:
    return text if most is None or len(text) <= most else text[: max(0, most - 1)] + "…"


def _coloured(job: JobStatus, text: str) -> str:
    return text if job.first is None else styled(text[:4], _COLOUR[job.first.level]) + text[4:]
