"""Check the types of a pod's fields once, so that all that reads them may rely on them.

The API server sends well-formed pods only; a manifest of the dry run, or a hostile body, need not
be one.
"""

import re
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    NamedTuple,
    Required,
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
    learn,
)

QUANTITY: Final = "a quantity"
_NAMES: Final = {
    "str": STRING,
    "object": OBJECT,
    "array": LIST,
    "bool": BOOLEAN,
    "int": INTEGER,
    "int | float | str": QUANTITY,
}
"""The types as msgspec names them, and as messages do."""
_MESSAGE: Final = re.compile(
    r"(?:Object missing required field `(?P<missing>\w+)`|Expected `(?P<expected>[^`]*)`)"
    r"(?: of length <= (?P<most>\d+)|, got `(?P<got>\w+)`| [<>]= -?\d+)?"
    r"(?: - at (?:`key` in )?`\$(?P<path>[^`]*)`)?"
)


class Fault(NamedTuple):
    """Hold what msgspec has stopped at.

    *path* as ``.spec.containers[0].env``, where ``[...]`` is any key of a map. *most*: the bound of
    a length, 0 for a value of a wrong type.
    """

    path: str
    expected: str
    found: str
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
            path, expected, found, _ = read_fault(error)
            message = f"{where}{path}: expected {expected}, found {found}"
            raise MalformedReview(message) from None
    return pod  # type: ignore[return-value]  # else it would not be a Pod


def read_fault(error: ValidationError) -> Fault:
    """Read msgspec's words."""
    told = _MESSAGE.match(str(error))
    assert told is not None, error  # noqa: S101  # tests know them
    path = told["path"] or ""
    if told["missing"]:
        return Fault(f"{path}.{told['missing']}", STRING, NOTHING, 0)
    expected = _NAMES[told["expected"].removesuffix(" | null")]
    if most := told["most"]:
        return Fault(path, expected, "", int(most))
    if got := told["got"]:
        found = NUMBER if got in ("int", "float") else _NAMES.get(got, NOTHING)
        return Fault(path, expected, found, 0)
    return Fault(path, "a number of at most 64 bits", NUMBER, 0)


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
learn(Pod, _UNBOUNDED)
