"""Quantities: expected values were printed by k8s.io/apimachinery v0.36.3, resource.ParseQuantity."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import read
from webhook.core.quantity import format_quantity, parse_quantity, stored_quantity

TABLES = read(__file__, "quantity.yaml")


@pytest.mark.parametrize("text", TABLES["read"])
def test_reads_what_the_api_server_reads(text: str) -> None:
    assert parse_quantity(text) == Fraction(TABLES["read"][text])


@pytest.mark.parametrize("text", TABLES["refused"], ids=repr)
def test_refuses_what_the_api_server_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity; write a number"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (8, 8),
        (-3, -3),
        (2**70, 2**70),
        (0.1, Fraction(1, 10)),
        (1e22, 10**22),
        (2.5, Fraction(5, 2)),
    ],
)
def test_reads_a_json_number_by_its_text(value: float, expected: Fraction) -> None:
    assert parse_quantity(value) == expected


@pytest.mark.parametrize("value", [True, False, float("nan"), float("inf")], ids=repr)
def test_refuses_a_json_value_that_is_no_number(value: float) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("16Gi", 2**34), (8, 8), (None, 0), ("", 0), ("x", 0), (True, 0), ({}, 0)],
    ids=repr,
)
def test_takes_what_is_stored_and_no_quantity_for_zero(value: object, expected: int) -> None:
    assert stored_quantity(value) == expected


def test_refuses_digits_without_end_quickly() -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity("9" * 100_000)


def test_reads_no_text_that_is_long_with_spaces_so_that_none_is_remembered() -> None:
    assert parse_quantity("  8 ") == 8
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity("8" + " " * 100_000)


def test_takes_an_absurd_exponent_for_a_very_large_number() -> None:
    assert parse_quantity("1e1000000000") == parse_quantity("1e100") > parse_quantity("9E")


def test_shows_strange_text_without_its_control_characters() -> None:
    with pytest.raises(ValueError, match=r"'1\\n\\ud800' is not a quantity"):
        parse_quantity("1\n\ud800")


@pytest.mark.parametrize("value", TABLES["written"])
def test_writes_the_shortest_exact_form(value: str) -> None:
    assert format_quantity(Fraction(value)) == TABLES["written"][value]


@given(st.integers(min_value=-(10**30), max_value=10**30))
def test_reads_back_what_it_writes(nanos: int) -> None:
    value = Fraction(nanos, 10**9)
    assert parse_quantity(format_quantity(value)) == value


@given(st.text(max_size=12) | st.text(alphabet="0123456789.+-eEinumkKMGTP", max_size=12))
def test_answers_any_text_with_a_number_or_a_value_error(text: str) -> None:
    try:
        value = parse_quantity(text)
    except ValueError:
        return
    assert (value * 10**9).denominator == 1
