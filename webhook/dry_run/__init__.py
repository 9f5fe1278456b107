"""Decide about the pods of manifests as admission would, and show the result."""

from webhook.dry_run.judge import DryRun, PodResult, dry_run, judge
from webhook.dry_run.page import render_page
from webhook.dry_run.render import RENDERERS, render_json

__all__ = [
    "RENDERERS",
    "DryRun",
    "PodResult",
    "dry_run",
    "judge",
    "render_json",
    "render_page",
]
