"""Print the members of an explained job as a table, of many that are alike a few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from webhook.cli.findings import echo
from webhook.core.printable import printable

if TYPE_CHECKING:
    from webhook.diagnose.explain.explanation import Explanation, Row

_MOST_ROWS = 16
_WIDEST = 253
"""Most characters of a cell: no name is longer, but an annotation may be."""
_HEADINGS = ("POD", "ROLE", "PHASE", "NODE", "ADDRESS", "TOLD", "WAIT")


def print_members(explanation: Explanation) -> None:
    """Print a table of the members; of many that are alike a few."""
    rows = explanation.rows
    if not rows:
        return
    shown = _chosen(rows)
    several = len(explanation.jobs) > 1
    lines: list[tuple[str, ...]] = [(*_HEADINGS, "JOB") if several else _HEADINGS]
    lines += [_cells(row, with_job=several) for row in shown]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    click.echo()
    for line in lines:
        echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    if len(shown) < len(rows):
        rest: dict[str, int] = {}
        for row in rows:
            rest[row.phase] = rest.get(row.phase, 0) + 1
        phases = ", ".join(f"{number:,} {phase}" for phase, number in rest.items())
        echo(f"… {len(rows):,} pods in all: {phases}; -o json lists them")


def _chosen(rows: Sequence[Row]) -> Sequence[Row]:
    """Choose rows to show: of many pods rank 0, and some of each that are alike."""
    if len(rows) <= _MOST_ROWS:
        return rows
    kinds: dict[tuple[str, ...], list[int]] = {}
    for number, row in enumerate(rows):
        kinds.setdefault((row.role, row.phase, row.told, row.wait), []).append(number)
    chosen: list[int] = []
    for nth in range(3):
        chosen += [numbers[nth] for numbers in kinds.values() if nth < len(numbers)]
    return [rows[number] for number in sorted(chosen[:_MOST_ROWS])]


def _cells(row: Row, *, with_job: bool) -> tuple[str, ...]:
    cells = (row.pod, row.role, row.phase, row.node, row.address, row.told, row.wait, *([row.job] if with_job else ()))
    return tuple(printable(cell, limit=_WIDEST) for cell in cells)
