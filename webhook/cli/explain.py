"""Say why a job trains slowly or does not start: ``fabric-injector explain``."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from webhook.cli import options
from webhook.cli.cluster import ClusterCommand, connect_to_cluster
from webhook.cli.inputs import read_profiles
from webhook.cli.options import option
from webhook.cli.printing import echo, print_codes, print_document, print_findings, print_table
from webhook.core.printable import printable
from webhook.diagnose.explain.job import Target, read_job
from webhook.diagnose.explain.judge import Explanation, Row, explain
from webhook.diagnose.explain.timeline import Start
from webhook.diagnose.finding import Finding, as_document, exit_status
from webhook.diagnose.jobs import KINDS, find_kind
from webhook.diagnose.manual import find_code
from webhook.diagnose.snapshot import UNREAD, Snapshot
from webhook.diagnose.wording import duration
from webhook.world.view import REFUSED

_TARGETS = {"job": "job", "jobs": "job", "pod": "pod", "pods": "pod", "po": "pod"}
"""How people write what is explained: a job of any kind, or a pod."""
_MOST_ROWS = 16
_MOST_ALIKE = 3
_BAR = 32
"""Characters of the bar of a pod."""
_LETTERS = {"no node": ".", "network": "n", "containers": "c", "network or containers": "?"}
_LETTERS |= {"wait": "w", "training": "T"}
"""How a bar shows the steps of timeline.py."""
_HEADINGS = ("POD", "ROLE", "PHASE", "NODE", "ADDRESS", "RANK 0", "WAIT")


@click.command("explain", cls=ClusterCommand)
@click.argument("target", nargs=-1, metavar="[KIND NAME]")
@options.selector(help="Explain the pods with these labels.")
@options.namespace(help="Namespace of the pods.")
@option("--timeline", is_flag=True, help="Show how long each pod took to start, and why.")
@option("--logs", is_flag=True, help="Read what NCCL prints in the pods' logs too.")
@options.profiles
@options.system_namespace
@options.output("json", "yaml", help="json or yaml: a document for programs.")
@option("--code", metavar="CODE", help="Print what the code of a finding means, and what to do.")
def command(
    target: tuple[str, ...],
    selector: str,
    namespace: str | None,
    timeline: bool,
    logs: bool,
    profiles: Path | None,
    system_namespace: str,
    output: str | None,
    code: str | None,
) -> None:
    """Say why a job trains slowly or does not start: the cause first, and what to do.

    KIND is job (of any training system), pod, or a kind of job such as pytorchjob or vcjob;
    KIND/NAME will do too. A job has the name of its object or of its TorchX app, or the value of
    label fabric-injector.io/job.

    Reads pods, their Events, networks and nodes; writes nothing. Needs read access to pods; reports
    anything else it cannot read. --logs needs get of pods/log, and NCCL_DEBUG=INFO in the job.

    \b
    Examples:
      fabric-injector explain job bert -n research
      fabric-injector explain pod bert-worker-3 -n research
      kubectl fabric-injector explain -l team=vision -o json
      fabric-injector explain job bert -n research --timeline --logs
      fabric-injector explain --code variable-disagrees

    Exit status: 0 nothing failed, 1 something failed, 2 the command or its input is wrong.
    """  # noqa: D301  # \\b is click's own mark
    if code:
        _print_code(code)
        return
    meant = _read_target(target, selector)
    known = read_profiles(profiles)
    connection = connect_to_cluster()
    space = namespace or connection.namespace
    cluster = Snapshot(connection, space, system_namespace=system_namespace, given=known)
    explanation = explain(cluster, read_job(cluster, meant, logs=logs))
    if output:
        findings = as_document(explanation.findings)
        print_document({**explanation.as_json(), **findings}, output)
    else:
        print_explanation(explanation, timeline=timeline)
    raise SystemExit(exit_status(explanation.findings))


def _print_code(written: str) -> None:
    code, meant = find_code(written)
    if code is None:
        hint = f"did you mean {meant}?" if meant else "write it as the command printed it"
        raise click.UsageError(f"--code: no finding has code {written!r}; {hint}")
    echo(f"{code}: {code.means}")
    echo(f"→ {code.action}")


def _read_target(words: Sequence[str], selector: str) -> Target:
    """Read what was asked for; raise UsageError if that is nothing, or not one thing."""
    if selector:
        if words:
            raise click.UsageError("name a job or a pod, or give -l SELECTOR, not both")
        return Target("selector", selector)
    written, _, name = "/".join(words).partition("/")
    if not name or "/" in name:
        found = f", found {' '.join(words)!r}" if words else ""
        raise click.UsageError(f"name what to explain: job NAME, pod NAME, or -l SELECTOR{found}")
    if target := _TARGETS.get(written.lower()):
        return Target(target, name)
    if of_kind := find_kind(written.lower()):
        return Target("job", name, of_kind, written)
    known = ", ".join(dict.fromkeys(each.kind.lower() for each in KINDS))
    raise click.UsageError(f"{written!r} is no kind of job: write job {name}, or one of: {known}")


def print_explanation(explanation: Explanation, *, timeline: bool = False) -> None:
    """Print the findings, then a table of the members, or in its place their *timeline*."""
    print_findings(unread_at_once(explanation.findings))
    print_codes(explanation.findings)
    rows = explanation.rows
    if not rows:
        return
    shown = _chosen(rows)
    click.echo()
    print_table([*(_bars if timeline else _members)(explanation, shown)])
    if timeline:
        echo(", ".join(f"{letter} {step}" for step, letter in _LETTERS.items()))
    if len(shown) < len(rows):
        counts = Counter(row.phase for row in rows)
        phases = ", ".join(f"{number:,} {phase}" for phase, number in counts.items())
        echo(printable(f"… {len(rows):,} pods in all: {phases}; -o json lists them", limit=None))


def unread_at_once(findings: Sequence[Finding]) -> Sequence[Finding]:
    """Return the findings; all that the caller may not read becomes one."""
    refused = [each for each in findings if each.code is UNREAD and REFUSED in each.message]
    if len(refused) < 2:
        return findings
    parts = ", ".join(sorted(each.subject for each in refused))
    message = f"your account may not read {parts}: what they say is unknown"
    action = "ask for get and list of them, or let an administrator run this"
    joined = UNREAD.warn("rights", message, f"{action}; -o json holds each answer")
    left = [joined if each is refused[0] else each for each in findings]
    return [each for each in left if each not in refused]


def _members(explanation: Explanation, shown: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    several = len(explanation.jobs) > 1
    yield (*_HEADINGS, "JOB") if several else _HEADINGS
    for row in shown:
        cells = (row.pod, row.role, row.phase, row.node, row.address, row.rank_zero, row.wait)
        yield (*cells, row.job) if several else cells


def _bars(explanation: Explanation, shown: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """Yield a bar for each pod: of each part of the time the letter of the step that it was in."""
    _, seconds, starts = explanation.timeline
    yield ("POD", f"0 s{duration(seconds):>{_BAR - 3}}", "TRAINS AFTER", "")
    for row in shown:
        start = starts[row.pod]
        after = "-" if start.trains_after is None else duration(start.trains_after)
        times = ((column + 0.5) * seconds / _BAR for column in range(_BAR))
        yield (row.pod, "".join(_letter(start, time) for time in times), after, start.says)


def _letter(start: Start, time: float) -> str:
    for name, begins, ends in start.steps:
        if begins <= time and (ends is None or time < ends):
            return _LETTERS[name]
    return " "


def _chosen(rows: Sequence[Row]) -> Sequence[Row]:
    """Choose the rows to show: of many pods the first few of each kind that are alike."""
    if len(rows) <= _MOST_ROWS:
        return rows
    alike: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        alike.setdefault((row.role, row.phase, row.rank_zero, row.wait), []).append(row)
    few = [row for kind in alike.values() for row in kind[:_MOST_ALIKE]]
    return sorted(few, key=rows.index)[:_MOST_ROWS]
