"""Turn the profiles that another process has read into plain data, which JSON holds, and back.

Pickle would do with less, but who reads a pickle runs whatever its writer wants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from webhook.core.errors import Problem
from webhook.core.profiles import ClusterSettings
from webhook.core.profiles.profile import SECTIONS

_CLASSES: dict[str, Any] = {each.__name__: each for each in (*SECTIONS, ClusterSettings, Problem)}


def to_plain(value: Any) -> Any:
    """Return *value* as plain data: scalars, tuples, sets, mappings with any keys, and the dataclasses above."""
    match value:
        case None | str() | int() | float():
            return value
        case tuple():
            return [to_plain(item) for item in value]
        case frozenset():
            return {"set": sorted(value)}
        case Mapping():
            return {"map": [[to_plain(key), to_plain(item)] for key, item in value.items()]}
    given = {
        field.name: to_plain(getattr(value, field.name)) for field in fields(value) if field.init
    }
    return {"class": type(value).__name__, "fields": given}


def from_plain(plain: Any) -> Any:
    """Return the value that `to_plain` was given: equal, and as little to be changed."""
    if isinstance(plain, list):
        return tuple([from_plain(item) for item in plain])
    if not isinstance(plain, dict):
        return plain
    if "set" in plain:
        return frozenset(plain["set"])
    if "map" in plain:
        return MappingProxyType({from_plain(key): from_plain(item) for key, item in plain["map"]})
    return _CLASSES[plain["class"]](
        **{name: from_plain(item) for name, item in plain["fields"].items()}
    )
