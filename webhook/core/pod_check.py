"""Check the types of a pod's fields once, so that all that reads them may rely on them.

The API server sends well-formed pods only; a manifest of the dry run, or a hostile body, need not
be one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    NamedTuple,
    Required,
    TypeAlias,
    TypedDict,
    Union,
    get_args,
    get_origin,
)

from msgspec import Struct, ValidationError, convert
from msgspec.structs import fields

from webhook.core.errors import MalformedReview
from webhook.core.model import Object
from webhook.core.pod_types import Pod
from webhook.core.value_types import (
    BOOLEAN,
    INTEGER,
    LIST,
    NOTHING,
    NUMBER,
    OBJECT,
    STRING,
    type_name,
)

_LONGEST_KEY: Final = 253
_EXPECTED: Final = {
    "str": STRING,
    "object": OBJECT,
    "array": LIST,
    "bool": BOOLEAN,
    "int": INTEGER,
    "int | float | str": "a quantity",
}
"""The types as msgspec names them, and as messages do."""
_MESSAGE: Final = re.compile(
    r"(?:Object missing required field `(?P<missing>\w+)`|Expected `(?P<expected>[^`]*)`)"
    r"(?: of length <= (?P<most>\d+)|, got `(?P<got>\w+)`| [<>]= -?\d+)?"
    r"(?: - at (?P<key>`key` in )?`\$(?P<path>[^`]*)`)?"
)
_STEP: Final = re.compile(r"\.(\w+)|\[(\d+)\]|\[\.\.\.\]")
_ABSENT: Final = object()
_Steps: TypeAlias = list[tuple[str, str]]
"""The names and numbers of a path; both are empty for a key of a map, which msgspec leaves out."""


class Fault(NamedTuple):
    """Hold what is wrong with a value; *path* as ``.spec.containers[0].env``.

    *most*: the bound of its length, 0 for a value of a wrong type.
    """

    path: str
    expected: str
    found: Any
    most: int


def check_pod(pod: object, where: str = "pod") -> Object:
    """Return *pod* once each field that is read is known to have its type, however large it is.

    Missing and null fields are fine. *where* starts the path in messages.

    Raises MalformedReview naming the first wrong field, ``request.object.spec.containers[0].env``.
    """
    try:
        convert(pod, Pod)
    except ValidationError:
        try:
            convert(pod, _UNBOUNDED)
        except ValidationError as error:
            path, expected, found, _ = find_fault(error, pod)
            message = f"{where}{path}: expected {expected}, found {type_name(found)}"
            raise MalformedReview(message) from None
    return pod  # type: ignore[return-value]  # else it would not be a Pod


def find_fault(error: ValidationError, pod: object) -> Fault:
    """Find what msgspec has stopped at."""
    told = _MESSAGE.match(str(error))
    assert told is not None, error  # noqa: S101  # msgspec's words, which tests know
    steps: _Steps = _STEP.findall(told["path"] or "")
    if told["missing"]:
        steps.append((told["missing"], ""))
    most = int(told["most"] or 0)
    nowhere = (told["path"] or "", None)
    path, found = _follow(pod, steps, lambda value: _is_meant(value, told, most)) or nowhere
    if told["missing"]:
        return Fault(path, STRING, None, 0)
    if told["key"]:
        found = max(found or (), key=lambda key: len(str(key)))
    if told["got"] or most:
        return Fault(path, _EXPECTED[told["expected"].removesuffix(" | null")], found, most)
    return Fault(path, "a number of at most 64 bits", found, most)


def _is_meant(value: Any, told: re.Match[str], most: int) -> bool:
    """Tell the value that msgspec means; of a map it is the first like this."""
    if told["missing"] or told["key"]:
        return True
    if most:
        return isinstance(value, str | list | dict) and len(value) > most
    if told["got"]:
        found = NUMBER if told["got"] in ("int", "float") else _EXPECTED.get(told["got"], NOTHING)
        return value is not _ABSENT and type_name(value) == found
    return type(value) is int and not -(2**63) <= value < 2**63


def _follow(value: Any, steps: _Steps, is_meant: Callable[[Any], bool]) -> tuple[str, Any] | None:
    """Return the path of the value that is meant, and the value; None where no key leads to it."""
    if not steps:
        return ("", value) if is_meant(value) else None
    (name, number), rest = steps[0], steps[1:]
    if name or number:
        places = [(f".{name}" if name else f"[{number}]", name or int(number))]
    else:
        places = [(f"[{key[:_LONGEST_KEY]!r}]", key) for key in value if isinstance(key, str)]
    for written, key in places:
        if (found := _follow(_part(value, key), rest, is_meant)) is not None:
            return written + found[0], found[1]
    return None


def _part(value: Any, key: str | int) -> Any:
    try:
        return value[key]
    except (KeyError, IndexError, TypeError):
        return _ABSENT


def _without_bounds(kind: Any) -> Any:
    """Return a type that takes lists, maps and texts of any length.

    A dict stands for a struct, since it takes room only for what is there.
    """
    if isinstance(kind, type) and issubclass(kind, Struct):
        inner: dict[str, Any] = {}
        for one in fields(kind):
            plain = _without_bounds(one.type)
            inner[one.encode_name] = Required[plain] if one.required else plain
        return TypedDict(kind.__name__, inner, total=False)  # type: ignore[operator]
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return kind if arguments[1].max_length is None else _without_bounds(arguments[0])
    if origin is None:
        return kind
    unbounded = tuple(map(_without_bounds, arguments))
    return Union[unbounded] if origin in (Union, UnionType) else origin[unbounded]  # noqa: UP007


_UNBOUNDED: Final = _without_bounds(Pod)
