"""Decide about the pods of workload manifests as admission would, and render the result, for the command line and HTTP."""

from webhook.dry_run.judge import DryRun, PodResult, dry_run, judge
from webhook.dry_run.page import render_page
from webhook.dry_run.render import RENDERERS, render_diff, render_json, render_patch, render_pod

__all__ = [
    "RENDERERS",
    "DryRun",
    "PodResult",
    "dry_run",
    "judge",
    "render_diff",
    "render_json",
    "render_page",
    "render_patch",
    "render_pod",
]
