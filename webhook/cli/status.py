"""Show all jobs, and what is wrong with each: ``fabric-injector status``."""

import gc
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import monotonic, sleep, strftime
from typing import Any, NamedTuple

import click

from webhook.cli import options
from webhook.cli.findings import FORMS, Listing, echo, print_codes, print_findings, print_listing
from webhook.cli.inputs import read_profiles_option
from webhook.cli.options import connect_to_cluster, option
from webhook.core.errors import Unavailable
from webhook.core.model import Object
from webhook.core.printable import LONGEST_TEXT, printable
from webhook.core.wording import listed
from webhook.diagnose.explain.job import read_all
from webhook.diagnose.snapshot import Snapshot, Unread
from webhook.diagnose.status import JobStatus, ended_jobs, look_at_all

_LEAST_SECONDS = 10.0
"""How long --watch rests between two looks, at least."""
_REST = 9
"""How many times as long as a look it rests, so that looking takes at most a tenth of the time."""
_HEADINGS = ("NAMESPACE", "JOB", "PHASE", "MEMBERS", "WAITS", "ADDRESS", "FINDING")
_WIDE = ("WAITS", "ADDRESS")
_MOST_ENDED = 4
_Shown = dict[tuple[str, str], tuple[object, ...]]


@click.command("status", epilog=options.CLUSTER_HELP)
@options.namespace("Namespace of the jobs.")
@options.all_namespaces
@options.selector("Show jobs whose pods have these labels.")
@option("-w", "--watch", is_flag=True, help="Look again every 10 s or more; print changes.")
@options.output(*FORMS, text="json, yaml, name or wide.")
@options.no_headers
@options.profiles
@options.system_namespace
@options.cluster
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
        look = look_at(open_snapshot(), selector)
        _print(look, space)
        jobs = look.jobs
    sys.exit(int(any(job.is_failing for job in jobs)))


class Look(NamedTuple):
    """Hold what one look found; *ended*: jobs without a live pod, by namespace and name."""

    jobs: Sequence[JobStatus]
    unread: Sequence[Unread]
    ended: Sequence[tuple[str, str]]

    def as_json(self, space: str) -> Object:
        """Return the document."""
        failing = sum(job.is_failing for job in self.jobs)
        return {
            "namespace": space or None,
            "jobs": [job.as_json() for job in self.jobs],
            "summary": {"jobs": len(self.jobs), "failing": failing},
            "unread": [{"what": each.what, "problem": each.problem} for each in self.unread],
        }


def look_at(cluster: Snapshot, selector: str = "") -> Look:
    """Look at the jobs whose pods *selector* chooses; raises as `read_all` does."""
    jobs = read_all(cluster, selector)
    found = look_at_all(cluster, jobs)
    return Look(found, cluster.unread(), ended_jobs(jobs))


def _watch(open_snapshot: Callable[[], Snapshot], selector: str) -> Sequence[JobStatus]:
    """Look again and again until Ctrl-C; return what was found last."""
    output = click.get_current_context().params["output"]
    jobs: Sequence[JobStatus] | None = None
    shown: _Shown = {}
    try:
        while True:
            began = monotonic()
            try:
                jobs = look_at(open_snapshot(), selector).jobs
                shown = print_changes(jobs, shown, output)
            except Unavailable as error:
                if jobs is None:
                    raise
                click.echo(printable(f"not up to date: {error}", limit=None), err=True)
            sleep(max(_LEAST_SECONDS, _REST * (monotonic() - began)))
    except KeyboardInterrupt:
        return jobs or ()


def print_changes(jobs: Sequence[JobStatus], shown: _Shown, output: str | None) -> _Shown:
    """Print a line for each job that is not as it was *shown*; how long it waits is no change."""
    now = {(job.namespace, job.name): _unchanging(job) for job in jobs}
    at = strftime("%H:%M:%S")
    for job in jobs:
        if shown.get((job.namespace, job.name)) != now[job.namespace, job.name]:
            code = f"({job.first.code})" if job.first else "ok"
            line = printable("  ".join((at, *_cells(job), code)), limit=LONGEST_TEXT)
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


def _cells(job: JobStatus) -> tuple[str, ...]:
    """Return the row of a job; its last cell is empty if all is well."""
    first = job.first
    finding = f"{first.level} {first.subject}: {first.message}" if first else ""
    return (*job.cells(), finding)


def _print(look: Look, space: str) -> None:
    """Print the jobs; after a table notes, and the codes."""
    given = click.get_current_context().params
    output, no_headers = given["output"], given["no_headers"]
    is_shown = {"NAMESPACE": not space} | dict.fromkeys(_WIDE, output == "wide")
    shown = [number for number, title in enumerate(_HEADINGS) if is_shown.get(title, True)]
    rows = [[cells[number] for number in shown] for cells in (_HEADINGS, *map(_cells, look.jobs))]
    names = [f"job/{job.name}" for job in look.jobs]
    listing = Listing(rows[0], rows[1:], names, look.as_json(space))
    print_listing(listing, output, no_headers=no_headers)
    if output in (None, "wide"):
        if not look.jobs:
            echo(_none(look, space))
        unread = [each.finding() for each in look.unread]
        print_findings(unread)
        print_codes([*(job.first for job in look.jobs if job.first), *unread])


def _none(look: Look, space: str) -> str:
    where = f"namespace {space}" if space else "any namespace"
    if not look.ended:
        return f"no job in {where} is injected, or trains where a profile is asked for"
    named = listed([name if space else f"{of}/{name}" for of, name in look.ended], _MOST_ENDED)
    return printable(f"no job in {where} has a live pod; ended: {named}", limit=None)
