"""Write the JSON Schema of profiles.yaml that editors read."""

from __future__ import annotations

from typing import Any

from webhook.core.profiles.adapter import plain_schema
from webhook.core.profiles.field_types import RULES


def profiles_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of profiles.yaml, for editors."""
    schema: dict[str, Any] = _without_rules(tidy_schema())
    sections = schema["$defs"]
    for section in (*sections.values(), schema):
        for name, field in section["properties"].items():
            if "$ref" in field:
                inner = sections[field["$ref"].rpartition("/")[2]]["properties"]
                field["default"] = {key: value["default"] for key, value in inner.items()}
            elif name not in section.get("required", ()):
                field.setdefault("default", {})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "profiles.yaml of fabric-injector",
        **schema,
    }


def tidy_schema() -> dict[str, Any]:
    """Return the schema of the definition with what the API server alone needs, its rules in CEL."""
    schema: dict[str, Any] = _tidy(plain_schema())
    return schema


def _without_rules(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_rules(item) for item in node]
    return (
        {key: _without_rules(value) for key, value in node.items() if key != RULES}
        if isinstance(node, dict)
        else node
    )


def _tidy(node: Any) -> Any:
    """Drop titles that repeat the name; let a key's pattern refuse other keys, which patternProperties alone does not."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    tidy = {key: _tidy(value) for key, value in node.items() if key != "title"}
    for pattern, value in tidy.pop("patternProperties", {}).items():
        tidy["propertyNames"] = {"pattern": pattern, **tidy.get("propertyNames", {})}
        tidy["additionalProperties"] = value
        if "maxLength" in tidy:  # as pydantic writes the bound of a map that a validator follows
            tidy["maxProperties"] = tidy.pop("maxLength")
    return tidy
