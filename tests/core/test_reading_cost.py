"""What is taken for the inside of a string is: a review is not read at once that holds more values than a small one."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from tests.calls import count_calls
from tests.core import hostile
from webhook.core import bounds
from webhook.core.reading_cost import (
    MOST_BYTES,
    MOST_BYTES_OF_VALUES,
    bytes_outside,
    has_many_escapes,
    is_mostly_text,
    is_soon_read,
)

PIECES = ('"', "\\", '\\"', '",', '":', "[1,1,", "{}", "a", " ", ",", "]", "}", "\n", "é", '"a"')
"""Parts of texts by which one may take the inside of a string for its outside, and the other way."""
ENDLESS = 1 << 30


def outside(body: bytes) -> int:
    """Count the bytes of a JSON text that stand in no string, one after the other."""
    found, position = 0, 0
    while position < len(body):
        if body[position] != ord('"'):
            found += 1
            position += 1
            continue
        position += 1
        while body[position] != ord('"'):
            position += 2 if body[position] == ord("\\") else 1
        position += 1
    return found


def some_text(random: Random) -> str:
    """Return a text that is often longer than a step, of one piece repeated, between others."""
    parts = [random.choice(PIECES) for _ in range(random.randint(0, 5))]
    return "".join([*parts, random.choice(PIECES) * random.choice((0, 3, 2_000, 20_000)), random.choice(PIECES)])


def some_value(random: Random, depth: int = 0) -> Any:
    """Return a value with texts, and with lists that hold none and take many bytes."""
    match random.randint(0, 5 if depth < 3 else 3):
        case 0:
            return random.choice(([1] * 4_000, [{}] * 4_000, [None] * 500, [[]] * 5_000, 1, None))
        case 1 | 2 | 3:
            return some_text(random)
        case 4:
            return [some_value(random, depth + 1) for _ in range(random.randint(0, 4))]
        case _:
            return {some_text(random)[:50]: some_value(random, depth + 1) for _ in range(random.randint(0, 4))}


@pytest.mark.parametrize("seed", range(100))
def test_nothing_outside_a_string_is_left_uncounted(seed: int) -> None:
    random = Random(seed)
    separators = random.choice(((",", ":"), (", ", ": "), (",\n\n", ":\t")))
    value = [some_value(random) for _ in range(random.randint(1, 6))]
    body = json.dumps(value, separators=separators, ensure_ascii=random.random() < 0.5).encode()
    assert bytes_outside(body, ENDLESS) >= outside(body)


def test_one_long_text_is_told_from_values_wherever_it_stands() -> None:
    for name, build in hostile.shapes(hostile.rich(), {"letters": "a", "lists": "[1,1],", "expansions": "${"}):
        if name.endswith((" letters", " lists", " expansions")):
            assert is_mostly_text(hostile.review(build(100_000))), name
            assert not is_soon_read(hostile.review(build(MOST_BYTES))), name


@pytest.mark.parametrize("name", [name for name in hostile.TEXTS if name != "double quotes"])
def test_every_text_is_told_from_values(name: str) -> None:
    shapes = dict(hostile.shapes({"spec": {"hostname": "a"}}, {name: hostile.TEXTS[name]}))
    build = shapes[f"spec/hostname {name}"]
    assert is_mostly_text(hostile.review(build(200_000)))


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": [' + b"1," * 100_000 + b'1], "b": "c"}',
        b'{"a": "b", "c": [' + b"{}," * 100_000 + b'{}], "d": "e"}',
        b'{"a": "b"' + b" " * 100_000 + b"}",
        b" " * 100_000 + b"{}",
        b"[" * 100_000,
        b'{"a": "' + b'\\"' * 50_000 + b'"}',
        b'{"a": "\\\\"' + b" " * 100_000 + b"}",
        json.dumps(["a" * 500] * 200).encode(),
        b'{"a": "' + b"a" * MOST_BYTES + b'"}',
    ],
    ids=lambda body: body[:20],
)
def test_what_is_not_or_cannot_be_told_from_values_is_not_taken_for_text(body: bytes) -> None:
    assert len(body) > bounds.SMALL
    assert not is_mostly_text(body)


@pytest.mark.parametrize(("item", "many"), [("{}", 40_000), ("[]", 50_000), ("1", 98_000), ('{"a":1}', 30_000)])
def test_what_takes_more_than_a_small_review_may_is_not_soon_read(item: str, many: int) -> None:
    for count, is_soon in ((many // 4, True), (many, False)):
        body = f'{{"a": [{",".join([item] * count)}], "b": "c"}}'.encode()
        assert is_soon_read(body) == is_soon
    assert len(body) < MOST_BYTES_OF_VALUES


def test_what_is_long_is_not_soon_read_whatever_it_holds() -> None:
    assert is_soon_read(b"{}".ljust(MOST_BYTES_OF_VALUES))
    assert not is_soon_read(b"{}".ljust(MOST_BYTES_OF_VALUES + 1))


@pytest.mark.parametrize("before", [b"", b" ", b"\\", b"  "], ids=str)
def test_a_text_may_begin_with_a_string(before: bytes) -> None:
    assert is_mostly_text(before + b'"' + b"a" * 100_000 + b'"')


def test_escapes_are_counted() -> None:
    assert not has_many_escapes(b"a" * 100_000)
    assert not has_many_escapes(b"\\n" * 100)
    assert has_many_escapes(b"\\n" * 101)


def test_commas_are_not_counted_where_they_cannot_be_too_many() -> None:
    """Each takes another sign, so that 100 KB of variables are surely soon read, however many there are."""
    variable = '{"name":"HEAD","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}'
    body = f'{{"env":[{",".join([variable] * 1_400)}]}}'.encode()
    assert is_soon_read(body)
    assert count_calls(lambda: is_soon_read(body)) < 300
