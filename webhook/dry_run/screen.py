"""Write a dry run for people: the verdict of each workload, warnings, and what its pods get."""

import difflib
from collections.abc import Iterable, Iterator
from shlex import quote
from typing import NamedTuple

from webhook.core import names, podspec
from webhook.core.model import Object, Outcome, Reason
from webhook.core.printable import printable
from webhook.dry_run.judge import DryRun, PodResult
from webhook.dry_run.summary import ALONE, DENIED, Summary
from webhook.dry_run.yaml_text import yaml_text

_DIFF_STYLES = {"---": "bold", "+++": "bold", "+": "green", "-": "red", "@": "cyan"}
_OUTCOMES = {Outcome.INJECTED: "green", Outcome.WARNED: "yellow", Outcome.DENIED: "red"}
_TITLES = {"ipc-lock": "memory", "shared-memory": "memory"}
"""Of steps that share one; that of another is its name."""


class Line(NamedTuple):
    """Hold one line of printable text, and its colour on a terminal."""

    text: str
    style: str = ""


def screen(
    run: DryRun, profiles: Iterable[str] = (), *, diff: bool = False, verbose: bool = False
) -> Iterator[Line]:
    """Yield the lines; *diff* adds what changes in each pod, *verbose* each step with its reason.

    *profiles*: all names, for the advice where a namespace has no label.
    """
    for workload in run.summaries:
        yield from _verdict(workload)
    for part in run.ignored:
        yield _line(f"{part.source}: {part.message}", "red" if part.broken else "dim")
    of_pods = [text for pod in run.pods if not pod.observed for text in pod.warnings]
    of_workloads = [text for workload in run.summaries for text in workload.warnings]
    for warning in dict.fromkeys([*of_pods, *of_workloads]):
        yield _line(f"warning: {warning}", "yellow")
    for heading, gets in (kind for workload in run.summaries for kind in kinds(workload.pods)):
        if gets:
            yield _line(heading, "bold")
            yield from (_line(f"  {title:<11}  {text}") for title, text in gets.items())
    if diff or verbose:
        for pod in run.pods:
            yield from _details(pod, diff=diff, verbose=verbose)
    elif any(pod.patch for pod in run.pods):
        yield Line("--diff shows each change, -v each step and its reason", "dim")
    for step in next_steps(run, profiles):
        yield _line(f"next: {step}", "bold")


def _line(text: str, style: str = "") -> Line:
    return Line(printable(text, limit=None), style)


def _verdict(workload: Summary) -> Iterator[Line]:
    """Yield the line of one workload; of a denied one, a line for each reason."""
    source, pods = workload.source, workload.pods
    if workload.roles.keys() == {ALONE}:
        yield _line(f"{source}: not injected: {why_not(pods)}", "bold")
        return
    profile = next((f" by profile {pod.profile}" for pod in pods if pod.profile), "")
    what, style = f"injected{profile}", "yellow" if workload.problem else "green"
    faults = dict.fromkeys(fault for pod in pods for fault in pod.faults)
    if faults:
        what, style = "denied", "bold red"
    if any(pod.observed for pod in pods):
        what, style = f"observed only, would be {what}", "yellow"
    more = "" if workload.roles.keys() == {DENIED} else f": {workload.text}"
    yield _line(f"{source}: {what}{more}", style)
    yield from (_line(f"  {fault}", "red") for fault in faults)


def why_not(pods: Iterable[PodResult]) -> str:
    """Return why nothing is injected into these pods."""
    told = (each.message for pod in pods for each in pod.decisions)
    return next(told, "nothing is to be changed")


def kinds(pods: Iterable[PodResult]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield ``bert-worker-0 and 2 more, worker`` for pods that get the same, and what, by title."""
    alike: dict[tuple[str, str], list[PodResult]] = {}
    for pod in pods:
        alike.setdefault((pod.rendezvous, repr(_gains(pod))), []).append(pod)
    for (rendezvous, _), (first, *others) in alike.items():
        more = first.replicas - 1 + sum(pod.replicas for pod in others)
        role = {"master": ", rank 0", "worker": ", worker"}.get(rendezvous, "")
        yield f"{first.name}{f' and {more} more' if more else ''}{role}", _gains(first)


def _gains(pod: PodResult) -> dict[str, str]:
    """Return what the steps that change a pod do, or would do; by title, in order."""
    found: dict[str, str] = {}
    for each in pod.decisions if not pod.faults else ():
        if each.outcome is Outcome.INJECTED:
            title = _TITLES.get(each.step, each.step)
            found[title] = f"{found[title]}; {each.message}" if title in found else each.message
    return found


def _details(pod: PodResult, *, diff: bool, verbose: bool) -> Iterator[Line]:
    yield Line("")
    yield _line(f"{pod.source}: pod {pod.namespace}/{pod.name}", "bold")
    if diff:
        for line in diff_lines(pod) or ["  nothing is changed"]:
            yield Line(line, _DIFF_STYLES.get(line[:3]) or _DIFF_STYLES.get(line[:1], ""))
    if verbose:
        width = max((len(each.step) for each in pod.decisions), default=0)
        for each in pod.decisions:
            text = f"  {each.step:<{width}}  {each.outcome:<8}  {each.message}"
            yield _line(text, _OUTCOMES.get(each.outcome, ""))


def diff_lines(pod: PodResult) -> list[str]:
    """Return the unified diff of a pod's YAML, without line ends; empty where nothing changes."""
    if pod.after == pod.before:
        return []
    name = printable(f"{pod.namespace}/{pod.name}", limit=None)
    titles = f"{name} (as submitted)", f"{name} (as admitted)"
    before, after = (yaml_text(_folded(each)).splitlines() for each in (pod.before, pod.after))
    return list(difflib.unified_diff(before, after, *titles, lineterm=""))


def _folded(pod: Object) -> Object:
    """Return a pod with the script of its wait container in one line."""
    containers = [*podspec.init_containers(pod)]
    for at, each in enumerate(containers):
        if each.get("name") == names.WAIT_CONTAINER:
            lines = (word.count("\n") for word in each.get("command") or ())
            containers[at] = {**each, "command": [f"# {sum(lines)} lines of shell"]}
    return {**pod, "spec": {**pod["spec"], "initContainers": containers}} if containers else pod


def next_steps(run: DryRun, profiles: Iterable[str]) -> list[str]:
    """Return the command that makes injection happen where only a label keeps it from that."""
    known = sorted(profiles)
    choice = known[0] if len(known) == 1 else "PROFILE"
    among = f"; PROFILE is one of: {', '.join(known)}" if len(known) > 1 else ""
    steps: dict[str, None] = {}
    for pod in run.pods:
        label = f"kubectl label namespace {quote(pod.namespace)}"
        if pod.observed:
            steps[f"{label} {names.MODE}-"] = None
        elif any(each.reason is Reason.NO_PROFILE for each in pod.decisions):
            steps[f"{label} {names.PROFILE}={quote(choice)}{among}"] = None
    return list(steps)
