"""Show all jobs, and what is wrong with each: ``fabric-injector status``."""

import gc
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import monotonic, sleep, strftime
from typing import Any, NamedTuple

import click

from webhook.cli.findings import (
    COLOUR,
    FORMS,
    Listing,
    code_lines,
    columns,
    echo,
    print_listing,
    show_progress,
    styled,
)
from webhook.cli.input_files import read_profiles_option
from webhook.cli.options import (
    CLUSTER_HELP,
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
from webhook.core.errors import Unavailable
from webhook.core.printable import LONGEST_TEXT, printable
from webhook.diagnose.collect import read_all
from webhook.diagnose.snapshot import UNREAD, Snapshot, Unread
from webhook.diagnose.status import JobStatus, ended_jobs, look_at_all
from webhook.diagnose.wording import listed

_LEAST_SECONDS = 10.0
"""How long --watch rests between two looks, at least."""
_REST = 9
"""How many times as long as a look it rests, so that looking takes at most a tenth of the time."""
_HEADINGS = ("NAMESPACE", "JOB", "PHASE", "MEMBERS", "WAITS", "ADDRESS")
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
    gc.disable()  # nothing that is read is garbage before the command ends
    given = read_profiles_option(profiles)
    connection = connect_to_cluster()
    space = "" if all_namespaces else namespace or connection.namespace or "default"
    open_snapshot = partial(
        Snapshot, connection, space, system_namespace=system_namespace, given=given
    )
    if watch:
        jobs = _watch(open_snapshot, selector)
    else:
        with show_progress() as progress:
            look = _look(open_snapshot(tell=progress), selector)
        _print(look, space)
        jobs = look.jobs
    sys.exit(int(any(job.is_failing for job in jobs)))


class Look(NamedTuple):
    """Hold what one look found; *ended*: jobs without a live pod, by namespace and name."""

    jobs: Sequence[JobStatus]
    unread: Sequence[Unread]
    ended: Sequence[tuple[str, str]]


def _look(cluster: Snapshot, selector: str) -> Look:
    snapshot, jobs = read_all(cluster, selector)
    cluster.tell(f"judging {len(jobs):,} jobs")
    return Look(look_at_all(snapshot, jobs), snapshot.unread, ended_jobs(jobs))


def _watch(open_snapshot: Callable[[], Snapshot], selector: str) -> Sequence[JobStatus]:
    """Look again and again until Ctrl-C; return what was found last."""
    output = click.get_current_context().params["output"]
    jobs: Sequence[JobStatus] | None = None
    shown: _Shown = {}
    try:
        while True:
            began = monotonic()
            try:
                jobs = _look(open_snapshot(), selector).jobs
                shown = print_changes(jobs, shown, output)
            except Unavailable as error:
                if jobs is None:
                    raise
                click.echo(printable(f"not up to date: {error}", limit=None), err=True)
            sleep(max(_LEAST_SECONDS, _REST * (monotonic() - began)))
    except KeyboardInterrupt:
        return jobs or ()


def _print(look: Look, space: str) -> None:
    given = click.get_current_context().params
    output, no_headers = given["output"], given["no_headers"]
    if output in (None, "wide"):
        _print_table(look, space, wide=output == "wide", no_headers=no_headers)
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
        if shown.get(key) != now[key]:
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


def _print_table(look: Look, space: str, *, wide: bool, no_headers: bool) -> None:
    """Print the jobs, then notes, and the codes."""
    codes: list[object] = [job.first.code for job in look.jobs if job.first]
    lines = table(look.jobs, with_namespace=not space, wide=wide)[int(no_headers) :]
    for line in lines if look.jobs else [_none(look, space)]:
        echo(line)
    for each in look.unread:
        note = printable(f"  {each.what}: {each.problem}", limit=LONGEST_TEXT)
        echo(styled("warn", "yellow") + note)
    for line in code_lines([*codes, *([UNREAD] if look.unread else [])]):
        echo(line)


def _none(look: Look, space: str) -> str:
    where = f"namespace {space}" if space else "any namespace"
    if not look.ended:
        return f"no job in {where} is injected, or trains where a profile is asked for"
    named = listed([name if space else f"{of}/{name}" for of, name in look.ended], _MOST_ENDED)
    return printable(f"no job in {where} has a live pod; ended: {named}", limit=None)


def table(jobs: Sequence[JobStatus], *, with_namespace: bool, wide: bool = False) -> list[str]:
    """Return the lines of the table, as wide as the terminal unless it is to be *wide*."""
    rows = [_HEADINGS, *(job.cells() for job in jobs)]
    head, *texts = columns(row if with_namespace else row[1:] for row in rows)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() and not wide else None
    left = None if width is None else width - len(head) - 2
    is_beside = left is None or left >= _LEAST_FINDING
    lines = [f"{head}  FINDING" if is_beside else head.rstrip()[:width]]
    for job, text in zip(jobs, texts, strict=True):
        finding = _coloured(job, left if is_beside else width and width - 2)
        if is_beside:
            lines.append(f"{text}  {finding}".rstrip())
        else:
            lines += [text.rstrip()[:width], *([f"  {finding}"] if finding else [])]
    return lines


def finding_of(job: JobStatus) -> str:
    """Return the main finding in one line; empty if all is well."""
    first = job.first
    return "" if first is None else f"{first.level} {first.subject}: {first.message}"


def _coloured(job: JobStatus, most: int | None) -> str:
    """Return the main finding in at most so many characters, with its colour."""
    text = printable(finding_of(job), limit=LONGEST_TEXT)
    if most is not None and len(text) > most:
        text = text[: max(0, most - 1)] + "…"
    return text if job.first is None else styled(text[:4], COLOUR[job.first.level]) + text[4:]
