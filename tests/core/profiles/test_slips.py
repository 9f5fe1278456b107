"""Misspelt fields of a profile: what is said of them."""

from tests.tables import table
from webhook.core.profiles.slips import unknown_field

KNOWN = ("container", "pod", "networks")


@table(
    "found, known, said",
    {
        "what stands elsewhere": ("env", KNOWN, "is not a field; write it as container.env"),
        "not in a part": ("env", ("x",), "is not a field; the fields here are x"),
        "a slip": ("network", KNOWN, "is not a field; did you mean networks?"),
        "a slip in case": ("NET_WORKS", KNOWN, "is not a field; did you mean networks?"),
    },
)
def test_says_what_may_be_meant(found: str, known: tuple[str, ...], said: str) -> None:
    assert unknown_field(found, known) == said
