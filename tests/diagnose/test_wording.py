"""How lists, numbers and durations are written."""

from webhook.core.wording import counted, listed
from webhook.diagnose.wording import duration


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


def test_writes_a_duration() -> None:
    seconds = (-1, 119.4, 120, 7199, 7200, 172799, 172800)
    told = ["0 s", "119 s", "2 min", "120 min", "2 h", "48 h", "2 d"]
    assert list(map(duration, seconds)) == told
