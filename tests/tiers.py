"""What makes the tests of a folder a tier."""

from collections.abc import Iterable
from pathlib import Path

import pytest


def mark_tier(
    items: Iterable[pytest.Item], folder: Path, tier: str, seconds: float | None = None
) -> None:
    """Mark the tests of the folder, and let only their own time count, up to so many *seconds*: fixtures may build for minutes."""
    limit = (
        pytest.mark.timeout(func_only=True)
        if seconds is None
        else pytest.mark.timeout(seconds, func_only=True)
    )
    for item in items:
        if item.path.is_relative_to(folder):
            item.add_marker(tier)
            item.add_marker(limit)
