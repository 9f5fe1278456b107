"""How lists, numbers and durations are written."""

import pytest

from webhook.diagnose.wording import counted, duration, listed


def test_names_the_first_few_and_counts_the_rest() -> None:
    assert listed("abc", 2) == "a, b, c", "one more takes no more room than its number"
    assert listed("abcd", 2) == "a, b and 2 more"
    assert listed(map(str, range(2000)), 1) == "0 and 1,999 more"
    assert listed("abcd", 2, "; ") == "a; b; and 2 more"
    assert listed(()) == ""


def test_counts() -> None:
    assert [counted(number, "node") for number in (0, 1, 1000)] == [
        "0 nodes",
        "1 node",
        "1,000 nodes",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0 s"),
        (119.4, "119 s"),
        (120, "2 min"),
        (7199, "120 min"),
        (7200, "2 h"),
        (172799, "48 h"),
        (172800, "2 d"),
    ],
)
def test_writes_a_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text
