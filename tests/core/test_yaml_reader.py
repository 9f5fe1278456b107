"""YAML and JSON are read as Kubernetes' own tools read them, within limits."""

import json
import sys
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from webhook.core import yaml_reader
from webhook.core.errors import InputError
from webhook.core.yaml_reader import MAX_DEPTH, YamlFault, decode, format_path, read_documents


def values_of(text: str) -> list[Any]:
    return [document.value for document in read_documents(text)]


READ: dict[str, tuple[str, list[Any]]] = {
    "nothing": ("", []),
    "a comment": ("# only this", []),
    "empty documents": ("---\n---\na: 1\n---\n", [{"a": 1}]),
    "several documents": ("a: 1\n---\nb: 2\n...\n---\n- c", [{"a": 1}, {"b": 2}, ["c"]]),
    "a byte order mark": ("\ufeffa: 1", [{"a": 1}]),
    "an elastic range is text, not base 60": ("a: 2:4", [{"a": "2:4"}]),
    "a date is text": (
        "a: 2026-10-26\nb: 2001-12-14T21:59:43.10-05:00",
        [{"a": "2026-10-26", "b": "2001-12-14T21:59:43.10-05:00"}],
    ),
    "keys are text": (
        "1: a\ntrue: b\nnull: c\n1.5: d",
        [{"1": "a", "true": "b", "null": "c", "1.5": "d"}],
    ),
    "numbers": ("[0x1f, 014, 0o17, 0b11, 1_000, -3, +4, 0]", [[31, 12, 15, 3, 1000, -3, 4, 0]]),
    "fractions": ("[1.5, .5, 1e3, -2.5e-1]", [[1.5, 0.5, 1000.0, -0.25]]),
    "a number of many digits": ("a: " + "9" * 30, [{"a": 1e30}]),
    "a number of too many digits is text": ("a: " + "9" * 6000, [{"a": "9" * 6000}]),
    "no number at all": (
        "[.inf, .nan, 1.2.3, -, 1e999]",
        [[".inf", ".nan", "1.2.3", "-", "1e999"]],
    ),
    "constants": ("[yes, Off, ~, null, '', y]", [[True, False, None, None, "", "y"]]),
    "quotes make text": ('["1", \'true\', "~"]', [["1", "true", "~"]]),
    "tags": ("[!!str 5, !!int '5', !own x]", [["5", 5, "x"]]),
    "aliases": ("a: &x {b: 1}\nc: *x", [{"a": {"b": 1}, "c": {"b": 1}}]),
    "merge keys": ("a: {<<: {b: 1, c: 2}, c: 3}", [{"a": {"b": 1, "c": 3}}]),
    "a list of merges: the first wins": (
        "a: {<<: [{b: 1}, {b: 2, c: 2}]}",
        [{"a": {"b": 1, "c": 2}}],
    ),
    "a quoted merge key is text": ("'<<': 1", [{"<<": 1}]),
    "a merge key that is no key is text": ("a: <<\nb: [<<]", [{"a": "<<", "b": ["<<"]}]),
    "JSON": ('{"a": [1, null]}', [{"a": [1, None]}]),
    "JSON values one after the other": ('{"a": 1}\n{"b": 2}', [{"a": 1}, {"b": 2}]),
    "a JSON number that is too large is text": ('{"a": 1e999}', [{"a": "1e999"}]),
    "no number of JSON is text, as in YAML": (
        '{"a": NaN, "b": Infinity}',
        [{"a": "NaN", "b": "Infinity"}],
    ),
    "numbers that are no list are text": ("1 2", ["1 2"]),
    "an anchor of each document": (
        "a: &x 1\nb: *x\n---\na: &x 2\nb: *x",
        [{"a": 1, "b": 1}, {"a": 2, "b": 2}],
    ),
    "JSON with tabs": ('{\n\t"a": 1\n}', [{"a": 1}]),
    "JSON with a surrogate pair": ('{"a": "\\ud83d\\ude00"}', [{"a": "😀"}]),
    "YAML that looks like JSON": ("{a: b, c: [d,]}", [{"a": "b", "c": ["d"]}]),
    "block texts": ("a: |\n  x\n  y\nb: >-\n  x\n  y", [{"a": "x\ny\n", "b": "x y"}]),
}

