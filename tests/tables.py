"""Tables of cases as text: one row a line, its cells between bars."""

from __future__ import annotations

from typing import Any

import pytest


def cases(table: str) -> list[Any]:
    """Read rows of cells, the first of which names the case; return them as pytest's parameters."""
    rows = [[cell.strip() for cell in row.split("|")] for row in table.strip().splitlines()]
    return [pytest.param(*cells, id=name) for name, *cells in rows]
