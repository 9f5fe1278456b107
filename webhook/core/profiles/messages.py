"""Say what msgspec refuses of a profile in the words of its file: where, what was found, what is allowed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from msgspec import Struct, ValidationError
from msgspec.structs import fields

from webhook.core.printable import quoted
from webhook.core.profiles.slips import did_you_mean, unknown_field
from webhook.core.profiles.template import Fault
from webhook.core.value_types import type_name
from webhook.core.yaml_reader import Location

_MESSAGE: Final = re.compile(
    r"(?P<told>.*?)(?: - at (?P<key>`key` in )?`\$(?P<path>[^`]*)`)?", re.DOTALL
)
_STEP: Final = re.compile(r"\.(\w+)|\[(\d+)\]|\[\.\.\.\]")
_FIELD: Final = re.compile(r"Object (?:contains unknown|missing required) field `(.*)`", re.DOTALL)
_EXPECTED: Final = re.compile(
    r"Expected `([^`]*)`(?:, got `(\w+)`)?(?: (?:of length )?([<>]=) (-?\d+))?"
)
_TYPES: Final[Mapping[type, str]] = {
    str: "str", bool: "bool", int: "int", float: "float", list: "array", dict: "object", NoneType: "null"
}  # fmt: skip
_ALLOWED: Final = {
    "bool": "write true or false, without quotes",
    "int": "write an integer, without quotes",
    "str": "write a string in quotes",
    "array": "write a list, [a, b], or one item a line after a dash",
    "object": "write an object of fields, one field: value a line",
    "str | array": "write a list of namespaces, such as [research], or the word all",
    "int | float | str": "write a number with an optional suffix, such as 1, 8 or 16Gi",
}


def explain(error: ValidationError, value: Any, kind: Any) -> Fault:
    """Turn an error about *value*, which was to be of type *kind*, into a Fault."""
    match = _MESSAGE.fullmatch(str(error))
    assert match is not None  # noqa: S101  # it takes any text
    told, steps = match["told"], _STEP.findall(match["path"] or "")
    expected = _EXPECTED.fullmatch(told)
    got = (expected[2] if expected else "") or ""
    location, found = _follow(value, steps, got)
    if match["key"]:
        return Fault(location, "has a key that is no string; write it in quotes")
    if field := _FIELD.fullmatch(told):
        at = (*location, field[1])
        if told.startswith("Object missing"):
            return Fault(at, f"is missing; write {field[1]}: and its value")
        known = tuple(one.encode_name for one in fields(_struct(_kind_at(kind, steps))))
        return Fault(at, unknown_field(field[1], known))
    if told.startswith("Invalid enum value"):
        return Fault(location, f"found {_shown(found)}; {_choice(found, _kind_at(kind, steps))}")
    if expected is None:
        return Fault(location, told)
    if bound := expected[4]:
        limit = f"{bound} or {'more' if expected[3] == '>=' else 'less'}"
        if isinstance(found, str | list | dict):
            return Fault(location, f"found {len(found)} items or characters; write {limit}")
        return Fault(location, f"found {found}; write {limit}")
    wanted = expected[1].removesuffix(" | null")
    return Fault(location, f"found {_shown(found)}; {_ALLOWED.get(wanted, f'write {wanted}')}")


def _follow(value: Any, steps: list[tuple[str, str]], got: str) -> tuple[Location, Any]:
    """Return the location that the steps lead to, and what is there.

    msgspec does not name the key of a map: it is the first whose value has the type that it got.
    """
    location: list[str | int] = []
    for name, number in steps:
        key: Any = name or (int(number) if number else None)
        if key is None:
            wrong = [one for one, inner in value.items() if _TYPES.get(type(inner)) == got]
            key = wrong[0] if wrong else next(iter(value))
        location.append(key)
        value = value[key]
    return tuple(location), value


def _kind_at(kind: Any, steps: list[tuple[str, str]]) -> Any:
    """Return the type that a Struct has at the end of the steps."""
    for name, _ in steps:
        kind = _without_none(kind)
        if name:
            kind = next(one.type for one in fields(_struct(kind)) if one.encode_name == name)
        else:
            kind = get_args(kind)[1 if get_origin(kind) is dict else 0]
    return _without_none(kind)


def _without_none(kind: Any) -> Any:
    while get_origin(kind) in (Annotated, Union, UnionType):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    return kind


def _struct(kind: Any) -> type[Struct]:
    found: type[Struct] = kind
    return found


def _choice(found: Any, kind: Any) -> str:
    if get_origin(kind) is not Literal:  # the list of namespaces, or all
        return _ALLOWED["str | array"]
    choices = list(get_args(kind))
    meant = did_you_mean(str(found), choices)
    return f"write one of {', '.join(choices)}" + (f"; did you mean {meant}?" if meant else "")


def _shown(found: Any) -> str:
    if isinstance(found, str):
        return quoted(found)
    if isinstance(found, bool):
        return f"{str(found).lower()}, a boolean"
    return type_name(found) if isinstance(found, dict | list | NoneType) else f"{found}, a number"
