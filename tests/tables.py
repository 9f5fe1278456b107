"""Tables of cases: as text, one row a line; as YAML beside a module; or as values by the name of the case."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml


def cases(table: str) -> list[Any]:
    """Read rows of cells between bars, the first names the case; return pytest's parameters."""
    rows = [[cell.strip() for cell in row.split("|")] for row in table.strip().splitlines()]
    return [pytest.param(*cells, id=name) for name, *cells in rows]


def table(names: str, rows: Mapping[str, Any]) -> pytest.MarkDecorator:
    """Run a test for each row, which holds the values of *names*, "a, b", by the case's name."""
    return pytest.mark.parametrize(names, rows.values(), ids=rows)


def read(module: str, file: str) -> Any:
    """Return what a YAML file beside a module holds; what its anchors share may be changed."""
    found = yaml.safe_load(Path(module).with_name(file).read_text("utf-8"))
    return json.loads(json.dumps(found))
