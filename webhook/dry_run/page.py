"""Render a dry run for the page: no text has characters that are invisible or reorder others."""

from __future__ import annotations

import json
from typing import Any

from webhook.core.model import Object, Outcome, Reason
from webhook.core.printable import LONGEST_TEXT, printable
from webhook.dry_run.judge import DryRun, PodResult
from webhook.dry_run.screen import denials, diff_lines, kinds, next_steps
from webhook.dry_run.summary import group
from webhook.dry_run.yaml_text import yaml_text


def render_page(run: DryRun) -> str:
    """Render the page's JSON document; ``diff`` and ``yaml`` are texts of many lines.

    *kinds* of a workload: ``{"heading": "bert-0, rank 0", "gets": {"network": "…", …}}``.
    """
    members = group(run.pods)
    workloads = [
        {
            **workload.as_json(),
            "kinds": [
                {"heading": kind.heading, "gets": kind.gets}
                for kind in kinds(members[workload.namespace, workload.source])
            ],
        }
        for workload in run.workloads
    ]
    told = {
        "ignored": [
            {"source": part.source, "message": part.message, "broken": part.broken}
            for part in run.ignored
        ],
        "workloads": workloads,
        "next": next_steps(run, ()),
    }
    return json.dumps({"pods": [_entry(pod) for pod in run.pods], **fit(told)}, ensure_ascii=False)


def _entry(pod: PodResult) -> Object:
    told = pod.as_json()
    faults = denials(pod)
    for key in ("pod", "patch"):
        del told[key]
    steps = [
        {"step": each.step, "outcome": str(each.outcome), "message": each.message}
        for each in pod.decisions
        if each.outcome is not Outcome.DENIED
    ]
    return {
        **fit({**told, "decisions": steps, "faults": faults}),
        "observed": pod.observed,
        "unlabelled": any(each.reason is Reason.NO_PROFILE for each in pod.decisions),
        "patch": list(pod.patch),
        "diff": "\n".join(diff_lines(pod)),
        "yaml": yaml_text(pod.after),
    }


def fit(value: Any) -> Any:
    """Return a JSON value whose texts are printable, and none of their lines too long to show."""
    if isinstance(value, str):
        return "\n".join(printable(line, limit=LONGEST_TEXT) for line in value.split("\n"))
    if isinstance(value, dict):
        return {fit(key): fit(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [fit(each) for each in value]
    return value
