"""Name the types of JSON and YAML values as Kubernetes does: the words of every message that says what was expected or found."""

from __future__ import annotations

OBJECT = "an object"
LIST = "a list"
STRING = "a string"
BOOLEAN = "a boolean"
INTEGER = "an integer"
NUMBER = "a number"
NOTHING = "nothing"
_NAMES: dict[type, str] = {
    dict: OBJECT,
    list: LIST,
    str: STRING,
    bool: BOOLEAN,
    int: NUMBER,
    float: NUMBER,
}


def type_name(value: object) -> str:
    """Name the type of a value: ``an object``, ``a string``; ``nothing`` for null and for what is missing."""
    return _NAMES.get(type(value), NOTHING)
