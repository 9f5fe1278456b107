"""Check the types of a pod's fields once, so that all that reads them may rely on them.

The API server sends well-formed pods only; a manifest of the dry run, or a hostile body, need not
be one.
"""

from types import UnionType
from typing import Annotated, Any, Final, Required, TypedDict, Union, get_args, get_origin

from msgspec import Struct, ValidationError, convert
from msgspec.structs import fields

from webhook.core.errors import MalformedReview
from webhook.core.model import Object
from webhook.core.pod_types import Pod
from webhook.core.value_types import explain, format_path, learn


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
            location, problem = explain(error)
            path = f"{where}.{format_path(location)}" if location else where
            raise MalformedReview(f"{path}: {problem}") from None
    return pod  # type: ignore[return-value]  # else it would not be a Pod


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
