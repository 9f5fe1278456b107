"""Profiles that are refused, a row of broken.yaml each, and one that has every field."""

from pathlib import Path
from typing import Any, NamedTuple

import yaml

from webhook.core.profiles.objects import PROFILE_API_VERSION, PROFILE_KIND

_FOLDER = Path(__file__).parent
COMPLETE: dict[str, Any] = yaml.safe_load((_FOLDER / "complete.yaml").read_text())


class Broken(NamedTuple):
    """A FabricProfile, and the faults of it: pairs of path and message."""

    title: str
    value: dict[str, Any]
    says: set[tuple[str, str]]


def as_object(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the FabricProfile of these fields."""
    return {"apiVersion": PROFILE_API_VERSION, "kind": PROFILE_KIND, **fields}


def _row(row: dict[str, Any]) -> Broken:
    value = row.get("object") or {"metadata": {"name": "a"}, "spec": row["spec"]}
    says = {
        (path, message)
        for path, messages in row["says"].items()
        for message in ([messages] if isinstance(messages, str) else messages)
    }
    return Broken(row["title"], as_object(value), says)


BROKEN = [*map(_row, yaml.safe_load((_FOLDER / "broken.yaml").read_text()))]
