"""The page of findings: each code stands there, as the registry has it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import ROOT
from webhook.diagnose.codes import SHORTAGES, Code
from webhook.diagnose.lease import LeaseState
from webhook.diagnose.manual import commands, find_code, manual, section

PAGE = ROOT / "docs/findings.md"


@pytest.mark.parametrize("code", Code, ids=str)
def test_each_code_has_its_section(code: Code) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"\n## {code}\n\n{code.means}\n" in text
    assert code.action[1:] in section(code)
    assert find_code(str(code)) is code


def test_the_page_is_that_of_the_registry() -> None:
    assert PAGE.read_text(encoding="utf-8") == manual(), (
        "python -m webhook.diagnose.manual > docs/findings.md"
    )


_BOTH = ("check", "explain")
_TELLERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("diagnose/explain/transport.py", ("explain --logs",)),
    ("diagnose/explain/", ("explain",)),
    ("diagnose/check/", ("check",)),
    ("diagnose/lease.py", _BOTH),
    ("diagnose/codes.py", _BOTH),
)
"""Which commands tell what a file finds, where it begins so; the first counts. What is in no such file is found by none of them."""


def tellers(path: Path) -> tuple[str, ...]:
    name = str(path.relative_to(ROOT / "webhook"))
    return next((told for begins, told in _TELLERS if name.startswith(begins)), ())


def made(node: ast.AST) -> Iterator[str]:
    """Yield the names of the codes in the source, but for those that are only compared with."""
    if isinstance(node, ast.Compare):
        return
    if (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "Code"
    ):
        yield node.attr
    for child in ast.iter_child_nodes(node):
        yield from made(child)


def told() -> dict[Code, set[str]]:
    found: dict[Code, set[str]] = {code: set() for code in Code}
    for path in (ROOT / "webhook").rglob("*.py"):
        for name in made(ast.parse(path.read_text(encoding="utf-8"))):
            if name in Code.__members__:
                found[Code[name]].update(tellers(path))
    for code, commands_of in found.items():
        if code.topic == "lease" and LeaseState(code, "").leads:
            commands_of.discard("explain")  # a job lacks nothing by it
    return found


TOLD = told()


def test_codes_that_the_registry_itself_hands_out_are_told_by_both() -> None:
    assert all(TOLD[code] == set(_BOTH) for code in SHORTAGES.values())


@pytest.mark.parametrize("code", Code, ids=str)
def test_says_by_which_commands_it_is_told(code: Code) -> None:
    """`test` tells also what `explain` tells of its pods, so it is named only where it finds something itself."""
    found = TOLD[code]
    assert found
    stated = set(commands(code))
    assert stated - {"test"} == found - {"test"}
    assert stated <= found
    assert "test" in stated or "test" not in found or "explain" in stated
    for command in commands(code):
        assert f"`fabric-injector {command}" in section(code)


def test_an_unknown_code_is_none() -> None:
    assert find_code("no-such-code") is None
