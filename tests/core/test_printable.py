"""Texts of others in a message: on one line, and short."""

import pytest

from webhook.core.printable import printable, quoted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b", '"a b"'),
        ("ü\n\ud800", r'"\u00fc\n\ud800"'),
        ("ü", '"ü"'),
        ("a" * 60, '"' + "a" * 60 + '"'),
        ("a" * 61, '"' + "a" * 57 + '..."'),
    ],
)
def test_shows_a_text_in_quotes(text: str, shown: str) -> None:
    assert quoted(text) == shown


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("a\tb\x1b", None, "a b "),
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("a\nbcd", 3, "a …"),
        ("ü" * 1000, None, "ü" * 1000),
    ],
)
def test_makes_a_text_fit_for_one_line(text: str, limit: int | None, shown: str) -> None:
    assert printable(text, limit) == shown


def test_a_warning_has_at_most_400_characters() -> None:
    assert printable("a" * 400) == "a" * 400
    assert printable("a" * 401) == "a" * 399 + "…"
