"""What Python runs and mypyc compiles to something else: the tests run on Python, the image on what mypyc makes of it."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOOK = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"][
    "mypyc"
]
COMPILED = sorted({path for pattern in HOOK["include"] for path in ROOT.glob(pattern)})


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_name_holds_exceptions_of_two_types(path: Path) -> None:
    """A name has one type in mypyc, that of the first handler: the second one raised TypeError for each pod that came to it."""
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(function, ast.FunctionDef):
            continue
        types: dict[str, set[str]] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.ExceptHandler) and node.name and node.type is not None:
                types.setdefault(node.name, set()).add(ast.unparse(node.type))
        assert {name: found for name, found in types.items() if len(found) > 1} == {}, function.name


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_is_looked_for_in_a_list_that_is_unpacked_in_place(path: Path) -> None:
    """Of ``value in ("", *others)`` mypyc dies with an internal error, and no image is built."""
    compared = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Compare)]
    looked_in = [
        ast.unparse(each) for node in compared for each in node.comparators if isinstance(each, ast.Tuple | ast.List)
    ]
    assert [text for text in looked_in if "*" in text] == []
