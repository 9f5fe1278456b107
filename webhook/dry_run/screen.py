"""Write a dry run for people: the verdict of each workload, warnings, and what its pods get."""

import difflib
from collections.abc import Iterable, Iterator
from shlex import quote
from typing import NamedTuple

from webhook.core import names, podspec
from webhook.core.model import Object, Outcome, Reason
from webhook.core.printable import printable
from webhook.dry_run.judge import DryRun, PodResult
from webhook.dry_run.summary import asked, attached, group, rank_zero
from webhook.dry_run.yaml_text import yaml_text

_MAX_LINES = 20_000
"""Lines of both pods together; the time to compare grows with their square."""
_MOST_NAMES = 6
_LONGEST_VALUE = 24
_DIFF_STYLES = {"---": "bold", "+++": "bold", "+": "green", "-": "red", "@": "cyan"}
_OUTCOMES = {Outcome.INJECTED: "green", Outcome.WARNED: "yellow", Outcome.DENIED: "red"}


class Line(NamedTuple):
    """Hold one line of printable text, and its colour on a terminal."""

    text: str
    style: str = ""


class Kind(NamedTuple):
    """Hold one pod for all pods of a workload that get the same; *gets* by title."""

    pod: PodResult
    pods: int
    gets: dict[str, str]

    @property
    def heading(self) -> str:
        """Return ``bert-worker-0 and 2 more, worker``."""
        more = f" and {self.pods - 1} more" if self.pods > 1 else ""
        role = {"master": ", rank 0", "worker": ", worker"}.get(self.pod.rendezvous, "")
        return f"{self.pod.name}{more}{role}"


def screen(
    run: DryRun, profiles: Iterable[str] = (), *, diff: bool = False, verbose: bool = False
) -> Iterator[Line]:
    """Yield the lines; *diff* adds what changes in each pod, *verbose* each step with its reason.

    *profiles*: all names, for the advice where a namespace has no label.
    """
    summaries = {(each.namespace, each.source): each for each in run.workloads}
    workloads = group(run.pods)
    for key, pods in workloads.items():
        summary = summaries.get(key)
        yield from _verdict(key[1] or pods[0].source, pods, summary.text if summary else "")
    for part in run.ignored:
        yield _line(f"{part.source}: {part.message}", "red" if part.broken else "dim")
    for warning in _warnings(run):
        yield Line(f"warning: {warning}", "yellow")
    for pods in workloads.values():
        for kind in kinds(pods):
            yield from _gets(kind)
    if diff or verbose:
        for pod in run.pods:
            yield from _details(pod, diff=diff, verbose=verbose)
    elif any(pod.patch for pod in run.pods):
        yield Line("--diff shows each change, -v each step and its reason", "dim")
    for step in next_steps(run, profiles):
        yield _line(f"next: {step}", "bold")


def _line(text: str, style: str = "") -> Line:
    return Line(printable(text, limit=None), style)


def _verdict(source: str, pods: list[PodResult], summary: str) -> Iterator[Line]:
    """Yield the line of one workload; of a denied one, a line for each reason."""
    profile = next((f" by profile {pod.profile}" for pod in pods if pod.profile), "")
    text = f": {summary}" if summary and not summary.endswith(" denied") else ""
    faults = [fault for pod in pods for fault in denials(pod)]
    if not all(pod.allowed for pod in pods):
        yield _line(f"{source}: denied{text}", "bold red")
        yield from (_line(f"  {fault}", "red") for fault in dict.fromkeys(faults))
    elif any(pod.observed for pod in pods):
        what = "denied" if faults else f"injected{profile}"
        yield _line(f"{source}: observed only, would be {what}{text}", "yellow")
        yield from (_line(f"  {fault}", "red") for fault in dict.fromkeys(faults))
    elif any(pod.is_injected for pod in pods):
        is_whole = not text.endswith(("half injected", "cannot meet"))
        yield _line(f"{source}: injected{profile}{text}", "green" if is_whole else "yellow")
    else:
        yield _line(f"{source}: not injected: {why_not(pods)}", "bold")


def denials(pod: PodResult) -> list[str]:
    """Return why a pod is denied, or would be; empty for one that is allowed."""
    denied = [each.message for each in pod.decisions if each.outcome is Outcome.DENIED]
    return denied or ([] if pod.allowed else [pod.message])


def why_not(pods: Iterable[PodResult]) -> str:
    """Return why nothing is injected into these pods."""
    told = (each.message for pod in pods for each in pod.decisions)
    return next(told, "nothing is to be changed")


def _warnings(run: DryRun) -> Iterable[str]:
    """Return the warnings of all pods and workloads, each once."""
    of_pods = [text for pod in run.pods if not pod.observed for text in pod.warnings]
    of_workloads = [text for workload in run.workloads for text in workload.warnings]
    return dict.fromkeys(map(printable, (*of_pods, *of_workloads)))


def kinds(pods: Iterable[PodResult]) -> list[Kind]:
    """Return the kinds of pods that a workload has."""
    found: dict[tuple[str, str], Kind] = {}
    for pod in pods:
        gets = gains(pod)
        key = (pod.rendezvous, repr(gets))
        first, number = found[key][:2] if key in found else (pod, 0)
        found[key] = Kind(first, number + pod.replicas, gets)
    return [*found.values()]


