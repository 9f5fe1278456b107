"""Show all jobs, and what is wrong with each: ``fabric-injector status``."""

import gc
import json
import sys
from collections.abc import Callable, Sequence
from itertools import compress
from pathlib import Path
from time import monotonic, sleep, strftime
from typing import NamedTuple

import click

from webhook.cli import options
from webhook.cli.cluster import ClusterCommand, connect_to_cluster
from webhook.cli.inputs import note, read_profiles
from webhook.cli.options import option
from webhook.cli.printing import FORMS, Listing, echo, print_codes, print_findings, print_listing
from webhook.core.errors import Unavailable
from webhook.core.model import Object
from webhook.core.printable import LONGEST_TEXT, printable
from webhook.diagnose.explain.job import read_all
from webhook.diagnose.snapshot import Snapshot, Unread
from webhook.diagnose.status import JobStatus, look_at_all

_LEAST_SECONDS = 10.0
"""How long --watch rests between two looks, at least."""
_REST = 9
"""How many times as long as a look it rests, so that looking takes at most a tenth of the time."""
_HEADINGS = ("NAMESPACE", "JOB", "PHASE", "MEMBERS", "WAITS", "ADDRESS", "FINDING")
_Shown = dict[tuple[str, str], tuple[object, ...]]


@click.command("status", cls=ClusterCommand)
@options.namespace(help="Namespace of the jobs.")
@options.all_namespaces
@options.selector(help="Show jobs whose pods have these labels.")
@option("-w", "--watch", is_flag=True, help="Look again every 10 s or more; print changes.")
@options.output(*FORMS, help="json, yaml, name or wide.")
@options.no_headers
@options.profiles
@options.system_namespace
def command(
    namespace: str | None,
    all_namespaces: bool,
    selector: str,
    watch: bool,
    profiles: Path | None,
    system_namespace: str,
    output: str | None,
    no_headers: bool,
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
    given = read_profiles(profiles)
    connection = connect_to_cluster()
    space = "" if all_namespaces else namespace or connection.namespace

    def look() -> Look:
        snapshot = Snapshot(connection, space, system_namespace=system_namespace, given=given)
        return look_at(snapshot, selector)

    gc.set_threshold(1_000_000)  # of millions of objects that a cluster gives none is garbage
    jobs = _watch(look, output) if watch else _once(look, output, no_headers=no_headers)
    raise SystemExit(int(any(job.is_failing for job in jobs)))


class Look(NamedTuple):
    """Hold what one look found in the *namespace*, empty for all."""

    namespace: str
    jobs: Sequence[JobStatus]
    unread: Sequence[Unread]

    def as_json(self) -> Object:
        """Return the document."""
        failing = sum(job.is_failing for job in self.jobs)
        return {
            "namespace": self.namespace or None,
            "jobs": [job.as_json() for job in self.jobs],
            "summary": {"jobs": len(self.jobs), "failing": failing},
            "unread": [{"what": each.what, "problem": each.problem} for each in self.unread],
        }


def look_at(cluster: Snapshot, selector: str = "") -> Look:
    """Look at the jobs whose pods *selector* chooses; raises as `read_all` does."""
    found = look_at_all(cluster, read_all(cluster, selector))
    return Look(cluster.namespace, found, cluster.unread())


def _watch(look: Callable[[], Look], output: str | None) -> Sequence[JobStatus]:
    """Look again and again until Ctrl-C; return what was found last."""
    jobs: Sequence[JobStatus] | None = None
    shown: _Shown = {}
    try:
        while True:
            began = monotonic()
            try:
                jobs = look().jobs
                shown = print_changes(jobs, shown, output)
            except Unavailable as error:
                if jobs is None:
                    raise
                note(f"not up to date: {error}")
            gc.collect()  # what this look read, before the next one reads as much
            sleep(max(_LEAST_SECONDS, _REST * (monotonic() - began)))
    except KeyboardInterrupt:
        return jobs or ()


def print_changes(jobs: Sequence[JobStatus], shown: _Shown, output: str | None) -> _Shown:
    """Print a line for each job that is not as it was *shown*; how long it waits is no change."""
    at, now = strftime("%H:%M:%S"), _Shown()

    def tell(document: Object, *cells: str) -> None:
        line = printable("  ".join((at, *cells)), limit=LONGEST_TEXT)
        echo(json.dumps(document) if output == "json" else line)

    for job in jobs:
        key, first = (job.namespace, job.name), job.first
        finding = (first.level, str(first.code), first.subject) if first else ()
        now[key] = (job.phase, job.members, job.waits_seconds is None, job.address, *finding)
        if shown.get(key) != now[key]:
            tell(job.as_json(), *_cells(job), f"({first.code})" if first else "ok")
    for space, name in shown.keys() - now.keys():
        gone = {"namespace": space, "name": name, "phase": None}
        tell(gone, space, name, "has no live pod any more")
    sys.stdout.flush()
    return now


def _cells(job: JobStatus) -> tuple[str, ...]:
    """Return the row of a job; its last cell is empty if all is well."""
    first = job.first
    return (*job.cells(), f"{first.level} {first.subject}: {first.message}" if first else "")


def _once(look: Callable[[], Look], output: str | None, *, no_headers: bool) -> Sequence[JobStatus]:
    """Look once; print the jobs, after a table notes and the codes."""
    seen = look()
    space, jobs, unread = seen.namespace, seen.jobs, [each.finding() for each in seen.unread]
    left_out = {"NAMESPACE"} if space else set()
    left_out |= {"WAITS", "ADDRESS"} if output != "wide" else set()
    shown = [title not in left_out for title in _HEADINGS]
    headings, *rows = [[*compress(each, shown)] for each in (_HEADINGS, *map(_cells, jobs))]
    listing = Listing(headings, rows, [f"job/{job.name}" for job in jobs], seen.as_json())
    print_listing(listing, output, no_headers=no_headers)
    if output in (None, "wide"):
        if not jobs:
            where = f"namespace {space}" if space else "any namespace"
            echo(f"no live job in {where} is injected, or trains where a profile is asked for")
        print_findings(unread)
        print_codes([*(job.first for job in jobs if job.first), *unread])
    return jobs
