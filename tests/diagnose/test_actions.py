"""Only *ok* has no action: of each place in the source where something is found, and so also of those that no test comes to.

Findings that tests come to are held to it by tests/told_codes.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import pytest

from tests import ROOT

_PLACES = {
    "Finding": (0, 4, "remedy"),
    "Observation": (1, 4, "action"),
    "_Remark": (0, 3, "action"),
}
"""Of each value that something found is held in: where its level and its action stand, and the action's name."""


class Place(NamedTuple):
    """Name a call that holds what was found: *level* and *action* as they are written; None for an action that is the code's."""

    where: str
    level: ast.expr
    action: ast.expr | None


@cache
def places() -> list[Place]:
    return list(_places())


def _places() -> Iterator[Place]:
    for path in sorted((ROOT / "webhook").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = (
                node.func.id
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                else ""
            )
            if isinstance(node, ast.Call) and name in _PLACES:
                level, position, keyword = _PLACES[name]
                given = {each.arg: each.value for each in node.keywords}
                action = given.get(
                    keyword, node.args[position] if len(node.args) > position else None
                )
                yield Place(f"{path.relative_to(ROOT)}:{node.lineno}", node.args[level], action)


def test_all_places_are_seen() -> None:
    assert len(places()) > 150


@pytest.mark.parametrize(
    "place",
    [place for place in places() if place.action is not None],
    ids=lambda place: place.where,
)
def test_no_fault_is_without_an_action(place: Place) -> None:
    is_ok = isinstance(place.level, ast.Constant) and place.level.value == "ok"
    empty = [
        each
        for each in ast.walk(place.action or place.level)
        if isinstance(each, ast.Constant) and each.value == ""
    ]
    assert is_ok or not empty, f"{place.where}: an empty action"
