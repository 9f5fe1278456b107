"""Read a list of pods for one who reads ten thousand: of each no more than the fields that are declared, and its spec as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Required, TypedDict, cast

import msgspec

from webhook.core.model import Object
from webhook.kube.catalogue import PODS
from webhook.kube.resource import METADATA, Shape


def _typed(shape: Shape) -> Any:
    """Return the type by which msgspec reads what has this shape, and no other fields, and refuses what has not."""
    if isinstance(shape, list):
        element: Any = _typed(shape[0])
        return list[element]
    if not isinstance(shape, Mapping):
        return shape
    if not shape:
        return dict[str, Any]
    if "*" in shape:
        value: Any = _typed(shape["*"])
        return dict[str, value]
    return _fields({key: _typed(inner) | None for key, inner in shape.items()})


def _fields(types: Mapping[str, Any]) -> Any:
    make: Any = TypedDict
    return make("_Fields", types, total=False)


_TEXT = Annotated[str, msgspec.Meta(min_length=1)]
_METADATA: Any = _fields(
    {
        **{key: _typed(shape) | None for key, shape in METADATA.items() if key != "managedFields"},
        **dict.fromkeys(("name", "namespace"), Required[_TEXT]),
        "finalizers": list[str] | None,
    }
)
_STATUS: Any = _typed(PODS.shape["status"])


class _Pod(TypedDict, total=False):
    metadata: Required[_METADATA]
    spec: msgspec.Raw
    status: _STATUS | None


class _PodList(TypedDict, total=False):
    metadata: Any
    items: list[_Pod]


_DECODER = msgspec.json.Decoder(_PodList)


def read_pods(body: bytes) -> Object | None:
    """Return a list whose pods are all as the API prescribes, each spec a msgspec.Raw that is not looked at; None for any other."""
    try:
        return cast(Object, _DECODER.decode(body))
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
