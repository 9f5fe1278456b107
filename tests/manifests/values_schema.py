"""Write the schema of the chart's values, that of profiles and Multus taken from the code: ``python -m … FILE``."""

import json
import re
import sys
from pathlib import Path
from typing import Any

from webhook.core.names import PROFILE_NONE
from webhook.core.profiles.json_schema import profiles_schema
from webhook.core.profiles.objects import LONGEST_NAME

_TEXT = {"type": "string"}
_SWITCH = {"type": "boolean"}
_NAME = {"type": "string", "minLength": 1}
_DIGEST = {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"}
_LABELS = {"$ref": "#/$defs/labels"}
_OBJECT_NAME = f"^[a-z0-9]([-.a-z0-9]{{0,{LONGEST_NAME - 2}}}[a-z0-9])?$"
_UNLESS = re.compile(r"\^\(\?!(?P<word>[^()]*)\$\)(?P<rest>.*)")
"""A pattern that excepts one word, for which Go's regular expressions have no form."""


def values_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of values.yaml."""
    code = profiles_schema()
    sections = _for_go(code["$defs"])
    fields = sections["Profile"]["properties"]
    sections["Profile"]["type"] = ["object", "null"]
    fields["allowedNamespaces"] = {  # an object that is for all says nothing
        "description": "Namespaces that may use the profile, by namespace and pod label alike. Absent: all.",
        **next(
            each for each in fields["allowedNamespaces"]["anyOf"] if each.get("type") == "array"
        ),
    }
    component = {
        "replicas": {"type": "integer", "minimum": 1},
        "tag": _TEXT,
        "digest": _DIGEST,
        "extraArgs": {"type": ["array", "null"], "items": {"type": "string", "pattern": "^--"}},
        "resources": {"type": "object"},
        "nodeSelector": _LABELS,
        "tolerations": {"type": "array", "items": {"type": "object"}},
        "affinity": _strict(
            {key: {"type": "object"} for key in ("nodeAffinity", "podAffinity", "podAntiAffinity")}
        ),
        "annotations": _LABELS,
        "podLabels": _LABELS,
        "podAnnotations": _LABELS,
    }
    cidr = {"type": "string", "pattern": "/[0-9]+$"}
    peer = {
        "ipBlock": {
            **_strict({"cidr": cidr, "except": {"type": "array", "items": _TEXT}}),
            "required": ["cidr"],
        },
        "namespaceSelector": {"type": "object"},
        "podSelector": {"type": "object"},
    }
    image = {
        "repository": _NAME,
        "tag": _TEXT,
        "digest": _DIGEST,
        "pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
        "pullSecrets": {"type": "array", "items": _NAME},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": "Written by `make reference`; profiles, multus and allowed from the code, webhook/core/profiles/.",
        "title": "Values of fabric-injector",
        **_strict(
            {
                "global": {"type": "object"},
                "image": {**_strict(image), "required": ["repository"]},
                "profiles": {
                    "description": "FabricProfile objects by name",
                    "type": ["object", "null"],
                    "properties": {PROFILE_NONE: False},
                    "patternProperties": {_OBJECT_NAME: {"$ref": "#/$defs/Profile"}},
                    "additionalProperties": False,
                },
                "multus": {**sections.pop("Multus"), "type": ["object", "null"]},
                "allowed": {**sections.pop("Allowed"), "type": ["object", "null"]},
                "webhook": {"$ref": "#/$defs/component"},
                "controller": {"$ref": "#/$defs/component"},
                "failurePolicy": {"enum": ["Fail", "Ignore"]},
                "podOptIn": _SWITCH,
                "priorityClassName": _NAME,
                "certManager": _SWITCH,
                "profileViewer": _SWITCH,
                "networkPolicy": _SWITCH,
                "apiServers": {
                    "description": "Peers of a NetworkPolicy",
                    "type": "array",
                    "items": {**_strict(peer), "minProperties": 1},
                },
                "metricsNamespaces": {
                    "description": "Empty would mean anybody",
                    "type": "array",
                    "minItems": 1,
                    "items": {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
                },
                "serviceMonitor": _SWITCH,
                "serviceMonitorLabels": {"type": ["object", "null"], "additionalProperties": _TEXT},
                "prometheusRule": _SWITCH,
                "prometheusRuleLabels": {"type": ["object", "null"], "additionalProperties": _TEXT},
                "grafanaDashboard": _SWITCH,
            }
        ),
        "if": {"required": ["apiServers"], "properties": {"apiServers": {"minItems": 1}}},
        "then": {"properties": {"networkPolicy": {"const": True}}},
        "$defs": {
            "labels": {"type": "object", "additionalProperties": _TEXT},
            "component": _strict(component),
            **sections,
        },
    }


def text() -> str:
    """Return the file's content."""
    return json.dumps(values_schema(), indent=2) + "\n"


def _strict(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _for_go(node: Any) -> Any:
    """Return the schema as Helm can use it.

    Its regular expressions know no look-ahead, its errors give the wrong path for propertyNames; one choice gives a clearer one.
    """
    if isinstance(node, list):
        return [_for_go(item) for item in node]
    if not isinstance(node, dict):
        return node
    if "anyOf" in node and {"type": "null"} in node["anyOf"]:
        (choice,) = (each for each in node["anyOf"] if each != {"type": "null"})
        if "$ref" in choice:
            return {**node, "anyOf": [*_for_go(node["anyOf"][:1]), {"type": "null"}]}
        choice = {**choice, "type": [choice["type"], "null"]}
        return _for_go(
            {
                **choice,
                **{key: value for key, value in node.items() if key not in ("anyOf", "default")},
            }
        )
    made = {key: _for_go(value) for key, value in node.items()}
    if "propertyNames" in made:
        keys = made.pop("propertyNames")
        refused = {keys["not"]["pattern"]: False} if "not" in keys else {}
        made["patternProperties"] = {keys["pattern"]: made["additionalProperties"], **refused}
        made["additionalProperties"] = False
    excepted = _UNLESS.fullmatch(made["pattern"]) if isinstance(made.get("pattern"), str) else None
    if excepted:
        made |= {"pattern": f"^{excepted['rest']}", "not": {"const": excepted["word"]}}
    return made


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text())
