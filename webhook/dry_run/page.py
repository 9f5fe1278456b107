"""Write a dry run for the page: what it shows of each pod, every text ready to be put on the screen."""

from __future__ import annotations

import json

from webhook.dry_run.judge import DryRun, PodResult
from webhook.dry_run.render import diff_lines, told_decisions, told_warnings
from webhook.dry_run.yaml_text import yaml_text
from webhook.model import Object
from webhook.review import printable


def render_page(run: DryRun) -> str:
    """Write the document: ``diff`` and ``yaml`` are texts of many lines, ``diff`` empty where nothing is changed."""
    ignored = [{"source": _text(part.source), "message": _text(part.message)} for part in run.ignored]
    return json.dumps({"pods": [_entry(pod) for pod in run.pods], "ignored": ignored}, ensure_ascii=False)


def _entry(pod: PodResult) -> Object:
    return {
        "source": _text(pod.source),
        "namespace": _text(pod.namespace),
        "name": _text(pod.name),
        "system": pod.system,
        "job": _text(pod.job),
        "rendezvous": pod.rendezvous,
        "profile": _text(pod.profile),
        "allowed": pod.allowed,
        "observed": pod.observed,
        "message": _text(pod.message),
        "decisions": [
            {"step": decision.step, "outcome": str(decision.outcome), "message": _text(decision.message)}
            for decision in told_decisions(pod)
        ],
        "warnings": told_warnings(pod),
        "patch": list(pod.patch),
        "diff": "\n".join(diff_lines(pod, whole="tab YAML", patch="tab JSON Patch")),
        "yaml": yaml_text(pod.after),
    }


def _text(text: str) -> str:
    """Escape what would not show, or would reorder what does."""
    return printable(text, limit=None)