REFUSED: dict[str, tuple[str, str]] = {
    "a tab": (
        "a: 1\n\tb: 2",
        "line 2, column 1: not valid YAML: found a tab character that violates indentation",
    ),
    "two colons": ("a: b: c", "line 1, column 5: not valid YAML: mapping values are not allowed"),
    "an open list": (
        "a: [1\nb: 2",
        "line 2, column 2: not valid YAML: did not find expected ',' or ']'",
    ),
    "an unknown alias": ("a: *b", "line 1, column 4: the alias *b has no anchor before it"),
    "an alias of the document before": (
        "a: &x 1\n---\nb: *x",
        "line 3, column 4: the alias *x has no anchor before it",
    ),
    "an alias to itself": ("a: &a [*a]", "line 1, column 8: the alias *a has no anchor before it"),
    "a map as a key": (
        "{{ .Values.image }}",
        "line 1, column 2: an object stands where a key is needed",
    ),
    "a merge of no map": (
        "a:\n  <<: 5",
        "line 2, column 7: found a number; << needs an object, or a list of them",
    ),
    "a control character before another line": (
        "a: \x00\nb: x",
        "line 1, column 4: the character U+0000 is not allowed",
    ),
    "a control character": (
        "a: x\nb: \x00",
        "line 2, column 4: the character U+0000 is not allowed",
    ),
    "half of a surrogate pair": (
        "a: \ud800",
        "line 1, column 4: the character U+D800 is not allowed",
    ),
    "half of an escaped surrogate pair": ('{"a": "\\ud800"}', "half of a surrogate pair"),
    "deep lists": ("[" * 500, "line 1, column 101: objects and lists are nested deeper than 100"),
    "lists deeper than some versions of libyaml read ahead": ("[" * 100_000, "nest"),
    "deep maps": ("".join(f"{' ' * depth}a:\n" for depth in range(200)), "nested deeper than 100"),
    "deep JSON": ('{"a":' * 150 + "1" + "}" * 150, "nested deeper than 100"),
    "broken JSON": (
        '{"a": 1 "b": 2}',
        "line 1, column 12: not valid YAML: did not find expected ',' or '}'",
    ),
    "a repeated key": (
        "a:\n  b: 1\n  c: 2\n  b: 3",
        "line 4, column 3: a.b: is written twice, first in line 2; keep one",
    ),
    "a repeated key of an item": (
        "a:\n- b: 1\n  b: 1",
        "line 3, column 3: a[0].b: is written twice, first in line 2",
    ),
    "a repeated key in other words": (
        "on: 1\ntrue: 2",
        "line 2, column 1: true: is written twice, first in line 1",
    ),
    "a repeated key beside a merge": (
        "a: {<<: {b: 1}, b: 2, b: 3}",
        "line 1, column 23: a.b: is written twice",
    ),
    "a repeated key of JSON": (
        '{\n\t"a": 1,\n\t"a": 2\n}',
        "line 3, column 2: a: is written twice, first in line 2",
    ),
    "a directive": ("%YAML x\n---\na: 1", "line 1, column"),
}


@pytest.mark.parametrize(("text", "documents"), READ.values(), ids=READ)
def test_reads(text: str, documents: list[Any]) -> None:
    assert values_of(text) == documents


@pytest.mark.parametrize("escape", ["\\ud800", "\\U0000dfff", "\\U00110000"])
def test_refuses_an_escape_of_no_character(escape: str) -> None:
    with pytest.raises(
        YamlFault, match=r"invalid Unicode|half of a surrogate pair|not in range"
    ) as refused:
        values_of(f'a: "{escape}"')
    assert refused.value.line in (0, 1), "of the whole, or its own"


@pytest.mark.parametrize(
    ("content", "place"),
    [(b"\xff", "line 1, column 1"), (b"a: 1\nb: \xc3\xbc\xff", "line 2, column 5")],
)
def test_refuses_what_is_not_utf_8_by_its_place(content: bytes, place: str) -> None:
    with pytest.raises(
        YamlFault, match=f"^{place}: the byte 0xff is not UTF-8; save the file in that encoding$"
    ):
        decode(content)


def test_reads_a_byte_order_mark_as_nothing() -> None:
    assert decode("\ufeffa".encode()) == "a"


