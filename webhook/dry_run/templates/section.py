"""Read an object of the input whose structure has not been checked; errors name the field that is wrong."""

from __future__ import annotations

from typing import Any, NoReturn

from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.value_types import BOOLEAN, INTEGER, LIST, OBJECT, STRING, type_name


class Section:
    """Hold an object of the input and the path that leads to it, ``spec.tasks[0].template``.

    Each reader takes missing and null as empty, and raises InputError naming path, expected type and what was found.
    """

    __slots__ = ("path", "value")

    def __init__(self, value: Object, path: str = "") -> None:
        self.value = value
        self.path = path

    def has(self, key: str) -> bool:
        """Return whether *key* is present and not null."""
        return self.value.get(key) is not None

    def at(self, key: str) -> str:
        """Return the path of *key*."""
        return f"{self.path}.{key}" if self.path else key

    def node(self, key: str) -> Section:
        """Return the object at *key*."""
        return self._as_node(self.value.get(key), self.at(key))

    def nodes(self, key: str) -> list[Section]:
        """Return the list of objects at *key*."""
        value = self.value.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            fail(self.at(key), LIST, value)
        return [self._as_node(item, f"{self.at(key)}[{index}]") for index, item in enumerate(value)]

    def named_nodes(self, key: str) -> list[tuple[str, Section]]:
        """Return the entries of the object of objects at *key*."""
        holder = self.node(key)
        return [(name, holder.node(name)) for name in holder.value if holder.has(name)]

    def text(self, key: str, default: str = "") -> str:
        """Return the string at *key*; *default* where it is missing or empty."""
        value = self.value.get(key)
        if value is None or value == "":
            return default
        if not isinstance(value, str):
            fail(self.at(key), STRING, value)
        return value

    def texts(self, key: str) -> dict[str, str]:
        """Return the object of strings at *key*."""
        holder = self.node(key)
        return {name: holder.text(name) for name in holder.value}

    def words(self, key: str) -> list[str]:
        """Return the list of strings at *key*."""
        value = self.value.get(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            fail(self.at(key), f"{LIST} of strings", value)
        return value

    def number(self, key: str, default: int) -> int:
        """Return the integer at *key*, which may not be negative."""
        value = self.value.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            fail(self.at(key), f"{INTEGER}, 0 or more", value, shows_text=True)
        return value

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return the boolean at *key*."""
        value = self.value.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            fail(self.at(key), BOOLEAN, value, shows_text=True)
        return value

    @staticmethod
    def _as_node(value: Any, path: str) -> Section:
        if value is None:
            return Section({}, path)
        if not isinstance(value, dict):
            fail(path, OBJECT, value)
        return Section(value, path)


_MOST_SHOWN = 60


def fail(path: str, expected: str, found: Any, *, shows_text: bool = False) -> NoReturn:
    """Raise InputError for a field of the wrong type; *shows_text* where a short text is no secret: a template's ``$REPLICAS``."""
    shown = str(found).lower() if isinstance(found, int | float) else type_name(found)
    if shows_text and isinstance(found, str) and len(found) <= _MOST_SHOWN:
        shown = f"the string {found!r}"
    raise InputError(f"{path}: expected {expected}, found {shown}")
