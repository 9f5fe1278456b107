"""Lists and numbers: short however many there are."""

from tests.tables import table
from webhook.core.wording import counted, listed


@table(
    "number, said",
    {"as many as are named, and one": (3, "n0, n1, n2"), "two more": (4, "n0, n1 and 2 more")},
)
def test_names_the_first_few(number: int, said: str) -> None:
    assert listed([f"n{each}" for each in range(number)], most=2) == said


def test_counts() -> None:
    assert [counted(number, "node") for number in (1, 2, 1000)] == [
        "1 node",
        "2 nodes",
        "1,000 nodes",
    ]
