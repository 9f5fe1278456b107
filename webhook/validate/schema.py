"""Find what has the wrong type, is unknown, missing or beyond a bound. Needs jsonschema."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator, ValidationError

from webhook.core.printable import quoted
from webhook.core.profiles.slips import did_you_mean, unknown_field
from webhook.core.value_types import STRING, type_name
from webhook.core.yaml_reader import Location
from webhook.validate.definition import Schema, object_schema
from webhook.validate.fault import Fault

_OTHER_METADATA = (
    *("generateName", "namespace", "finalizers", "ownerReferences", "managedFields", "uid"),
    *("resourceVersion", "generation", "selfLink", "creationTimestamp", "deletionTimestamp"),
)
"""Source: k8s.io/apimachinery pkg/apis/meta/v1 ObjectMeta."""
_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
_METADATA = {
    **{key: {} for key in _OTHER_METADATA},
    "name": {"type": "string"},
    "labels": _TEXTS,
    "annotations": _TEXTS,
}
_PARTS = {"maxLength": "characters", "maxItems": "items", "maxProperties": "keys"}
_TYPES = {
    "object": "an object, {name: value}, or one name: value a line",
    "array": "a list, [a, b], or one item a line after a dash",
    "string": STRING,
    "integer": "an integer, without quotes",
    "boolean": "true or false, without quotes",
}


def find_structural(value: Any) -> Iterator[Fault]:
    """Yield what the schema refuses of a FabricProfile, an object without nulls."""
    for error in _validator().iter_errors(value):
        yield from _faults(error)


@cache
def _validator() -> Draft202012Validator:
    schema = object_schema()
    metadata = {"type": "object", "required": ["name"], "properties": _METADATA}
    fields = {"apiVersion": {}, "kind": {}, "metadata": metadata, "status": {}}
    whole = {**schema, "properties": {**schema["properties"], **fields}}
    return Draft202012Validator(_closed(whole))


def _closed(schema: Any) -> Any:
    """Refuse unknown fields, and take int-or-string for two types, as the API server does."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found: Schema = {key: _closed(value) for key, value in schema.items()}
    if "properties" in found and not found.get("x-kubernetes-preserve-unknown-fields"):
        found["additionalProperties"] = False
    if found.get("x-kubernetes-int-or-string"):
        found |= {"type": ["integer", "string"], "maximum": 2**63 - 1}
    return found


def _faults(error: ValidationError) -> Iterator[Fault]:
    at: Location = tuple(error.absolute_path)
    found, allowed = error.instance, error.validator_value
    match error.validator:
        case "additionalProperties":
            known = tuple(error.schema["properties"])
            for name in [name for name in found if name not in known]:
                yield Fault((*at, name), unknown_field(name, known))
        case "required":
            for name in [name for name in allowed if name not in found]:
                message = f"is missing; write {name}: and its value"
                yield Fault((*at, name), message, is_blocking=True)
        case "enum" if isinstance(found, str):
            meant = did_you_mean(found, allowed)
            choice = f"write one of {', '.join(allowed)}"
            hint = f"; did you mean {meant}?" if meant else ""
            yield Fault(at, f"found {quoted(found)}; {choice}{hint}")
        case "type":
            wanted = "a whole number or a string" if isinstance(allowed, list) else _TYPES[allowed]
            hint = f', in quotes: "{found}"' if allowed == "string" and _is_number(found) else ""
            message = f"found {type_name(found)}; write {wanted}{hint}"
            yield Fault(at, message, is_blocking=True)
        case "maxLength" | "maxItems" | "maxProperties":
            message = f"found {len(found)} {_PARTS[error.validator]}; write at most {allowed}"
            yield Fault(at, message, is_blocking=True)
        case "minimum" | "maximum" | "minItems" | "minLength":
            yield Fault(at, error.message, is_blocking=error.validator == "maximum")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
