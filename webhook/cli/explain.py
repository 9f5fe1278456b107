"""Say why a running job trains slowly or does not start: ``fabric-injector explain``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from webhook.cli.findings import (
    code_option,
    echo,
    print_codes,
    print_findings,
    print_json,
    print_table,
    show_progress,
)
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

    from webhook.diagnose.collect.jobs import Target
    from webhook.diagnose.explain.judge import Explanation, Row
    from webhook.diagnose.finding import Finding

_FEW = 2
_TARGET_WORDS = {"job": ("job", "jobs"), "pod": ("pod", "pods", "po")}
"""How people write what is explained: a job of any kind, or a pod."""
_MOST_ROWS = 16
_HEADINGS = ("POD", "ROLE", "PHASE", "NODE", "ADDRESS", "RANK 0", "WAIT")


@click.command("explain")
@click.argument("target", required=False, metavar="[pod/NAME | job/NAME-OR-KEY | KIND/NAME]")
@option("-l", "--selector", metavar="SELECTOR", help="Explain the pods with these labels.")
@workload_namespace_option("Namespace of the pods, not of fabric-injector; else the kubeconfig's.")
@option(
    "--logs",
    is_flag=True,
    help="Also read what NCCL prints in the logs of the pods, and say which network the job trains over, and why.",
)
@profiles_in_place_option
@system_namespace_option
@output_option(
    "table",
    "json",
    default="table",
    text="Form of the answer. json: one document for programs, with each finding's stable code.",
)
@code_option
@cluster_options
def command(
    target: str | None,
    selector: str | None,
    namespace: str | None,
    logs: bool,
    profiles: Path | None,
    system_namespace: str,
    output: str,
) -> None:
    """Say why a job trains slowly or does not start, the cause before what follows from it.

    Reads the job's pods, their Events, networks and nodes, Kueue's Workload where a pod is on no node, and the controller's Lease;
    writes nothing. job/NAME is the name of a PyTorchJob, Volcano Job, JobSet, Job, TrainJob, LeaderWorkerSet, StatefulSet,
    PodCliqueSet, StormService or TorchX app, or the value of label fabric-injector.io/job; pytorchjob/NAME, vcjob/NAME,
    job.batch/NAME or another kind as kubectl writes it asks for that kind alone. What you may not read is
    named and left out; pods must be readable.

    \b
    Examples:
      fabric-injector explain job/bert -n research
      fabric-injector explain pod/bert-worker-3 -n research
      kubectl fabric-injector explain -l team=vision -o json
      fabric-injector explain job/bert -n research --logs

    --logs also needs get of pods/log, and NCCL_DEBUG=INFO in the job: NCCL then prints its choice when it starts.

    Exit status: 0 nothing failed, 1 something failed, 2 the command or its input is wrong.
    """  # noqa: D301  # \\b is click's own mark
    from webhook.core.errors import WebhookError
    from webhook.diagnose.collect.jobs import read_job
    from webhook.diagnose.explain.judge import explain
    from webhook.diagnose.finding import exit_status
    from webhook.diagnose.snapshot import Snapshot

    meant = _read_target(target, selector)
    try:
        known = read_profiles_option(profiles)
        connection = connect_to_cluster()
        with show_progress() as progress:
            space = namespace or connection.namespace or "default"
            cluster = Snapshot(
                connection, space, system_namespace=system_namespace, given=known, tell=progress
            )
            snapshot, job = read_job(cluster, meant, logs=logs)
            progress(f"judging {len(job.pods):,} pods")
            explanation = explain(snapshot, job)
    except WebhookError as error:
        raise Failure(str(error)) from None
    if output == "json":
        print_json(explanation.findings, **explanation.as_json())
    else:
        print_explanation(explanation)
    sys.exit(exit_status(explanation.findings))


def _read_target(target: str | None, selector: str | None) -> Target:
    """Read what was asked for; raise UsageError where that is nothing, or not one thing."""
    from webhook.diagnose.collect.jobs import Target

    if selector is not None:
        if target is not None:
            raise click.UsageError("name pod/NAME or job/NAME, or give -l SELECTOR, not both")
        return Target("selector", selector)
    from webhook.diagnose.jobs import KINDS, find_kind

    written, slash, name = (target or "").partition("/")
    kind = written.lower()
    for plain, words in _TARGET_WORDS.items():
        if slash and name and kind in words:
            return Target(plain, name)
    if slash and name and (of_kind := find_kind(kind)):
        return Target("job", name, of_kind, written)
    found = f", found {target!r}" if target else ""
    if slash and name:
        known = ", ".join(dict.fromkeys(each.kind.lower() for each in KINDS))
        found += f"; any kind of job is asked for as job/{name}, and one alone by its kind: {known}, volcanojob"
    raise click.UsageError(
        f"name what to explain: pod/NAME, job/NAME, KIND/NAME, or -l SELECTOR{found}"
    )


def print_explanation(explanation: Explanation) -> None:
    """Print the findings, then a table of the members."""
    print_findings(unread_at_once(explanation.findings))
    print_codes(explanation.findings)
    _print_members(explanation)


def unread_at_once(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the findings, with all that the caller may not read in one, in place of the first: the API server's words are long."""
    from webhook.diagnose.finding import Finding
    from webhook.diagnose.snapshot import UNREAD

    refused = [
        finding
        for finding in findings
        if finding.code is UNREAD and " answered 403" in finding.message
    ]
    for finding in findings:
        if len(refused) < _FEW or finding not in refused:
            yield finding
        elif finding is refused[0]:
            parts = ", ".join(sorted(each.subject for each in refused))
            message = f"your account may not read {parts}: what they would tell is unknown"
            action = "ask for get and list of them, or let an administrator run this; -o json holds each answer"
            yield Finding("warn", UNREAD, "rights", message, action)


def _print_members(explanation: Explanation) -> None:
    """Print a table of the members; of many that are alike, a few."""
    rows = explanation.rows
    if not rows:
        return
    shown = _chosen(rows)
    several = len(explanation.jobs) > 1
    lines: list[tuple[str, ...]] = [(*_HEADINGS, "JOB") if several else _HEADINGS]
    lines += [_cells(row, with_job=several) for row in shown]
    click.echo()
    print_table(lines)
    if len(shown) < len(rows):
        from webhook.core.printable import printable

        rest: dict[str, int] = {}
        for row in rows:
            rest[row.phase] = rest.get(row.phase, 0) + 1
        phases = ", ".join(f"{number:,} {phase}" for phase, number in rest.items())
        echo(printable(f"… {len(rows):,} pods in all: {phases}; -o json lists them", limit=None))


def _chosen(rows: Sequence[Row]) -> Sequence[Row]:
    """Choose the rows to show: of many pods, up to three of each kind that are alike, in their order."""
    if len(rows) <= _MOST_ROWS:
        return rows
    kinds: dict[tuple[str, ...], list[int]] = {}
    for number, row in enumerate(rows):
        kinds.setdefault((row.role, row.phase, row.rank_zero, row.wait), []).append(number)
    chosen: list[int] = []
    for nth in range(3):
        chosen += [numbers[nth] for numbers in kinds.values() if nth < len(numbers)]
    return [rows[number] for number in sorted(chosen[:_MOST_ROWS])]


def _cells(row: Row, *, with_job: bool) -> tuple[str, ...]:
    return (
        row.pod,
        row.role,
        row.phase,
        row.node,
        row.address,
        row.rank_zero,
        row.wait,
        *([row.job] if with_job else ()),
    )
