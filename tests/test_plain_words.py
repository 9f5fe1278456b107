"""Messages, help, docstrings, log lines and docs are short, and in plain words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import pytest

from tests import ROOT
from tests.docs.commands import pages

MOST_WORDS = 25
MOST_WORDS_OF_DOCS = 30
MEAN_WORDS_OF_DOCS = 17
FORBIDDEN = re.compile(
    r"\b(?:(?:is|are|was|were) (?:told|said|named so)|of which|of whom|lest|nought|anew|but for|"
    r"for ever|that there (?:is|are)|what lacks|alone)\b"
)
_NOT_IN_MESSAGES = re.compile(r"(?<!anything )(?<!nothing )\belse\b")
_LEFT_ALONE = re.compile(r"\b(?:leav(?:e|es|ing)|left)\b[^.;:]{0,40}\balone\b")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n\s*[-*|] ")
_EXAMPLES = re.compile(r"\x08\n(?:.*\S.*\n)*")
_WORD = re.compile(r"\S*\w\S*")
_CODE = re.compile(r"``[^`]*``|`[^`]*`|\{[^{}]*\}")
_IS_PROSE = re.compile(r"(?:[a-z][a-z'-]+[,;:]? ){3}")
_NO_PROSE = re.compile(r"^```.*?^```$|<!--.*?-->|^#+ [^\n]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_END = re.compile(r"[.!?](?:\*\*)?\s+|\n\s*\n|^\s*(?:[-*]|\d+\.) |\s*\|\s*|<br>", re.MULTILINE)
_IS_CODE = re.compile(r"\\[bdsw]|\(\?|[;$] |&&|\|\|")


def faults(text: str, *, is_message: bool) -> Iterator[str]:
    """Yield what is wrong: a message counts as a whole, a docstring by its sentences."""
    plain = _LEFT_ALONE.sub("left", _CODE.sub("X", _EXAMPLES.sub("", text)))
    for pattern in (FORBIDDEN, _NOT_IN_MESSAGES) if is_message else (FORBIDDEN,):
        yield from (
            f"{found!r} in: {' '.join(text.split())[:80]}" for found in pattern.findall(plain)
        )
    for part in [plain] if is_message else _SENTENCE.split(plain):
        number = len(_WORD.findall(part))
        if number > MOST_WORDS:
            yield f"{number} words: {' '.join(part.split())[:80]}"


def in_file(path: Path) -> list[str]:
    """Return the faults of a module, with their lines."""
    return [
        f"{path.relative_to(ROOT)}:{line}: {fault}"
        for line, text, is_message in texts(ast.parse(path.read_text()))
        if not is_message or is_prose(text)
        for fault in faults(text, is_message=is_message)
    ]


def is_prose(text: str) -> bool:
    """Tell a message from a pattern, a script or a name."""
    return bool(_IS_PROSE.search(text)) and "\n" not in text.strip() and not _IS_CODE.search(text)


def texts(tree: ast.AST) -> Iterator[tuple[int, str, bool]]:
    """Yield line, text and whether it is a message; else it is a docstring."""
    documented = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    inside = {
        id(each)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for each in ast.walk(node)
        if each is not node
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, _joined(node), True
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in documented:
                yield node.lineno, node.value, False
            elif id(node) not in inside:
                yield node.lineno, node.value, True


def _joined(node: ast.JoinedStr) -> str:
    parts = (each.value if isinstance(each, ast.Constant) else "X" for each in node.values)
    return "".join(map(str, parts))


def test_product_is_plain() -> None:
    files = sorted(
        path for folder in ("webhook", "certs") for path in ROOT.glob(f"{folder}/**/*.py")
    )
    assert len(files) > 100
    assert [fault for path in files for fault in in_file(path)] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_page_is_plain(page: Path) -> None:
    text = _LEFT_ALONE.sub(
        "left", _CODE.sub("X", _LINK.sub(r"\1", _NO_PROSE.sub("\n\n", page.read_text())))
    )
    assert FORBIDDEN.findall(text) == []
    sentences = [part for part in _END.split(text) if len(_WORD.findall(part)) > 3]
    words = {" ".join(part.split()): len(_WORD.findall(part)) for part in sentences}
    assert {part for part, number in words.items() if number > MOST_WORDS_OF_DOCS} == set()
    assert mean(words.values()) <= MEAN_WORDS_OF_DOCS
