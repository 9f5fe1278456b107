"""Print findings, lines, tables, lists and documents, in the forms that commands share."""

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import click

from webhook.core.printable import LONGEST_TEXT, printable
from webhook.diagnose.finding import Finding
from webhook.dry_run.screen import Line
from webhook.dry_run.yaml_text import yaml_text

FORMS = ("name", "wide", "json", "yaml")
COLOUR = {"ok": "green", "warn": "yellow", "fail": "red"}
_WIDEST = 253
"""Most characters of a cell but the last: no name is longer, but an annotation may be."""
_NARROWEST = 20


def print_findings(findings: Iterable[Finding]) -> None:
    """Print a line for each finding, and under it what to do."""
    for finding in findings:
        level = styled(f"{finding.level:<4}", COLOUR[finding.level])
        echo(f"{level}  {_wrapped(f'{finding.subject}: {finding.message}', 6)}")
        if finding.action:
            echo(f"      → {_wrapped(finding.action, 8)}")


def print_codes(findings: Iterable[Finding]) -> None:
    """Name once the code of what failed or is in doubt, and the command that says more."""
    named = list(dict.fromkeys(str(each.code) for each in findings if each.level != "ok"))
    word = "code" if len(named) == 1 else "codes"
    if named:
        text = f"{word}: {', '.join(named)}; for details: fabric-injector explain --code CODE"
        echo(_wrapped(text, 0))


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines of printable text, with their colours."""
    for text, style in lines:
        echo(styled(text, style))


def styled(text: str, style: str) -> str:
    """Colour a text, ``bold red``; NO_COLOR leaves colours out. Source: no-color.org."""
    if os.environ.get("NO_COLOR") or not style:
        return text
    words = set(style.split())
    colour = next(iter(words - {"bold", "dim"}), None)
    return click.style(text, fg=colour, bold="bold" in words or None, dim="dim" in words or None)


def _wrapped(text: str, indent: int) -> str:
    """Make a text printable; on a terminal break it between words, and indent what follows."""
    text = printable(text, limit=LONGEST_TEXT)
    if not sys.stdout.isatty():
        return text
    width = max(_NARROWEST, shutil.get_terminal_size().columns - indent)
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return f"\n{' ' * indent}".join(lines)


class Listing(NamedTuple):
    """Hold rows by their headings; *names* for ``-o name``, *document* for json and yaml."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: Sequence[str]
    document: Any


def print_listing(listing: Listing, output: str | None, *, no_headers: bool) -> None:
    """Print it in the form *output*; None is a table as wide as the terminal, ``wide`` is whole."""
    if output == "name":
        click.echo("".join(f"{name}\n" for name in listing.names), nl=False)
    elif output in ("json", "yaml"):
        print_document(listing.document, output)
    elif listing.rows:
        head = [] if no_headers else [listing.headings]
        print_table([*head, *listing.rows], is_cut=output is None)


def print_document(document: Any, output: str) -> None:
    """Print one document, json or yaml."""
    is_json = output == "json"
    click.echo(f"{json.dumps(document, indent=2)}\n" if is_json else yaml_text(document), nl=False)


def print_table(rows: Sequence[Sequence[str]], *, is_cut: bool = True) -> None:
    """Print rows in columns; the last one ends where a terminal does, unless nothing *is_cut*.

    There the level of a finding has its colour.
    """
    cells = [[printable(cell, limit=_WIDEST) for cell in row[:-1]] for row in rows]
    widths = [max(map(len, column)) + 2 for column in zip(*cells, strict=True)]
    most = LONGEST_TEXT
    if is_cut and sys.stdout.isatty():
        most = max(_NARROWEST, shutil.get_terminal_size().columns - sum(widths))
    for line, row in zip(cells, rows, strict=True):
        padded = "".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        level, space, rest = printable(row[-1], limit=most).partition(" ")
        echo(f"{padded}{styled(level, COLOUR.get(level, ''))}{space}{rest}".rstrip())


def echo(text: str) -> None:
    """Print a line; a character that the output's encoding does not have becomes ``?``."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"  # a test's stream may have none
    click.echo(text.encode(encoding, "replace").decode(encoding))
