"""Read an object whose structure has not been checked; errors name the field that is wrong."""

from __future__ import annotations

from typing import Any, NoReturn

from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.value_types import BOOLEAN, INTEGER, LIST, OBJECT, STRING, type_name

_MOST_SHOWN = 60


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
            found = Section(found._read(key, dict, OBJECT, {}), found.at(key))
        return found

    def nodes(self, key: str) -> list[Section]:
        """Return the list of objects at *key*."""
        items: list[Any] = self._read(key, list, LIST, [])
        holder = Section({f"{key}[{index}]": item for index, item in enumerate(items)}, self.path)
        return list(map(holder.node, holder.value))

    def text(self, key: str, default: str = "") -> str:
        """Return the string at *key*; *default* where it is missing or empty."""
        return self._read(key, str, STRING, "") or default

    def words(self, key: str) -> list[str]:
        """Return the list of strings at *key*."""
        found: list[str] = self._read(key, list, f"{LIST} of strings", [])
        for index, item in enumerate(found):
            if not isinstance(item, str):
                fail(f"{self.at(key)}[{index}]", STRING, item)
        return found

    def number(self, key: str, default: int = 1) -> int:
        """Return the integer at *key*, which may not be negative."""
        found: int = self._read(key, int, _COUNT, default)
        if found < 0:
            fail(self.at(key), _COUNT, found)
        return found

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return the boolean at *key*."""
        found: bool = self._read(key, bool, BOOLEAN, default)
        return found

    def _read(self, key: str, kind: type, expected: str, default: Any) -> Any:
        value = self.value.get(key)
        if value is None:
            return default
        if type(value) is not kind:
            fail(self.at(key), expected, value)
        return value


_COUNT = f"{INTEGER}, 0 or more"


def fail(path: str, expected: str, found: Any) -> NoReturn:
    """Raise InputError for a field of the wrong type; a short text is shown: ``$REPLICAS``."""
    shown = str(found).lower() if isinstance(found, int | float) else type_name(found)
    if isinstance(found, str) and len(found) <= _MOST_SHOWN:
        shown = f"the string {found!r}"
    raise InputError(f"{path}: expected {expected}, found {shown}")
