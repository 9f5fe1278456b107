"""Print findings: a line each on a terminal or in a file, or one JSON document. Shared by ``check`` and ``explain``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import click

from webhook.finding import Finding, Level, as_document
from webhook.review import printable

_COLOUR: dict[Level, str] = {"ok": "green", "warn": "yellow", "fail": "red"}


def print_findings(findings: Iterable[Finding]) -> None:
    """Print a line for each finding, and under it what to do; coloured on a terminal, which gets nothing else to interpret."""
    for finding in findings:
        level = click.style(f"{finding.level:<4}", fg=_COLOUR[finding.level])
        click.echo(f"{level}  {printable(f'{finding.subject}: {finding.message}', limit=None)}")
        if finding.action:
            click.echo(f"      → {printable(finding.action, limit=None)}")


def print_json(findings: Iterable[Finding], **more: Any) -> None:
    """Print ``{…more, "findings": […], "summary": {"fail": 0, …}}``."""
    text = json.dumps({**more, **as_document(findings)}, indent=2, ensure_ascii=False)
    click.echo(
        text.encode(errors="backslashreplace").decode()
    )  # half a surrogate pair, which no encoding takes, as JSON writes it
