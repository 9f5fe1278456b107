"""Tables of cases: as text, one row a line, or as values by the name of the case."""

from collections.abc import Mapping
from typing import Any

import pytest


def cases(table: str) -> list[Any]:
    """Read rows of cells between bars, the first names the case; return pytest's parameters."""
    rows = [[cell.strip() for cell in row.split("|")] for row in table.strip().splitlines()]
    return [pytest.param(*cells, id=name) for name, *cells in rows]


def table(names: str, rows: Mapping[str, Any]) -> pytest.MarkDecorator:
    """Run a test for each row, which holds the values of *names*, "a, b", by the case's name."""
    return pytest.mark.parametrize(names, rows.values(), ids=rows)
