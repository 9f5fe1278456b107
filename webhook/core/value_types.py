"""Name the types of JSON and YAML values as Kubernetes does, and let msgspec learn its own."""

from typing import Any

from msgspec.json import Decoder

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


def learn(*types: Any) -> None:
    """Let msgspec learn *types* while they are imported.

    It learns a type at its first use otherwise, and crashes where two threads do so at a time.
    """
    for each in types:
        Decoder(each)
