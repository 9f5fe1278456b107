"""Write the schema of the chart's values: ``python -m … FILE``; profiles are the API server's."""

import json
import sys
from pathlib import Path
from typing import Any

from webhook.core.names import PROFILE_NONE
from webhook.core.profiles.load import LONGEST_NAME

_TEXT = {"type": "string"}
_SWITCH = {"type": "boolean"}
_NAME = {"type": "string", "minLength": 1}
_DIGEST = {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"}
_OBJECTS = {"type": "array", "items": {"type": "object"}}
_LABELS = {"$ref": "#/$defs/labels"}
_OBJECT_NAME = f"^[a-z0-9]([-.a-z0-9]{{0,{LONGEST_NAME - 2}}}[a-z0-9])?$"


def values_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of values.yaml."""
    component = {
        "replicas": {"type": "integer", "minimum": 1},
        "tag": _TEXT,
        "digest": _DIGEST,
        "extraArgs": {"type": ["array", "null"], "items": {"type": "string", "pattern": "^--"}},
        "extraEnv": _OBJECTS,
        "resources": {"type": "object"},
        "nodeSelector": _LABELS,
        "tolerations": _OBJECTS,
        "topologySpreadConstraints": _OBJECTS,
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
    multus = {
        "namespaceIsolation": _SWITCH,
        "globalNamespaces": {"type": "array", "items": _NAME},
        "defaultNetworks": {"type": "integer", "minimum": 0, "maximum": 100},
        "resourceNameKeys": {"type": "array", "minItems": 1, "items": _NAME},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": "Written by `make reference`.",
        "title": "Values of fabric-injector",
        **_strict(
            {
                "global": {"type": "object"},
                "image": {**_strict(image), "required": ["repository"]},
                "profiles": {
                    "description": "FabricProfile objects by name",
                    "type": ["object", "null"],
                    "properties": {PROFILE_NONE: False},
                    "patternProperties": {_OBJECT_NAME: {"type": ["object", "null"]}},
                    "additionalProperties": False,
                },
                "multus": {**_strict(multus), "type": ["object", "null"]},
                "webhook": {"$ref": "#/$defs/component"},
                "controller": {"$ref": "#/$defs/component"},
                "serviceAccount": _strict({"annotations": _LABELS}),
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
        },
    }


def text() -> str:
    """Return the file's content."""
    return json.dumps(values_schema(), indent=2) + "\n"


def _strict(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text())
