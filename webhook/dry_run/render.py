"""Render a dry run for programs: as JSON document, patches or resulting pods."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from webhook.core.printable import printable
from webhook.dry_run.judge import DryRun
from webhook.dry_run.yaml_text import yaml_text


def _written(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def render_json(run: DryRun) -> str:
    """Render the JSON document."""
    return _written(run.as_json())


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
    "json": render_json,
    "patch": render_patch,
    "pod": render_pod,
    "yaml": render_pod,
}
