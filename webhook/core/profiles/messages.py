"""Say what msgspec refuses of a profile: where, what was found, what is allowed."""

import re
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from msgspec import ValidationError
from msgspec.structs import fields

from webhook.core.printable import quoted
from webhook.core.profiles.slips import one_of, unknown_field
from webhook.core.profiles.template import Fault

_STEP: Final = re.compile(r"\.(\w+)|\[(\d+)\]|(\[\.\.\.\])")
_FIELD: Final = re.compile(r"Object (?:contains unknown|missing required) field `(.*)`", re.DOTALL)
_EXPECTED: Final = re.compile(r"Expected `([^`]*)`(?:, got `(\w+)`)?(.*)")
_WORDS: Final = {
    "bool": "true or false",
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "array": "a list",
    "object": "an object of fields",
    "null": "nothing",
    "int | float | str": "a number, with a suffix or without",
    "str | array": "a list of namespaces, or the word all",
}
"""msgspec's names of types, in those of YAML."""


def explain(error: ValidationError, value: Any, kind: Any) -> Fault:
    """Turn an error about *value*, which was to be of type *kind*, into a Fault.

    msgspec names a map and not the key of it whose value is wrong.
    """
    told, _, path = str(error).partition(" - at ")
    location: list[str | int] = []
    for name, number, key in _STEP.findall(path):
        kind = _without_none(kind)
        if key:
            told = f"a key or a value of it: {told}"
            break
        if name:
            kind = next(each.type for each in fields(kind) if each.encode_name == name)
        else:
            kind = get_args(kind)[0]
        location.append(name or int(number))
        value = value[location[-1]]
    at, kind = tuple(location), _without_none(kind)
    if field := _FIELD.fullmatch(told):
        missing = f"is missing; write {field[1]}: and its value"
        known = tuple(each.encode_name for each in fields(kind))
        unknown = unknown_field(field[1], known)
        return Fault((*at, field[1]), missing if "missing" in told else unknown)
    if told.startswith("Invalid enum value"):
        choices = get_args(kind) if get_origin(kind) is Literal else ("all", "[namespace, …]")
        return Fault(at, f"found {quoted(str(value))}; {one_of(str(value), choices)}")
    return Fault(at, _EXPECTED.sub(_as_yaml, told))


def _as_yaml(match: re.Match[str]) -> str:
    expected, got, bound = match.groups()
    wanted = _WORDS.get(expected.removesuffix(" | null"), expected)
    return f"found {_WORDS.get(got, got)}; write {wanted}" if got else f"write {wanted}{bound}"


def _without_none(kind: Any) -> Any:
    while get_origin(kind) in (Annotated, Union, UnionType):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    return kind
