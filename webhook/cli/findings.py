"""Print findings: a line each on a terminal or in a file, or one JSON document. Shared by ``check``, ``explain`` and ``survey``."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import click

from webhook.core.printable import printable
from webhook.diagnose.finding import Finding, Level, as_document

_COLOUR: dict[Level, str] = {"ok": "green", "warn": "yellow", "fail": "red"}


def print_findings(findings: Iterable[Finding]) -> None:
    """Print a line for each finding, and under it what to do; coloured on a terminal, which gets nothing else to interpret."""
    for finding in findings:
        level = click.style(f"{finding.level:<4}", fg=_COLOUR[finding.level])
        echo(f"{level}  {printable(f'{finding.subject}: {finding.message}', limit=None)}")
        if finding.action:
            echo(f"      → {printable(finding.action, limit=None)}")


def print_json(findings: Iterable[Finding], **more: Any) -> None:
    """Print ``{…more, "findings": […], "summary": {"fail": 0, …}}``."""
    print_document({**more, **as_document(findings)})


def print_document(document: Mapping[str, Any]) -> None:
    """Print one JSON document; in ASCII where the output takes no other characters, or some would be for the terminal to obey."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    if not (codecs.lookup(_encoding()).name.startswith("utf") and text.replace("\n", "").isprintable()):
        text = json.dumps(document, indent=2)
    click.echo(text)


def echo(text: str) -> None:
    """Print a line; a character that the output's encoding has not, as Latin-1 has no arrow, becomes ``?``."""
    click.echo(text.encode(_encoding(), "replace").decode(_encoding()))


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"  # a test's stream may have none
