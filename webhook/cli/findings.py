"""Print findings, lines, tables, lists and documents; shared by the commands that ask a cluster."""

import codecs
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import click

from webhook.core.printable import LONGEST_TEXT, printable
from webhook.diagnose.finding import Finding, Level, as_document
from webhook.dry_run.screen import Line
from webhook.dry_run.yaml_text import yaml_text

F = TypeVar("F", bound=Callable[..., Any])
_WIDEST = 253
"""Most characters of a cell: no name is longer, but an annotation may be."""
_NARROWEST = 20
_CLEAR = "\r\x1b[K"
"""Go to the start of the line, and clear it."""
FORMS = ("name", "wide", "json", "yaml")
_MOST = 120
"""Characters of the last column of a table that is not wide."""
COLOUR: dict[Level, str] = {"ok": "green", "warn": "yellow", "fail": "red"}


def print_findings(findings: Iterable[Finding]) -> None:
    """Print a line for each finding, and under it what to do."""
    for finding in findings:
        level = styled(f"{finding.level:<4}", COLOUR[finding.level])
        echo(f"{level}  {_wrapped(f'{finding.subject}: {finding.message}', 6)}")
        if finding.action:
            echo(f"      → {_wrapped(finding.action, 8)}")


def print_codes(findings: Iterable[Finding]) -> None:
    """Name the codes of what failed or is in doubt, in the order of these lines."""
    for line in code_lines(each.code for each in findings if each.level != "ok"):
        echo(line)


def code_lines(codes: Iterable[object]) -> list[str]:
    """Return lines that name each of the codes once, and the command that says more."""
    named = list(dict.fromkeys(map(str, codes)))
    word = "code" if len(named) == 1 else "codes"
    text = f"{word}: {', '.join(named)}; for details: fabric-injector explain --code CODE"
    return _wrapped(text, 0).split("\n") if named else []


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines of printable text, with their colours."""
    for text, style in lines:
        click.echo(styled(text, style))


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


def print_json(findings: Iterable[Finding], **more: Any) -> None:
    """Print ``{…more, "findings": […], "summary": {"fail": 0, …}}``."""
    print_document({**more, **as_document(findings)})


def print_document(document: Mapping[str, Any]) -> None:
    """Print one JSON document; in ASCII if the output or a terminal cannot take all characters."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    is_utf = codecs.lookup(_encoding()).name.startswith("utf")
    if not (is_utf and text.replace("\n", "").isprintable()):
        text = json.dumps(document, indent=2)
    click.echo(text)


def print_table(rows: Iterable[Sequence[str]]) -> None:
    """Print rows in columns; the last one is as wide as it is."""
    for line in columns(rows):
        echo(line.rstrip())


def columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a line for each row, all cells of a column equally wide."""
    lines = [[printable(cell, limit=_WIDEST) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    pairs = (zip(line, widths, strict=True) for line in lines)
    return ["  ".join(cell.ljust(width) for cell, width in line) for line in pairs]


class Listing(NamedTuple):
    """Hold rows by their headings; *names* for ``-o name``, *document* for json and yaml.

    Only ``-o wide`` shows the last *extra* columns, and the last column without a limit.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: Sequence[str]
    document: Any
    extra: int = 0


def print_listing(listing: Listing, output: str | None, *, no_headers: bool) -> None:
    """Print it in the form *output*; None is a table."""
    if output == "name":
        click.echo("".join(f"{name}\n" for name in listing.names), nl=False)
    elif output == "json":
        print_document(listing.document)
    elif output == "yaml":
        click.echo(yaml_text(listing.document), nl=False)
    elif listing.rows:
        rows = [*listing.rows] if no_headers else [listing.headings, *listing.rows]
        print_table(rows if output == "wide" else [_narrow(row, listing.extra) for row in rows])


def _narrow(row: Sequence[str], extra: int) -> Sequence[str]:
    *cells, last = row[: len(row) - extra]
    return [*cells, last if len(last) <= _MOST else f"{last[: _MOST - 1]}…"]


def code_option(command: F) -> F:
    """Add ``--code CODE``, which prints what a finding's code means in place of all else."""
    return click.option(
        "--code",
        metavar="CODE",
        is_eager=True,
        expose_value=False,
        callback=_print_code,
        help="Print what the code of a finding means and what to do, and nothing else.",
    )(command)


def _print_code(_ctx: click.Context, _param: click.Parameter, written: str | None) -> None:
    if written is None:
        return
    from webhook.diagnose.manual import find_code

    code, meant = find_code(written)
    if code is None:
        hint = f"did you mean {meant}?" if meant else "write it as the command printed it"
        message = f"no finding has code {written!r}; {hint}"
        raise click.BadParameter(message, param_hint="--code")
    echo(f"{code}: {code.means}")
    echo(f"→ {code.action}")
    raise SystemExit(0)


@contextmanager
def show_progress() -> Iterator[Callable[[str], None]]:
    """Show on a terminal's standard error what was read so far."""
    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    try:
        yield lambda text: click.echo(f"{_CLEAR}{printable(text)} …", nl=False, err=True)
    finally:
        click.echo(_CLEAR, nl=False, err=True)


def echo(text: str) -> None:
    """Print a line; a character that the output's encoding does not have becomes ``?``."""
    click.echo(text.encode(_encoding(), "replace").decode(_encoding()))


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"  # a test's stream may have none
