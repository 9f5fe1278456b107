"""docs/names.md and the code use the same names."""

from __future__ import annotations

import ast
import re
from functools import cache

from tests import ROOT

_ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \|([^|]*)\|$", re.MULTILINE)
_CLASS = re.compile(r"`([A-Z]\w+)`")


@cache
def text() -> str:
    return (ROOT / "docs/names.md").read_text()


def rows() -> list[tuple[str, str, str]]:
    return [row for row in _ROW.findall(text()) if row[0] != "term"]


def classes(*patterns: str) -> set[str]:
    """List the public classes that the files define at their top level."""
    trees = [ast.parse(path.read_text()) for pattern in patterns for path in ROOT.glob(pattern)]
    found = {node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}
    return {name for name in found if not name.startswith("_")}


def test_each_term_has_one_row_with_one_sentence() -> None:
    terms = [term.lower() for term, _, _ in rows()]
    assert len(terms) > 40
    assert sorted(terms) == sorted(set(terms))
    assert [
        term
        for term, meaning, _ in rows()
        if not re.fullmatch(r"[A-Z].*\.", meaning) or ". " in meaning
    ] == []


def test_each_class_that_it_names_exists() -> None:
    named = set(_CLASS.findall(text()))
    assert named - classes("webhook/**/*.py", "certs/**/*.py") == set()


def test_what_all_wings_share_is_explained() -> None:
    shared = classes(
        "webhook/core/model.py",
        "webhook/core/errors.py",
        "webhook/core/draft.py",
        "webhook/core/review.py",
    )
    assert "Verdict" in shared
    assert shared - set(_CLASS.findall(text())) == set()
