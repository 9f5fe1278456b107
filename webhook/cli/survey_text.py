"""Print what `survey` found, for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from webhook.cli.findings import echo, print_table, styled
from webhook.core.printable import printable
from webhook.diagnose.survey.fabric import Transport
from webhook.diagnose.survey.survey import ClusterSurvey, JobGroup, Prospect
from webhook.diagnose.survey.trial import Barrier, Gravity
from webhook.diagnose.wording import counted, listed

if TYPE_CHECKING:
    from webhook.diagnose.survey.jobs import SurveyedJob

_MOST_ROWS = 40
_MOST_JOBS = 20
_FEW = 3
_HEADINGS = ("NAMESPACE", "KIND", "JOBS", "PODS", "ACCELERATORS", "WOULD BE", "CHANGES", "IN THE WAY")
_ROLES = {"master": "rank 0", "worker": "worker"}
_COLOUR: Mapping[Gravity, str] = {"refused": "red", "unplaced": "red", "incomplete": "red", "doubt": "yellow"}
_PROSPECTS = {
    Prospect.REFUSED: "{} would be refused",
    Prospect.UNPLACED: "{} would find no node",
    Prospect.INCOMPLETE: "{} would lack a device",
    Prospect.LEFT_ALONE: "{} would stay as they are",
}
_OTHER_WAYS = {
    Transport.INJECTED: "injected already",
    Transport.OWN_FABRIC: "with devices or networks of their own",
    Transport.HOST_NETWORK: "on the nodes' network (hostNetwork)",
    Transport.CLAIMS: "with resource claims",
    Transport.OPTED_OUT: "opted out by label",
}


def print_survey(found: ClusterSurvey, *, verbose: bool) -> None:
    """Print the summary, a table of the jobs, what stands in the way, and what to do next."""
    for line in summarise(found):
        _line(line)
    shown = [group for group in found.groups if verbose or group.transport == "pod-network"]
    if shown:
        rows = shown if verbose else shown[:_MOST_ROWS]
        echo("")
        print_table([_HEADINGS, *map(_cells, rows)])
        if len(rows) < len(shown):
            _line(f"… {len(shown):,} rows in all: -v shows them, -o json holds them")
    if verbose:
        for group in shown:
            _print_group(group)
        _print_others(found.others)
    _print_barriers(found.barriers())
    for part in found.unread:
        _line(f"warn  {part.what}: {part.problem}")
    if steps := found.next_steps():
        echo("")
        echo("Next (a label counts once fabric-injector and the profile are installed):")
        for step in steps:
            _line(f"  {step}")


def summarise(found: ClusterSurvey) -> Iterator[str]:
    """Say in a few sentences what an administrator wants to know first."""
    if found.jobs:
        spaces = counted(len({group.namespace for group in found.groups}), "namespace")
        number = found.count(Transport.POD_NETWORK)
        yield (
            f"{number:,} of {counted(found.jobs, 'multi-pod accelerator job')} in {spaces} "
            f"{'trains' if number == 1 else 'train'} over the pod network."
        )
        if number:
            yield from _prospects(found)
        rest = [f"{found.count(use):,} {text}" for use, text in _OTHER_WAYS.items() if found.count(use)]
        if rest:
            yield f"Others: {', '.join(rest)}."
    else:
        where = f"namespace {found.namespace}" if found.namespace else "any namespace"
        yield f"No multi-pod accelerator job runs or waits in {where}."
    if found.others:
        number = len(found.others)
        yield (
            f"{counted(number, 'more workload')} of several pods with accelerators {'is' if number == 1 else 'are'} not known to train "
            "together, and would stay as they are; -v names them."
        )
    if found.left_out:
        yield f"{counted(found.left_out, 'pod')} could not be read, and {'is' if found.left_out == 1 else 'are'} left out."


def _prospects(found: ClusterSurvey) -> Iterator[str]:
    """Say what would become of the jobs that train over the pod network."""
    unknown = found.count(Transport.POD_NETWORK, Prospect.UNKNOWN)
    who = f"Profile {found.profile}" if found.profile else "The profiles that their namespaces name"
    parts = [f"{who} would complete {found.count(Transport.POD_NETWORK, Prospect.COMPLETED):,}"]
    for prospect, text in _PROSPECTS.items():
        number = found.count(Transport.POD_NETWORK, prospect)
        if not number:
            continue
        why = [f"{each.reason} ({len(jobs):,})" for each, jobs in found.barriers() if each.gravity == prospect.value]
        parts.append(f"{text.format(f'{number:,}')}{f': {listed(why)}' if why else ''}")
    if unknown < found.count(Transport.POD_NETWORK):
        yield f"{'; '.join(parts)}."
    if unknown:
        yield f"What a profile would change for {unknown:,} of them cannot be told: name one by --profile."


def _cells(group: JobGroup) -> tuple[str, ...]:
    is_judged = group.prospect is not Prospect.UNKNOWN
    is_asked = group.transport is Transport.POD_NETWORK
    return (
        group.namespace,
        group.kind,
        f"{len(group.jobs):,}",
        f"{group.pods:,}",
        _amounts(group.accelerators),
        str(group.prospect) if is_asked else f"({group.transport})",
        ", ".join(group.steps) or ("nothing" if is_judged else "-"),
        ", ".join(dict.fromkeys(each.reason for each in group.barriers)) or "-",
    )


def _amounts(accelerators: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {resource}" for resource, number in accelerators.items()) or "by claims"


def _print_group(group: JobGroup) -> None:
    """Write out the changes of one row: for each role those that no role before it has."""
    echo("")
    _line(f"{group.namespace}, {group.kind}: {listed((job.name for job in group.jobs), _MOST_JOBS)}")
    told: set[str] = set()
    for role, trial in group.tried:
        if trial is None:
            continue
        who = _ROLES.get(role.name, "pod")
        for change in trial.changes:
            if change.message not in told:
                told.add(change.message)
                _line(f"  {who} {trial.pod}: {change.step}: {change.message}")
        if trial.left_alone:
            _line(f"  {who} {trial.pod}: left alone: {trial.left_alone}")
    if unjudged := sum(job.unjudged for job in group.jobs):
        _line(f"  {counted(unjudged, 'pod')} of more kinds than are looked at")


def _print_others(others: Sequence[SurveyedJob]) -> None:
    if others:
        echo("")
        rows = [
            (job.namespace, job.kind, job.name, f"{job.pods:,}", _amounts(job.accelerators), job.why) for job in others
        ]
        print_table([("NAMESPACE", "KIND", "NAME", "PODS", "ACCELERATORS", "NOT KNOWN TO TRAIN"), *rows])


def _print_barriers(barriers: Sequence[tuple[Barrier, Sequence[SurveyedJob]]]) -> None:
    if barriers:
        echo("")
    for barrier, jobs in barriers:
        named = listed((f"{job.namespace}/{job.name}" for job in jobs), _FEW)
        style = styled(f"{barrier.gravity:<10}", _COLOUR[barrier.gravity])
        echo(f"{style}  {printable(f'{barrier.reason}: {named}: {barrier.message}', limit=None)}")


def _line(text: str) -> None:
    echo(printable(text, limit=None))
