"""Read an object whose structure has not been checked; errors name the field that is wrong."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.value_types import INTEGER, type_name

_MOST_SHOWN = 60
_Value = TypeVar("_Value", bool, int, str, Object, list[Any])


class Section:
    """Hold an object of the input and the path that leads to it, ``spec.tasks[0].template``.

    Each reader takes missing and null as empty. It raises InputError with path, expected type and
    what was found.
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

    def node(self, *keys: str) -> Section:
        """Return the object to which *keys* lead, one inside the other."""
        found = self
        for key in keys:
            found = Section(found.get(key, {}), found.at(key))
        return found

    def nodes(self, key: str) -> list[Section]:
        """Return the list of objects at *key*."""
        items = self.get(key, list[Any]())
        holder = Section({f"{key}[{index}]": item for index, item in enumerate(items)}, self.path)
        return list(map(holder.node, holder.value))

    def replicated(self) -> tuple[Section, int]:
        """Return the template beside ``replicas``, and how many pods of it there are."""
        return self.node("template"), self.get("replicas", 1)

    def words(self, key: str) -> list[str]:
        """Return the list of strings at *key*."""
        return list(map(str, self.get(key, list[Any]())))

    def get(self, key: str, default: _Value) -> _Value:
        """Return the value at *key*, of the type of *default*; a number may not be negative."""
        value = self.value.get(key)
        if value is None:
            return default
        if type(value) is not type(default) or (isinstance(value, int) and value < 0):
            is_number = type(default) is int
            fail(self.at(key), f"{INTEGER}, 0 or more" if is_number else type_name(default), value)
        return value


def fail(path: str, expected: str, found: Any) -> NoReturn:
    """Raise InputError for a field of the wrong type; a short text is shown: ``$REPLICAS``."""
    shown = str(found).lower() if isinstance(found, int | float) else type_name(found)
    if isinstance(found, str) and len(found) <= _MOST_SHOWN:
        shown = f"the string {found!r}"
    raise InputError(f"{path}: expected {expected}, found {shown}")
