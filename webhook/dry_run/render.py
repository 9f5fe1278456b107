"""Render a dry run for people and programs: as JSON document, diff, patches or resulting pods."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping
from shlex import quote

from webhook.core import names, podspec
from webhook.core.model import Decision, Object, Reason
from webhook.core.printable import printable
from webhook.dry_run.judge import DryRun, PodResult
from webhook.dry_run.yaml_text import yaml_lines, yaml_text

_MAX_LINES = 20_000
"""Lines of both pods together; real pods have hundreds, and the time to compare grows with their square."""


def render_json(run: DryRun) -> str:
    """Render the JSON document."""
    return json.dumps(run.as_json(), indent=2, ensure_ascii=False) + "\n"


def render_patch(run: DryRun) -> str:
    """Render a JSON list with an entry for each pod, whose ``patch`` is what ``kubectl patch --type=json`` takes."""
    entries = [
        {
            "source": pod.source,
            "namespace": pod.namespace,
            "name": pod.name,
            "allowed": pod.allowed,
            "message": pod.message,
            "patch": list(pod.patch),
        }
        for pod in run.pods
    ]
    return json.dumps(entries, indent=2, ensure_ascii=False) + "\n"


def render_pod(run: DryRun) -> str:
    """Render a YAML stream of the pods as they leave admission; a denied pod is a comment."""
    parts = []
    for pod in run.pods:
        if pod.allowed:
            parts.append(f"# {heading(pod)}\n{yaml_text(pod.after)}")
        else:
            parts.append(f"# {heading(pod)}\n# {printable(pod.message, limit=None)}\n")
    return "---\n".join(parts)


def render_diff(run: DryRun) -> str:
    """Render for each pod a heading, a unified diff of its YAML, the decisions and the warnings; then a line for each workload."""
    parts = ["\n".join(_diff_part(pod)) for pod in run.pods]
    if told := summary_lines(run):
        parts.append("\n".join(told))
    if run.ignored:
        parts.append(
            "\n".join(
                f"{printable(part.source)}: {printable(part.message)}" for part in run.ignored
            )
        )
    return "\n\n".join(parts) + "\n"


def summary_lines(run: DryRun) -> list[str]:
    """Return for each workload a line that counts its pods and says where they meet and train, and its warnings."""
    lines = []
    for workload in run.workloads:
        lines.append(printable(f"{workload.source}: {workload.text}", limit=None))
        lines += [f"warning: {warning}" for warning in workload.warnings]
    return lines


def next_steps(run: DryRun, profiles: Iterable[str]) -> list[str]:
    """Return what to do, as a command, where nothing is injected into a pod for want of a label; *profiles*: the names there are."""
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


def _diff_part(pod: PodResult) -> list[str]:
    lines = [heading(pod), summary(pod)]
    lines += diff_lines(pod) or ([f"  {unchanged(pod)}"] if pod.allowed else [])
    told = told_decisions(pod)
    width = max((len(decision.step) for decision in told), default=0)
    for decision in told:
        lines.append(
            f"  {decision.step:<{width}}  {decision.outcome:<8}  {printable(decision.message, limit=None)}"
        )
    lines += [f"warning: {warning}" for warning in told_warnings(pod)]
    return lines


def heading(pod: PodResult) -> str:
    """Return a line that names a pod and where it came from."""
    return printable(f"{pod.source}: pod {pod.namespace}/{pod.name}", limit=None)


def summary(pod: PodResult) -> str:
    """Return a line that says what was decided: ``allowed, profile rdma-shared, torchx, master of train-x-3f9a01c2de``."""
    if not pod.allowed:
        if len(pod.decisions) > 1:
            return f"denied, for {len(pod.decisions)} reasons:"
        return f"denied: {printable(pod.message, limit=None)}"
    facts = ["allowed"]
    if pod.profile:
        facts.append(f"profile {pod.profile}")
    if pod.system:
        facts.append(pod.system)
    if pod.rendezvous:
        facts.append(f"{pod.rendezvous} of {pod.job}")
    return printable(", ".join(facts), limit=None)


def unchanged(pod: PodResult) -> str:
    """Return a line for an allowed pod that is not changed; where its namespace only observes, what the decisions below mean."""
    if pod.observed:
        return f"nothing is changed or denied, as label {names.MODE} of the namespace says; this would be:"
    return "nothing is changed"


def told_decisions(pod: PodResult) -> list[Decision]:
    """Return the decisions, without the one that the summary of a denied pod repeats."""
    return [
        decision for decision in pod.decisions if pod.allowed or decision.message != pod.message
    ]


def told_warnings(pod: PodResult) -> list[str]:
    """Return the warnings as printable text, without those that a decision repeats."""
    if pod.observed:
        return []
    told = {printable(decision.message) for decision in told_decisions(pod)}
    return [warning for warning in map(printable, pod.warnings) if warning not in told]


def diff_lines(pod: PodResult, *, whole: str = "-o pod", patch: str = "-o patch") -> list[str]:
    """Return the unified diff of a pod's YAML, without line ends; empty where nothing is changed.

    *whole* and *patch* tell the reader where to find the pod and the patch in full; where *whole* is empty, nothing is folded.
    """
    if pod.after is pod.before or pod.after == pod.before:
        return []
    name = printable(f"{pod.namespace}/{pod.name}", limit=None)
    before, after = (
        yaml_lines(pod.before),
        yaml_lines(_folded(pod.after, pod.before, whole) if whole else pod.after),
    )
    titles = f"{name} (as submitted)", f"{name} (as admitted)"
    if len(before) + len(after) > _MAX_LINES:
        return [
            f"--- {titles[0]}",
            f"+++ {titles[1]}",
            f"@@ {len(after)} lines are too many to compare: {patch} @@",
        ]
    return list(difflib.unified_diff(before, after, *titles, lineterm=""))


def _folded(after: Object, before: Object, whole: str) -> Object:
    """Return the pod with the script of a new wait container folded into one line: nobody wants to read it in each diff."""
    if any(_is_wait(container) for container in podspec.init_containers(before)):
        return after
    folded = [
        _fold(container, whole) if _is_wait(container) else container
        for container in podspec.init_containers(after)
    ]
    return {**after, "spec": {**after["spec"], "initContainers": folded}} if folded else after


def _is_wait(container: Object) -> bool:
    return container.get("name") == names.WAIT_CONTAINER


def _fold(container: Object, whole: str) -> Object:
    command = [
        f"# {word.count(chr(10))} lines of shell: {whole} shows them" if "\n" in word else word
        for word in container.get("command") or ()
    ]
    return {**container, "command": command}


RENDERERS: Mapping[str, tuple[str, Callable[[DryRun], str]]] = {
    "json": ("application/json", render_json),
    "diff": ("text/plain; charset=utf-8", render_diff),
    "patch": ("application/json", render_patch),
    "pod": ("application/yaml", render_pod),
}
"""Content type and function of each form of output, by its name."""
