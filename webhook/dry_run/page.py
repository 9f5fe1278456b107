"""Render a dry run for the page: every text is free of characters that are invisible, or that reorder those beside them."""

from __future__ import annotations

import json
import re

from webhook.core.model import Object
from webhook.core.printable import printable
from webhook.dry_run.judge import DryRun, PodResult
from webhook.dry_run.render import diff_lines, told_decisions, told_warnings
from webhook.dry_run.yaml_text import yaml_lines, yaml_text

_NAME_LENGTH = 300
_MESSAGE_LENGTH = 4_000
"""Longer than any that a cluster would accept; a manifest may hold megabytes of text where a name belongs."""
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@\Z")
_KEY = re.compile(r"( *)((?:- )*)([^\s:'\"][^:]*):")


def render_page(run: DryRun) -> str:
    """Render the page's JSON document: ``diff`` and ``yaml`` are texts of many lines, ``diff`` empty where nothing is changed.

    Each hunk's heading names the fields above its first line: ``@@ -40,6 +46,11 @@ spec.containers.env``.
    """
    ignored = [
        {
            "source": printable(part.source, _NAME_LENGTH),
            "message": printable(part.message, _MESSAGE_LENGTH),
            "broken": part.broken,
        }
        for part in run.ignored
    ]
    workloads = [
        {
            "source": printable(workload.source, _NAME_LENGTH),
            "namespace": printable(workload.namespace, _NAME_LENGTH),
            "summary": printable(workload.text, _MESSAGE_LENGTH),
            "warnings": list(workload.warnings),
        }
        for workload in run.workloads
    ]
    document = {"pods": [_entry(pod) for pod in run.pods], "ignored": ignored, "workloads": workloads}
    return json.dumps(document, ensure_ascii=False)


def _entry(pod: PodResult) -> Object:
    return {
        "source": printable(pod.source, _NAME_LENGTH),
        "namespace": printable(pod.namespace, _NAME_LENGTH),
        "name": printable(pod.name, _NAME_LENGTH),
        "system": pod.system,
        "job": pod.job,
        "rendezvous": pod.rendezvous,
        "profile": printable(pod.profile, _NAME_LENGTH),
        "allowed": pod.allowed,
        "observed": pod.observed,
        "message": printable(pod.message, _MESSAGE_LENGTH),
        "decisions": [
            {
                "step": decision.step,
                "outcome": str(decision.outcome),
                "message": printable(decision.message, _MESSAGE_LENGTH),
            }
            for decision in told_decisions(pod)
        ],
        "warnings": told_warnings(pod),
        "patch": list(pod.patch),
        "diff": "\n".join(_placed(diff_lines(pod, whole="tab YAML", patch="tab JSON Patch"), pod.before)),
        "yaml": yaml_text(pod.after),
    }


def _placed(diff: list[str], before: Object) -> list[str]:
    if not diff:
        return diff
    lines = yaml_lines(before)
    return [
        f"{line} {'.'.join(path_above(lines, int(hunk[1]) - 1))}".rstrip() if (hunk := _HUNK.match(line)) else line
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
        if len(found[1]) + len(found[2]) < depth:  # an item's first key stands on the line of its dash
            keys.append(found[3])
        depth = _depth(line)
    return keys[::-1]


def _depth(line: str) -> float:
    """Return how deep a line is indented; an item of a list, indented as the key of the list is, counts half a step more."""
    indent = len(line) - len(line.lstrip(" "))
    return indent + 0.5 if line[indent : indent + 2] == "- " else float(indent)