def _gets(kind: Kind) -> Iterator[Line]:
    if kind.gets:
        yield _line(kind.heading, "bold")
    for title, text in kind.gets.items():
        yield _line(f"  {title:<10}  {text}")


def gains(pod: PodResult) -> dict[str, str]:
    """Return what a pod gets, or would where its namespace only observes; by title, in order."""
    before, after = pod.before, pod.planned
    if not pod.allowed or before == after:
        return {}
    had = attached(before, pod.namespace)
    networks = [each for each in attached(after, pod.namespace) if each not in had]
    own = asked(before)
    devices = [f"{name}: {n}" for name, n in asked(after).items() if own.get(name) != n]
    claims = [each["name"] for each in _added(before, after, "resourceClaims")]
    volumes = [each["name"] for each in _added(before, after, "volumes")]
    found = {
        "network": _few(f"{name} ({interface})" for name, interface in networks),
        "devices": _few([*devices, *(f"claim {name}" for name in claims)]),
        "env": _few(_variables(before, after)),
        "memory": _few(_memory(pod, volumes)),
        "rendezvous": _rendezvous(pod),
    }
    return {title: text for title, text in found.items() if text}


def _few(texts: Iterable[str]) -> str:
    found = list(dict.fromkeys(texts))
    rest = len(found) - _MOST_NAMES
    return ", ".join(found[:_MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def _added(before: Object, after: Object, holder: str) -> list[Object]:
    had = before["spec"].get(holder) or ()
    return [each for each in after["spec"].get(holder) or () if each not in had]


def _variables(before: Object, after: Object) -> Iterator[str]:
    had = {each.get("name"): podspec.env(each) for each in podspec.containers(before)}
    for container in podspec.containers(after):
        for variable in podspec.env(container):
            if variable not in had.get(container.get("name"), ()):
                value = variable.get("value", "")
                short = f"={value}" if value and len(value) <= _LONGEST_VALUE else ""
                yield variable["name"] + short


def _memory(pod: PodResult, volumes: list[str]) -> Iterator[str]:
    for volume in podspec.volumes(pod.planned):
        if volume["name"] == names.SHM_VOLUME and names.SHM_VOLUME in volumes:
            size = (volume.get("emptyDir") or {}).get("sizeLimit")
            yield f"{names.SHM_MOUNT_PATH} of {size}" if size else f"{names.SHM_MOUNT_PATH}"
    steps = [each for each in pod.decisions if each.step == "ipc-lock"]
    if any(each.outcome is Outcome.INJECTED for each in steps):
        yield "may be locked"


def _rendezvous(pod: PodResult) -> str:
    network, _, rest = (
        podspec.annotations(pod.planned).get(names.RENDEZVOUS_NETWORK, "").partition("@")
    )
    place = f"{rest.rpartition('/')[0]} of {network}" if network else "the pod network"
    if pod.rendezvous == "master":
        return f"publishes its address on {place}"
    zero = rank_zero(pod.planned)
    return f"waits for the address of {zero} on {place}" if pod.rendezvous and zero else ""


def _details(pod: PodResult, *, diff: bool, verbose: bool) -> Iterator[Line]:
    yield Line("")
    yield _line(f"{pod.source}: pod {pod.namespace}/{pod.name}", "bold")
    if diff:
        lines = diff_lines(pod)
        yield from (Line(line, _diff_style(line)) for line in lines)
        if not lines:
            yield Line("  nothing is changed", "dim")
    if verbose:
        width = max((len(each.step) for each in pod.decisions), default=0)
        for each in pod.decisions:
            text = f"  {each.step:<{width}}  {each.outcome:<8}  {each.message}"
            yield _line(text, _OUTCOMES.get(each.outcome, ""))


def _diff_style(line: str) -> str:
    return _DIFF_STYLES.get(line[:3]) or _DIFF_STYLES.get(line[:1], "")


def diff_lines(pod: PodResult) -> list[str]:
    """Return the unified diff of a pod's YAML, without line ends; empty where nothing changes."""
    if pod.after == pod.before:
        return []
    name = printable(f"{pod.namespace}/{pod.name}", limit=None)
    before, after = (
        yaml_text(each).splitlines() for each in (pod.before, _folded(pod.after, pod.before))
    )
    titles = f"{name} (as submitted)", f"{name} (as admitted)"
    if len(before) + len(after) > _MAX_LINES:
        numbers = f"{len(before)} and {len(after)} lines"
        return [f"--- {titles[0]}", f"+++ {titles[1]}", f"@@ {numbers}: too long, see -o patch @@"]
    return list(difflib.unified_diff(before, after, *titles, lineterm=""))


def _folded(after: Object, before: Object) -> Object:
    """Return the pod with the script of a new wait container in one line."""
    if any(each["name"] == names.WAIT_CONTAINER for each in podspec.init_containers(before)):
        return after
    containers = [
        _fold(each) if each["name"] == names.WAIT_CONTAINER else each
        for each in podspec.init_containers(after)
    ]
    return (
        {**after, "spec": {**after["spec"], "initContainers": containers}} if containers else after
    )


def _fold(container: Object) -> Object:
    words = container.get("command") or ()
    command = [
        f"# {word.count(chr(10))} lines of shell" if "\n" in word else word for word in words
    ]
    return {**container, "command": command}


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
