"""JSON as Go reads it: strict, repeated keys kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.core.networks.go_json import Number, parse

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda child: (
        st.lists(child, max_size=3) | st.dictionaries(st.text(max_size=3), child, max_size=3)
    ),
    max_leaves=8,
)


def plain(value: Any) -> Any:
    """Turn what is read back into what json.loads gives."""
    if isinstance(value, tuple):
        return {key: plain(member) for key, member in value}
    if isinstance(value, list):
        return [plain(member) for member in value]
    return json.loads(value) if isinstance(value, Number) else value


@settings(deadline=None)
@given(JSON, st.none() | st.integers(0, 2), st.booleans())
def test_reads_every_json_value(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert plain(parse(text)) == value


@pytest.mark.parametrize("text", ['{"a": 1, "a": [2, "a"], "b": {}}'])
def test_keeps_repeated_keys_and_numbers_as_written(text: str) -> None:
    found = parse(text)
    assert found == (("a", Number("1")), ("a", [Number("2"), "a"]), ("b", ()))
    assert type(found[0][1]) is Number
    assert type(found[1][1][1]) is str


@pytest.mark.parametrize(
    ("opening", "closing"), [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"]
)
def test_reads_deeper_than_annotations_are_nested(opening: str, closing: str) -> None:
    depth = 500
    inner = "[]" if opening == "[" else "{}"
    value = parse(opening * (depth - 1) + inner + closing * (depth - 1))
    for _ in range(depth - 1):
        value = value[0] if isinstance(value, list) else value[0][1]
    assert not value
    with pytest.raises(RecursionError):
        parse(opening * 100_000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("[" * 200 + "]" * 199, "ends too early", id="unclosed list"),
        pytest.param(
            "[" * 200 + "]" * 199 + "}", "character 400: '}'", id="closed by another bracket"
        ),
        pytest.param("[" * 200 + "]" * 200 + "]", "character 401: ']'", id="closed twice"),
        pytest.param("[" * 200 + "[1,]" + "]" * 200, "character 204", id="trailing comma"),
        pytest.param("[" * 200 + "NaN" + "]" * 200, "NaN is not a value", id="no number"),
        pytest.param("[" * 200 + '{"a" 1}' + "]" * 200, "character 206: '1}", id="no colon"),
        pytest.param(
            "[" * 200 + "{a:1}" + "]" * 200, "character 202: 'a:1}", id="key without quotes"
        ),
        pytest.param(
            "[" * 200 + '{"a":1,}' + "]" * 200,
            "character 208: '}]",
            id="trailing comma in an object",
        ),
        pytest.param('["a\tb"]', "character 4: '\\\\tb", id="control character"),
        pytest.param("[Infinity]", "Infinity is not a value", id="infinity"),
    ],
)
def test_refuses_what_is_no_json(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(text)
