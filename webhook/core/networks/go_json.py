"""Read JSON as Go's encoding/json does: what it refuses is refused here, and repeated keys are all kept."""

from __future__ import annotations

import json
from typing import Any, NoReturn, TypeAlias

Value: TypeAlias = Any
"""An object as a tuple of (key, Value), an array as a list, text as str, a number as Number, a boolean, or None."""


class Number(str):
    """Hold a number as it is written: to Go ``1e3`` is not an integer."""

    __slots__ = ()


def parse(text: str) -> Value:
    """Read one JSON value.

    Raises ValueError with the position of what is not JSON, such as NaN, trailing text, a control character in a string; RecursionError
    for one that is nested as no annotation is, some 900 levels: Go reads 10,000.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        rest = text[error.pos : error.pos + 20]
        found = (
            f"is not JSON at character {error.pos + 1}: {rest!r}"
            if rest
            else "is not JSON: it ends too early"
        )
        raise ValueError(found) from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"is not JSON: {name} is not a value")


_DECODER = json.JSONDecoder(
    object_pairs_hook=tuple, parse_int=Number, parse_float=Number, parse_constant=_refuse_constant
)
