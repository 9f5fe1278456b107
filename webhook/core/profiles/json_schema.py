"""Write the JSON Schema of profiles.yaml that editors read."""

from __future__ import annotations

from typing import Any

from webhook.core.profiles.adapter import plain_schema


def profiles_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of profiles.yaml, for editors."""
    schema: dict[str, Any] = _tidy(plain_schema())
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
    return tidy
