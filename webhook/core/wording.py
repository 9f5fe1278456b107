"""Write lists and numbers in one way, and short however large the cluster is."""

from collections.abc import Iterable

MOST_NAMED = 5


def listed(names: Iterable[str], most: int = MOST_NAMED, between: str = ", ") -> str:
    """Name the first few: ``a, b and 47 more``, ``a; b; and 47 more``."""
    every = list(names)
    shown = every if len(every) <= most + 1 else every[:most]
    more = len(every) - len(shown)
    return between.join(shown) + (f"{between.rstrip(', ')} and {more:,} more" if more else "")


def counted(number: int, one: str) -> str:
    """Count things: ``1 node``, ``3 nodes``."""
    return f"{number:,} {one if number == 1 else one + 's'}"
