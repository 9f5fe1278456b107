"""Pods are written as YAML that reads back, for people."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from webhook.dry_run.templates import parse_documents
from webhook.dry_run.yaml_text import yaml_index, yaml_lines, yaml_text

WRITTEN: dict[str, tuple[Any, str]] = {
    "a map": ({"b": 1, "a": {"c": None}}, "b: 1\na:\n  c: null\n"),
    "a list in a map": ({"a": [1, {"b": True, "c": "x"}]}, "a:\n- 1\n- b: true\n  c: x\n"),
    "a list in a list": ([[1, [2]], []], "- - 1\n  - - 2\n- []\n"),
    "empty": ({"a": {}, "b": [], "c": ""}, "a: {}\nb: []\nc: ''\n"),
    "text over several lines": (
        {"a": "x\n  y\n\nz\n", "b": ["p\nq"]},
        "a: |\n  x\n    y\n\n  z\nb:\n- |-\n  p\n  q\n",
    ),
    "text that looks like something else": (
        ["1", "true", "Null", "y", "2:4", "- a", "a: b", "a #b", "a:", "=", "*x", " a"],
        "- '1'\n- 'true'\n- 'Null'\n- 'y'\n- '2:4'\n- '- a'\n- 'a: b'\n- 'a #b'\n- 'a:'\n- '='\n- '*x'\n- ' a'\n",
    ),
    "flags, paths, references, quantities": (
        ["-c", "--nnodes=2", "/dev/shm", "$(A)", "${A:=b}:1", "64000m", "16Gi"],
        "- -c\n- --nnodes=2\n- /dev/shm\n- $(A)\n- ${A:=b}:1\n- 64000m\n- 16Gi\n",
    ),
    "quotes": (["it's", "'", '"'], "- it's\n- ''''\n- '\"'\n"),
    "odd characters": (
        ["\x1b[2J", "\t", "é", "\u202e", "\U000e0001", '\x07"\\\n'],
        '- "\\x1b[2J"\n- "\\t"\n- é\n- "\\u202e"\n- "\\U000e0001"\n- "\\x07\\"\\\\\\n"\n',
    ),
    "nothing": ({}, "{}\n"),
}

_texts = st.text() | st.text(alphabet="ab :#-\n'\"|>&*!%@`{}[],?~=<\t.01_ey")
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | _texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_texts, inner, max_size=4),
    max_leaves=15,
)


@pytest.mark.parametrize(("value", "text"), WRITTEN.values(), ids=WRITTEN)
def test_writes(value: Any, text: str) -> None:
    assert yaml_text(value) == text
    assert yaml_lines(value) == text.removesuffix("\n").split("\n")


@given(st.dictionaries(_texts, _values, max_size=4))
def test_reads_back(value: Any) -> None:
    text = yaml_text(value)
    assert yaml.safe_load(text) == value
    assert parse_documents(text) == [value]
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("value", [value for value, _ in WRITTEN.values()], ids=list(WRITTEN))
def test_tells_on_which_line_a_part_begins(value: Any) -> None:
    """Held by what else is written: a part that is replaced by a mark has it on the line that the index gives."""
    for location, line in yaml_index(value).items():
        assert "M4RK" in yaml_lines(marked(value, location))[line]


def marked(value: Any, location: tuple[str | int, ...]) -> Any:
    """Return *value* with a mark in place of the part at *location*."""
    if not location:
        return "M4RK"
    first, *rest = location
    if isinstance(value, dict):
        return {
            key: marked(item, tuple(rest)) if key == first else item for key, item in value.items()
        }
    return [marked(item, tuple(rest)) if at == first else item for at, item in enumerate(value)]
