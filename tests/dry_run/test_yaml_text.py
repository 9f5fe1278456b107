"""Pods are written as YAML that reads back, for people."""

from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from webhook.dry_run.templates import parse_documents
from webhook.dry_run.yaml_text import yaml_text

_texts = st.text() | st.text(alphabet="ab :#-\n'\"|>&*!%@`{}[],?~=<\t.01_ey")
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | _texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_texts, inner, max_size=4),
    max_leaves=15,
)


def test_writes_keys_in_their_order_and_texts_as_blocks() -> None:
    shared = {"c": "x\n  y\n\nz\n"}
    value = {"b": [1, "1", None, "\x1b[2J\u202e"], "a": [shared, shared], "l": "long " * 40}
    block = "- c: |\n    x\n      y\n\n    z\n"
    line = f"l: '{'long ' * 40}'\n"
    assert yaml_text(value) == f"b:\n- 1\n- '1'\n- null\n- \"\\e[2J\\u202E\"\na:\n{block * 2}{line}"


@given(st.dictionaries(_texts, _values, max_size=4))
def test_reads_back(value: Any) -> None:
    text = yaml_text(value)
    assert yaml.safe_load(text) == value
    assert [each.value for each in parse_documents(text)] == [value]
    assert text.replace("\n", "").isprintable()
