"""Decide about the pods of manifests as admission would, and show the result."""

from webhook.dry_run.judge import DryRun, PodResult, dry_run, judge, pod_result
from webhook.dry_run.render import RENDERERS, fit, render_page

__all__ = [
    "RENDERERS",
    "DryRun",
    "PodResult",
    "dry_run",
    "fit",
    "judge",
    "pod_result",
    "render_page",
]
