"""JSON as Go reads it: strict, repeated keys kept, ten thousand levels deep."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.core.networks import go_json
from webhook.core.networks.go_json import MAX_DEPTH, Number, parse

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda child: st.lists(child, max_size=3) | st.dictionaries(st.text(max_size=3), child, max_size=3),
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
    assert plain(go_json._parse_deep(text)) == value


@settings(deadline=None)
@given(st.text(alphabet='[]{}",:\\u01e+-.ntruefals \n\x00', max_size=12))
def test_reads_deep_and_shallow_values_alike(text: str) -> None:
    outcomes = []
    for reader in (parse, go_json._parse_deep):
        try:
            outcomes.append(reader(text))
        except ValueError:
            outcomes.append(ValueError)
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("text", ['{"a": 1, "a": [2, "a"], "b": {}}'])
def test_keeps_repeated_keys_and_numbers_as_written(text: str) -> None:
    for found in (parse(text), go_json._parse_deep(text)):
        assert found == (("a", Number("1")), ("a", [Number("2"), "a"]), ("b", ()))
        assert type(found[0][1]) is Number
        assert type(found[1][1][1]) is str


@pytest.mark.parametrize("depth", [1, 900, 1000, 5000, MAX_DEPTH])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"])
def test_reads_as_deep_as_go_does(depth: int, opening: str, closing: str) -> None:
    inner = "[]" if opening == "[" else "{}"
    value = parse(opening * (depth - 1) + inner + closing * (depth - 1))
    for _ in range(depth - 1):
        value = value[0] if isinstance(value, list) else value[0][1]
    assert not value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "deeper than 10000", id="too deep"),
        pytest.param("[" * 2000 + "]" * 1999, "ends too early", id="unclosed list"),
        pytest.param("[" * 2000 + "]" * 1999 + "}", "character 4000: '}'", id="closed by another bracket"),
        pytest.param("[" * 2000 + "]" * 2000 + "]", "character 4001: ']'", id="closed twice"),
        pytest.param("[" * 2000 + "[1,]" + "]" * 2000, "character 2004", id="trailing comma"),
        pytest.param("[" * 2000 + "NaN" + "]" * 2000, "character 2001", id="no number"),
        pytest.param("[" * 2000 + '{"a" 1}' + "]" * 2000, "character 2006: '1}", id="no colon"),
        pytest.param("[" * 2000 + "{a:1}" + "]" * 2000, "character 2002: 'a:1}", id="key without quotes"),
        pytest.param("[" * 2000 + '{"a":1,}' + "]" * 2000, "character 2008: '}]", id="trailing comma in an object"),
        pytest.param('["a\tb"]', "character 4: '\\\\tb", id="control character"),
        pytest.param("[Infinity]", "Infinity is not a value", id="infinity"),
    ],
)
def test_refuses_what_is_no_json(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(text)
