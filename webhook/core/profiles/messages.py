"""Say each fault that pydantic found in the words of the file: where, what was found, what is allowed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from webhook.core.errors import Problem
from webhook.core.profiles.document import ProfilesDocument
from webhook.core.profiles.json_schema import profiles_schema
from webhook.core.profiles.slips import did_you_mean, unknown_field
from webhook.core.value_types import NOTHING
from webhook.core.yaml_reader import Location

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_KEY = "[key]"
_ALLOWED = {
    "bool_type": "write true or false, without quotes",
    "int_type": "write an integer, without quotes",
    **dict.fromkeys(
        ("tuple_type", "frozen_set_type"), "write a list, [a, b], or one item a line after a dash"
    ),
    "dict_type": "write an object, {name: value}, or one name: value a line",
    "dataclass_type": "write an object of fields, one field: value a line",
    "too_short": "write at least one item, or leave the field out",
    "quantity_type": "write a number with an optional suffix, such as 1, 8 or 16Gi",
    "duration_type": "write a duration with its unit, such as 90s, 30m or 1h30m",
}


def explain(error: ErrorDetails, document: ProfilesDocument) -> Problem:
    """Turn one of pydantic's errors about *document* into a Problem."""
    location: Location = error["loc"]
    at_key = location[-1:] == (_KEY,)
    if at_key:
        location = location[:-1]
    context: dict[str, Any] = error.get("ctx", {})
    match error["type"]:
        case "extra_forbidden" | "unexpected_keyword_argument":
            message = unknown_field(str(location[-1]), _fields_at(location[:-1]))
            return document.problem(location, message, at_key=True)
        case "missing":
            message = f"is missing; write {location[-1]}: and its value"
        case "value_error":
            message = str(context["error"])
        case "greater_than_equal":
            message = f"found {_number(document, location)}; write {context['ge']} or more"
        case "less_than_equal":
            message = f"found {_number(document, location)}; write {context['le']} or less"
        case "too_long":
            message = (
                f"found {context['actual_length']} items; write at most {context['max_length']}"
            )
        case "literal_error":
            message = f"found {document.found(location)}; {_choice(document.text(location), context['expected'])}"
        case "string_type":
            message = f"found {document.found(location)}; {_text(document, location)}"
        case kind:
            message = f"found {document.found(location)}; {_ALLOWED.get(kind, error['msg'])}"
    return document.problem(location, message, at_key=at_key)


def _choice(found: str | None, expected: str) -> str:
    choices = expected.replace("'", "").replace(" or ", ", ")
    meant = did_you_mean(found or "", choices.split(", "))
    return f"write one of {choices}" + (f"; did you mean {meant}?" if meant else "")


def _number(document: ProfilesDocument, location: Location) -> str:
    return (document.text(location) or "")[:60]


def _text(document: ProfilesDocument, location: Location) -> str:
    text = document.text(location)
    if text is not None:
        return f'write it in quotes: "{text}"'
    return "write a string in quotes" + (
        ', "" for none' if document.found(location) == NOTHING else ""
    )


def _fields_at(location: Location) -> tuple[str, ...]:
    """Return the names of the fields that the file has at *location*."""
    schema = _schema()
    here = schema
    for part in location:
        within = here.get("properties", {})
        here = within[part] if part in within else here.get("additionalProperties") or here["items"]
        here = here.get("anyOf", (here,))[0]
        if "$ref" in here:
            here = schema["$defs"][here["$ref"].rpartition("/")[2]]
    return tuple(here["properties"])


@cache
def _schema() -> dict[str, Any]:
    """Make the schema once: a file may have a fault in each of its lines."""
    return profiles_schema()
