"""Name the types of JSON and YAML values as Kubernetes does, also in what msgspec refuses."""

import re
from typing import Any, Final, TypeAlias

from msgspec import ValidationError
from msgspec.json import Decoder

from webhook.core.printable import quoted

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
_WORDS: Final = {"object": OBJECT, "array": LIST, "str": STRING, "bool": BOOLEAN, "int": INTEGER}
_WORDS_OF_FOUND: Final = {**_WORDS, "int": NUMBER, "float": NUMBER, "null": NOTHING}
_PLACE: Final = re.compile(r" - at (?:`key` in )?`\$([^`]*)`\Z")
_STEP: Final = re.compile(r"\.(\w+)|\[(\d+|\.{3})\]")
_FIELD: Final = re.compile(r"Object (contains unknown|missing required) field `(.*)`\Z", re.DOTALL)
_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_EXPECTED: Final = re.compile(r"Expected `([^`]*)`(?:, got `(\w+)`)?")
_UNKNOWN: Final = "is not a field here"

Location: TypeAlias = tuple[str | int, ...]
"""Where a value stands: ``("profiles", "hostdev", "networks", 0, "network")``."""


def type_name(value: object) -> str:
    """Name the type of a value: ``an object``; ``nothing`` for null and for what is missing."""
    return _NAMES.get(type(value), NOTHING)


def format_path(location: Location) -> str:
    """Write a location for people: ``profiles.a.networks[0].resources[nvidia.com/hostdev]``."""
    path = ""
    for part in location:
        if isinstance(part, str) and _PLAIN_KEY.fullmatch(part):
            path += f".{part}"
        elif isinstance(part, int) or (part.isprintable() and len(part) <= 80):
            path += f"[{part}]"
        else:
            path += f"[{quoted(part)}]"
    return path.removeprefix(".") or "document"


def explain(error: ValidationError) -> tuple[Location, str]:
    """Say where msgspec has stopped, and why: ``expected a list, found a string``.

    It names no key of a map: ``...`` stands for that.
    """
    told = str(error)
    location: Location = ()
    if place := _PLACE.search(told):
        told = told[: place.start()]
        steps = _STEP.findall(place[1])
        location = tuple([int(at) if at.isdigit() else name or at for name, at in steps])
    if field := _FIELD.match(told):
        is_missing = field[1].startswith("missing")
        problem = f"is missing; write {field[2]}: and its value" if is_missing else _UNKNOWN
        return (*location, field[2]), problem
    return location, _EXPECTED.sub(_in_words, told)


def _in_words(match: re.Match[str]) -> str:
    kinds = [kind for kind in match[1].split(" | ") if kind not in ("null", "float")]
    wanted = "expected " + " or ".join([_WORDS.get(kind, kind) for kind in kinds])
    return f"{wanted}, found {_WORDS_OF_FOUND[match[2]]}" if match[2] else wanted


def learn(*types: Any) -> None:
    """Let msgspec learn *types* while they are imported.

    It learns a type at its first use otherwise, and crashes where two threads do so at a time.
    """
    for each in types:
        Decoder(each)
