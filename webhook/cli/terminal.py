"""Print lines with colours on a terminal, without elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterable

import click

from webhook.dry_run.screen import Line


def print_lines(lines: Iterable[Line]) -> None:
    """Print them; NO_COLOR leaves the colours out. Source: no-color.org."""
    is_plain = bool(os.environ.get("NO_COLOR"))
    for text, style in lines:
        words = style.split()
        colour = next((word for word in words if word not in ("bold", "dim")), None)
        styled = click.style(text, fg=colour, bold="bold" in words, dim="dim" in words)
        click.echo(text if is_plain or not style else styled)
