"""Print a list as kubectl does: a table, names, or a document for programs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import click

from webhook.cli.findings import print_document, print_table
from webhook.dry_run.yaml_text import yaml_text

FORMS = ("name", "wide", "json", "yaml")
_MOST = 120
"""Characters of the last column of a table that is not wide."""


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
