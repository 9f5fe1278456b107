"""Render a dry run for programs, as JSON document, patches or pods, and for the page."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from webhook.core.model import Object, Outcome, Reason
from webhook.core.printable import LONGEST_TEXT, printable
from webhook.dry_run.judge import DryRun, PodResult
from webhook.dry_run.screen import diff_lines, kinds, next_steps
from webhook.dry_run.yaml_text import yaml_text


def _written(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def render_patch(run: DryRun) -> str:
    """Render a JSON list, an entry for each pod; ``kubectl patch --type=json`` takes *patch*."""
    keys = ("source", "namespace", "name", "allowed", "message", "patch")
    return _written([{key: getattr(pod, key) for key in keys} for pod in run.pods])


def render_pod(run: DryRun) -> str:
    """Render a YAML stream of the pods as they leave admission; a denied pod is a comment."""
    parts = []
    for pod in run.pods:
        heading = printable(f"{pod.source}: pod {pod.namespace}/{pod.name}", limit=None)
        denied = f"# {printable(pod.message, limit=None)}\n"
        parts.append(f"# {heading}\n{yaml_text(pod.after) if pod.allowed else denied}")
    return "---\n".join(parts)


RENDERERS: Mapping[str, Callable[[DryRun], str]] = {
    "json": lambda run: _written(run.as_json()),
    "patch": render_patch,
    "pod": render_pod,
    "yaml": render_pod,
}


def render_page(run: DryRun) -> Object:
    """Return the page's document; ``diff`` and ``yaml`` are texts of many lines.

    No text has characters that are invisible or reorder others. *kinds* of a workload:
    ``{"heading": "bert-0, rank 0", "gets": {"network": "…", …}}``.
    """
    workloads = []
    for workload in run.workloads:
        shown = [{"heading": heading, "gets": gets} for heading, gets in kinds(workload.pods)]
        workloads.append({**workload.as_json(), "kinds": shown})
    told: Object = {"ignored": [asdict(part) for part in run.ignored], "workloads": workloads}
    told["next"] = next_steps(run, ())
    return {"pods": [_entry(pod) for pod in run.pods], **fit(told)}


def _entry(pod: PodResult) -> Object:
    told = {key: value for key, value in pod.as_json().items() if key not in ("pod", "patch")}
    told["decisions"] = [each for each in told["decisions"] if each["outcome"] != Outcome.DENIED]
    return {
        **fit({**told, "faults": pod.faults}),
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