def test_yaml_takes_every_character_that_is_let_through() -> None:
    dense = (*range(0x3000), *range(0xD000, 0x11000))  # where the ranges of YAML begin and end
    every = "".join(map(chr, (*dense, *range(0x11000, sys.maxunicode, 997), sys.maxunicode)))
    allowed = yaml_reader._UNPRINTABLE.sub("", every).replace("'", "")
    [found] = values_of(f"a: '{allowed}'")
    assert set(allowed) - set(found["a"]) <= set("\t\n\r\x85\u2028\u2029"), "breaks become spaces"


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_refuses(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        values_of(text)
    assert message in str(caught.value)


REPEATED: dict[str, tuple[str, list[Any], list[str]]] = {
    "a key": (
        "a: 1\nb: 2\na: 3",
        [{"a": 3, "b": 2}],
        ["line 3, column 1: a: is written twice, also in line 1; the last one counts"],
    ),
    "a key thrice": (
        "- a: 1\n  a: 2\n  a: 3",
        [[{"a": 3}]],
        [
            "line 2, column 3: [0].a: is written twice, also in line 1; the last one counts",
            "line 3, column 3: [0].a: is written twice, also in line 2; the last one counts",
        ],
    ),
    "a key of the second document": (
        "a: 1\n---\na: {b: 1}\na: 2",
        [{"a": 1}, {"a": 2}],
        ["line 4, column 1: a: is written twice, also in line 3; the last one counts"],
    ),
    "a key beside a merge": (
        "{<<: {b: 1}, b: 2, b: 3}",
        [{"b": 3}],
        ["line 1, column 20: b: is written twice, also in line 1; the last one counts"],
    ),
    "a key of JSON": (
        '{"a": 1,\n"a": 2}',
        [{"a": 2}],
        ["line 2, column 1: a: is written twice, also in line 1; the last one counts"],
    ),
}


@pytest.mark.parametrize(("text", "values", "warnings"), REPEATED.values(), ids=REPEATED)
def test_takes_the_last_of_a_key_that_is_written_twice(
    text: str, values: list[Any], warnings: list[str]
) -> None:
    documents = read_documents(text, takes_last=True)
    assert [document.value for document in documents] == values
    assert list(documents[-1].warnings) == warnings
    assert not any(document.warnings for document in documents[:-1])


def test_warns_of_few_keys_that_are_written_twice() -> None:
    [document] = read_documents("a: 1\n" * 1000, takes_last=True)
    assert len(document.warnings) == 20


def test_refuses_a_bomb_of_aliases() -> None:
    lines = ["a0: &a0 [" + ", ".join(["x"] * 10) + "]"]
    lines += [
        f"a{level}: &a{level} [" + ", ".join([f"*a{level - 1}"] * 10) + "]"
        for level in range(1, 12)
    ]
    with pytest.raises(
        InputError, match=r"line 6, column \d+: the input expands to more than 1000000 values"
    ):
        values_of("\n".join(lines))


def test_json_of_many_values_is_read_since_it_expands_to_no_more_than_its_text() -> None:
    [document] = read_documents(json.dumps({"items": [0] * 1_000_001}))
    assert len(document.value["items"]) == 1_000_001


@pytest.mark.parametrize("character", ["\x7f", "\ufffe"])
def test_json_may_hold_characters_that_yaml_forbids(character: str) -> None:
    assert read_documents(f'{{"a": "{character}"}}')[0].value == {"a": character}
    with pytest.raises(InputError, match="is not allowed; remove it"):
        values_of(f"a: '{character}'")


def test_refuses_a_bomb_of_long_texts() -> None:
    text = "a: &a " + "x" * 1_000_000 + "\nb: [" + ", ".join(["*a"] * 1000) + "]"
    with pytest.raises(InputError, match="expands to more than"):
        values_of(text)


def test_reads_as_deep_as_the_limit() -> None:
    assert values_of("[" * MAX_DEPTH + "]" * MAX_DEPTH)


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.text(max_size=20), _json, max_size=4))
def test_reads_any_json(value: Any) -> None:
    assert values_of(json.dumps(value)) == [value]


@given(st.dictionaries(st.text(max_size=20), _json, max_size=4))
def test_reads_what_pyyaml_writes(value: Any) -> None:
    text = yaml.safe_dump(value, default_flow_style=False, default_style='"', allow_unicode=True)
    assert values_of(text) == [yaml.safe_load(text)]


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#%@`?,. \n\t<=~10", max_size=60))
def test_gives_any_text_a_value_or_a_refusal_with_its_place(text: str) -> None:
    try:
        json.dumps(values_of(text))
    except InputError as error:
        assert str(error).startswith("line ")  # noqa: PT017  # both ends are fine


def test_writes_a_location_on_one_line_whatever_its_keys_hold() -> None:
    assert format_path(("profiles", "b\nc", 0)) == 'profiles["b\\nc"][0]'
