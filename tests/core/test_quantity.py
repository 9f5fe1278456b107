"""Quantities: expected values were printed by k8s.io/apimachinery v0.36.3, resource.ParseQuantity."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.core.quantity import format_quantity, parse_quantity, stored_quantity

MAX = 2**63 - 1

ACCEPTED = {
    "0": 0,
    "1": 1,
    "+1": 1,
    "-1": -1,
    "007": 7,
    "1.": 1,
    "1.5": Fraction(3, 2),
    ".5": Fraction(1, 2),
    "-.5": Fraction(-1, 2),
    " 8 ": 8,
    "1k": 10**3,
    "1M": 10**6,
    "1G": 10**9,
    "1T": 10**12,
    "1P": 10**15,
    "1E": 10**18,
    "1Ki": 2**10,
    "512Mi": 2**29,
    "16Gi": 2**34,
    "1.5Gi": 1610612736,
    "1Ti": 2**40,
    "1Pi": 2**50,
    "1Ei": 2**60,
    ".5Ki": 512,
    "1.1Ki": Fraction(11264, 10),
    "0.0001Ki": Fraction(1024, 10**4),
    "8Ei": MAX,
    "9Ei": MAX,
    "-9Ei": -MAX,
    "9223372036854775807Ki": MAX,
    "100m": Fraction(1, 10),
    "1500m": Fraction(3, 2),
    "1u": Fraction(1, 10**6),
    "1n": Fraction(1, 10**9),
    "0.1n": Fraction(1, 10**9),
    "-0.1n": Fraction(-1, 10**9),
    "1.0000000001": Fraction(1000000001, 10**9),
    "1e3": 1000,
    "1E3": 1000,
    "1e+3": 1000,
    "1e-3": Fraction(1, 1000),
    "1e-12": Fraction(1, 10**9),
    "12e6": 12 * 10**6,
    "1E20": 10**20,
    "123456789012345678901": 123456789012345678901,
}

BROKEN = """
1K 1ki 1KI 1B 1GB 1Gb 1Kii 1mi 1e 1e1.5 1.1.1 --1 +-1 1_000 0x10 १ 1,5 Gi1 NaN inf true
1e99999999999999999999
"""
REFUSED = (*BROKEN.split(), "", " ", "1 Gi")


@pytest.mark.parametrize(("text", "value"), ACCEPTED.items(), ids=ACCEPTED)
def test_reads_what_the_api_server_reads(text: str, value: Fraction) -> None:
    assert parse_quantity(text) == value


@pytest.mark.parametrize("text", REFUSED, ids=repr)
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


@pytest.mark.parametrize("text", ["", "-", ".", "m", "Ki", "e3"], ids=repr)
def test_wants_a_digit(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity(text)


def test_shows_strange_text_without_its_control_characters() -> None:
    with pytest.raises(ValueError, match=r"'1\\n\\ud800' is not a quantity"):
        parse_quantity("1\n\ud800")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(16), "16"),
        (Fraction(-2), "-2"),
        (Fraction(2**34), "17179869184"),
        (Fraction(1, 10), "100m"),
        (Fraction(3, 2), "1500m"),
        (Fraction(1, 10**6), "1u"),
        (Fraction(1, 10**9), "1n"),
        (Fraction(1, 3), "333333334n"),
    ],
)
def test_writes_the_shortest_exact_form(value: Fraction, text: str) -> None:
    assert format_quantity(value) == text


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
