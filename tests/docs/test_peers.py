"""Each row of the table in docs/peers.md of what we found in no other program names tests that exist."""

from __future__ import annotations

import ast
import re

import pytest

from tests import ROOT

ROWS = 16


def table() -> list[str]:
    page = (ROOT / "docs/peers.md").read_text().partition("## What we found in none of them")[2]
    return [line for line in page.splitlines() if line.startswith("| ")][1:]


def links(row: str) -> list[tuple[str, str]]:
    return re.findall(r"\[(test_\w+)\]\(\.\./(tests/[\w/]+\.py)\)", row)


def test_has_a_row_for_each() -> None:
    assert len(table()) == ROWS


@pytest.mark.parametrize("row", table(), ids=lambda row: row.split("|")[1].strip()[:40])
def test_is_shown_by_tests_that_exist(row: str) -> None:
    shown = links(row)
    assert shown
    for name, file in shown:
        tree = ast.parse((ROOT / file).read_text())
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (
            file,
            name,
        )
