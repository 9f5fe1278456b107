"""Show all jobs of a cluster or a namespace, and what is wrong with each: ``fabric-injector status``."""

from __future__ import annotations

import gc
import shutil
import sys
from functools import partial
from time import monotonic, sleep
from typing import TYPE_CHECKING

import click

from webhook.cli.findings import print_document, show_progress
from webhook.cli.input_files import read_profiles_option
from webhook.cli.options import (
    Failure,
    cluster_options,
    connect_to_cluster,
    option,
    output_option,
    profiles_in_place_option,
    system_namespace_option,
    workload_namespace_option,
)

if TYPE_CHECKING:
    from pathlib import Path

    from webhook.diagnose.status.status import JobStatus
    from webhook.kube.connection import Connection
    from webhook.world.profiles_read import ProfilesRead

_LEAST_SECONDS = 10.0
"""How long --watch rests between two looks, at least."""
_REST = 9
"""How many times as long as a look it rests, so that looking takes at most a tenth of the time."""


@click.command("status")
@workload_namespace_option("Namespace of the jobs; else the kubeconfig's.")
@option("-A", "--all-namespaces", is_flag=True, help="Show the jobs of all namespaces.")
@option(
    "-w",
    "--watch",
    is_flag=True,
    help="Look again every 10 s or more; without a terminal, print a line for each job that changes.",
)
@profiles_in_place_option
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
    first. A job without a live pod is left out, unless its pods are refused, Kueue holds it back, or it is suspended. Reads what explain reads, each
    list once; writes nothing. What you may not read is named and left out; pods must be readable.

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
    from webhook.core.errors import WebhookError

    try:
        given = read_profiles_option(profiles)
        connection = connect_to_cluster()
        space = "" if all_namespaces else namespace or connection.namespace or "default"
        if watch:
            found = _watch(connection, space, given, system_namespace, output)
        else:
            found = _look(connection, space, given, system_namespace, output)
    except WebhookError as error:
        raise Failure(str(error)) from None
    sys.exit(int(any(job.is_failing for job in found)))


def _look(
    connection: Connection,
    space: str,
    given: ProfilesRead | None,
    system_namespace: str,
    output: str,
) -> list[JobStatus]:
    from webhook.cli.status_text import print_status
    from webhook.diagnose.collect.jobs import read_all
    from webhook.diagnose.snapshot import Snapshot
    from webhook.diagnose.status.status import ended_jobs, look_at_all

    gc.disable()  # nothing that is read is garbage before the command ends
    with show_progress() as progress:
        cluster = Snapshot(
            connection, space, system_namespace=system_namespace, given=given, tell=progress
        )
        snapshot, jobs = read_all(cluster)
        progress(f"judging {len(jobs):,} jobs")
        found = look_at_all(snapshot, jobs)
    if output == "json":
        unread = [{"what": each.what, "problem": each.problem} for each in snapshot.unread]
        failing = sum(job.is_failing for job in found)
        summary = {"jobs": len(found), "failing": failing}
        told = [job.as_json() for job in found]
        print_document(
            {"namespace": space or None, "jobs": told, "summary": summary, "unread": unread}
        )
    else:
        print_status(found, snapshot.unread, space, ended=ended_jobs(jobs))
    return found


def _watch(
    connection: Connection,
    space: str,
    given: ProfilesRead | None,
    system_namespace: str,
    output: str,
) -> list[JobStatus]:
    """Look again and again until Ctrl-C; return what was found last."""
    from webhook.cli.status_text import print_changes, print_status
    from webhook.core.errors import Unavailable
    from webhook.diagnose.collect.jobs import read_all
    from webhook.diagnose.snapshot import Snapshot
    from webhook.diagnose.status.status import ended_jobs, look_at_all

    read = None
    look = partial(Snapshot, connection, space, system_namespace=system_namespace, given=given)
    found: list[JobStatus] = []
    shown: dict[tuple[str, str], tuple[str, ...]] = {}
    try:
        while True:
            began, problem = monotonic(), ""
            try:
                read = read_all(look())
                found = look_at_all(*read)
            except Unavailable as error:
                if read is None:
                    raise
                problem = str(error)
            if output == "table" and sys.stdout.isatty():
                click.clear()
                snapshot, jobs = read
                lines, ended = shutil.get_terminal_size().lines, ended_jobs(jobs)
                print_status(
                    found, snapshot.unread, space, ended=ended, most=lines, problem=problem
                )
            else:
                shown = print_changes(found, shown, output)
            sleep(max(_LEAST_SECONDS, _REST * (monotonic() - began)))
    except KeyboardInterrupt:
        return found
