"""Render a dry run for the page: every text is free of characters that are invisible, or that reorder those beside them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache

from webhook.core import names
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.printable import printable
from webhook.core.yaml_reader import Location
from webhook.dry_run.added import added
from webhook.dry_run.judge import DryRun, PodResult
from webhook.dry_run.places import Manifest, find_place
from webhook.dry_run.render import diff_lines, next_steps, told_decisions, told_warnings
from webhook.dry_run.summary import group
from webhook.dry_run.yaml_text import yaml_index, yaml_lines, yaml_text

_NAME_LENGTH = 300
_MESSAGE_LENGTH = 4_000
"""Longer than any that a cluster would accept; a manifest may hold megabytes of text where a name belongs."""
_OF_THE_USER = (Outcome.DENIED, Outcome.WARNED, Outcome.KEPT)
"""Outcomes that speak of what the manifest says itself."""
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@\Z")
_KEY = re.compile(r"( *)((?:- )*)([^\s:'\"][^:]*):")


def render_page(run: DryRun) -> str:
    """Render the page's JSON document: ``diff`` and ``yaml`` are texts of many lines, ``diff`` empty where nothing is changed.

    Each hunk's heading names the fields above its first line: ``@@ -40,6 +46,11 @@ spec.containers.env``. *own*: the first and the
    last line of each part of ``yaml`` that is the wait step's. *line* and *manifestLine* of a decision: where the field that it
    speaks of stands in ``yaml`` and in the manifest, from 1; 0 where that is not known.
    """
    ignored = [
        {
            "source": printable(part.source, _NAME_LENGTH),
            "message": printable(part.message, _MESSAGE_LENGTH),
            "broken": part.broken,
        }
        for part in run.ignored
    ]
    members = group(run.pods)
    workloads = [
        {
            "source": printable(workload.source, _NAME_LENGTH),
            "namespace": printable(workload.namespace, _NAME_LENGTH),
            "summary": printable(workload.text, _MESSAGE_LENGTH),
            "added": {
                title: printable(text, _NAME_LENGTH)
                for title, text in added(
                    members[workload.namespace, workload.source], workload.meets
                ).items()
            },
            "warnings": list(workload.warnings),
        }
        for workload in run.workloads
    ]
    manifest = cache(lambda: Manifest(run.text))  # parsed for the first pod that asks for a line
    document = {
        "pods": [_entry(pod, manifest) for pod in run.pods],
        "ignored": ignored,
        "workloads": workloads,
        "next": [printable(step, _MESSAGE_LENGTH) for step in next_steps(run, ())],
    }
    return json.dumps(document, ensure_ascii=False)


def _entry(pod: PodResult, manifest: Callable[[], Manifest]) -> Object:
    index = yaml_index(pod.after)
    faults, told = _faults(pod), told_decisions(pod)
    return {
        "source": printable(pod.source, _NAME_LENGTH),
        "namespace": printable(pod.namespace, _NAME_LENGTH),
        "name": printable(pod.name, _NAME_LENGTH),
        "replicas": pod.replicas,
        "system": pod.system,
        "job": pod.job,
        "rendezvous": pod.rendezvous,
        "profile": printable(pod.profile, _NAME_LENGTH),
        "allowed": pod.allowed,
        "observed": pod.observed,
        "unlabelled": any(decision.reason is Reason.NO_PROFILE for decision in pod.decisions),
        "faults": [_told(pod, fault, index, manifest) for fault in faults],
        "decisions": [
            _told(pod, decision, index, manifest) for decision in told if decision not in faults
        ],
        "warnings": told_warnings(pod),
        "patch": list(pod.patch),
        "diff": "\n".join(_placed(diff_lines(pod, whole="", patch="tab JSON Patch"), pod.before)),
        "yaml": yaml_text(pod.after),
        "own": _own(pod, index),
    }


def _faults(pod: PodResult) -> list[Decision]:
    """Return why a pod is denied; of a pod that no decision was made about, such as one in no namespace, its message."""
    if pod.allowed:
        return []
    denied = [decision for decision in pod.decisions if decision.outcome is Outcome.DENIED]
    return denied or [Decision("", Outcome.DENIED, Reason.INVALID_POD, pod.message)]


def _told(
    pod: PodResult, decision: Decision, index: dict[Location, int], manifest: Callable[[], Manifest]
) -> Object:
    outcome, message = decision.outcome, decision.message
    place = find_place(pod.after, message) if outcome is not Outcome.SKIPPED else None
    submitted = find_place(pod.before, message) if outcome in _OF_THE_USER else None
    return {
        "step": decision.step,
        "outcome": str(outcome),
        "message": printable(message, _MESSAGE_LENGTH),
        "line": index[place] + 1 if place else 0,
        "manifestLine": manifest().line(pod, submitted)
        if submitted or outcome is Outcome.DENIED
        else 0,
    }


def _own(pod: PodResult, index: dict[Location, int]) -> list[list[int]]:
    """Return the lines of the wait container and of its volume, ``[[80, 190], [201, 219]]``, where the pod did not bring them."""
    ranges = []
    for holder, name in (("initContainers", names.WAIT_CONTAINER), ("volumes", names.WAIT_VOLUME)):
        if any(item.get("name") == name for item in pod.before["spec"].get(holder) or ()):
            continue
        for at, item in enumerate(pod.after["spec"].get(holder) or ()):
            if item.get("name") == name:
                first = index["spec", holder, at] + 1
                ranges.append([first, first + len(yaml_lines(item)) - 1])
    return sorted(ranges)


def _placed(diff: list[str], before: Object) -> list[str]:
    if not diff:
        return diff
    lines = yaml_lines(before)
    return [
        f"{line} {'.'.join(path_above(lines, int(hunk[1]) - 1))}".rstrip()
        if (hunk := _HUNK.match(line))
        else line
        for line in diff
    ]


def path_above(lines: list[str], index: int) -> list[str]:
    """Return the keys that hold line *index* of a YAML text, outermost first; lists are left out: ``["spec", "containers"]``."""
    keys: list[str] = []
    depth = _depth(lines[index]) if index < len(lines) else 0.0
    for line in reversed(lines[:index]):
        found = _KEY.match(line)
        if found is None or _depth(line) >= depth:
            continue
        if (
            len(found[1]) + len(found[2]) < depth
        ):  # an item's first key stands on the line of its dash
            keys.append(found[3])
        depth = _depth(line)
    return keys[::-1]


def _depth(line: str) -> float:
    """Return how deep a line is indented; an item of a list, indented as the key of the list is, counts half a step more."""
    indent = len(line) - len(line.lstrip(" "))
    return indent + 0.5 if line[indent : indent + 2] == "- " else float(indent)
