"""Tables of cases: as text, one row a line; as YAML beside a module; or as values by name."""

import json
from collections.abc import Iterator, Mapping
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
    found = yaml.load((Path(module).parent / file).read_text("utf-8"), yaml.CSafeLoader)
    return json.loads(json.dumps(found))


def grouped_file(module: str, file: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the rows of a YAML file beside a module: a name, what its group shares, the row itself.

    A group's rows stand under ``rows``, in a list or by name; without them it is a row itself.
    """
    for title, group in read(module, file).items():
        rows = group.pop("rows", [{}])
        named = rows if isinstance(rows, dict) else dict(enumerate(rows, 1))
        for name, row in named.items():
            yield f"{title}, {name}", group, row


def grouped(module: str, folder: str) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield the same of each file of a folder, behind the file's name."""
    for file in sorted((Path(module).parent / folder).glob("*.yaml")):
        for name, group, row in grouped_file(module, f"{folder}/{file.name}"):
            yield file.stem, f"{file.stem}: {name}", group, row
