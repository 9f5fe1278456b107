"""YAML and JSON are read as Kubernetes' own tools read them, within limits."""

import json
import sys
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import read
from webhook.core.errors import InputError
from webhook.core.value_types import format_path
from webhook.core.yaml_reader import MAX_DEPTH, Marks, YamlFault, decode, read_documents


def values_of(text: str) -> list[Any]:
    return [document.value for document in read_documents(text)]


TABLES = read(__file__, "yaml_reader.yaml")
FAR_DOWN = "[" * 60 + '{"a": 1, "a": 2}' + "]" * 60
READ: dict[str, tuple[str, list[Any]]] = TABLES["read"] | {
    "JSON far down": (FAR_DOWN, [json.loads(FAR_DOWN)]),
    "a number of too many digits is text": ("a: " + "9" * 6000, [{"a": "9" * 6000}]),
}
REFUSED: dict[str, tuple[str, str]] = TABLES["refused"] | {
    "half a pair": ("a: \ud800", "line 1, column 4: the character U+D800 is not allowed"),
    "deep lists": ("[" * 500, "line 1, column 101: objects and lists are nested deeper than 100"),
    "lists deeper than some versions of libyaml read ahead": ("[" * 100_000, "nest"),
    "deep maps": ("".join(f"{' ' * depth}a:\n" for depth in range(200)), "nested deeper than 100"),
    "deep JSON": ('{"a":' * 150 + "1" + "}" * 150, "nested deeper than 100"),
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


def refusal(text: str) -> str:
    try:
        values_of(text)
    except InputError as refused:
        return str(refused)
    return ""


def test_refuses_half_of_an_escaped_surrogate_pair() -> None:
    told = "the input holds half of a surrogate pair, which is not a character"
    assert refusal('{"a": "\\ud800"}') == told


def test_yaml_takes_every_character_that_is_let_through() -> None:
    dense = (*range(0x3000), *range(0xD000, 0x11000))  # where the ranges of YAML begin and end
    codes = {*dense, *range(0x11000, sys.maxunicode, 997), sys.maxunicode} - {ord("'")}
    told = {code: refusal(f"a: '{chr(code)}'") for code in codes}
    wrong = {code: text for code, text in told.items() if text and "is not allowed" not in text}
    assert wrong == {}
    assert not told[ord("a")]
    assert told[0]


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_refuses(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        values_of(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "values", "warnings"), TABLES["repeated"].values(), ids=TABLES["repeated"]
)
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
    assert values_of('{\n\t"a": ' * MAX_DEPTH + "1" + "}" * MAX_DEPTH), "which YAML cannot be"


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


@pytest.mark.parametrize(
    ("text", "lines"),
    [('\n{"a": 1}\n\n{"b":\n 2}\n{}', [2, 4, 6]), ("\na: 1\n--- {b: 2}\n---\n\n{}", [2, 3, 6])],
)
def test_tells_on_which_line_a_document_begins(text: str, lines: list[int]) -> None:
    assert [each.line for each in read_documents(text)] == lines


def test_tells_on_which_line_a_value_stands_that_is_merged() -> None:
    marks = Marks()
    [document] = read_documents("a: &a\n  x: 1\nb:\n  <<: *a\n  y: 2", marks)
    lines = {key: marks.line(document.value, ("b", key), 1) for key in ("x", "y", "z")}
    assert lines == {"x": 2, "y": 5, "z": 3}


def test_a_number_beyond_64_bits_is_no_integer() -> None:
    found = values_of(f"- {2**64 - 1}\n- {2**64}")[0]
    assert [type(each) for each in found] == [int, float]


def test_blames_the_tab_of_its_line_only() -> None:
    assert "holds a tab" in refusal("a: 1\n\tb: 2")
    assert "holds a tab" not in refusal("a: b: c\n\td: 1")
