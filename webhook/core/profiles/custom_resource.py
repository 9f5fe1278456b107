"""Write the CustomResourceDefinition of FabricProfile from the definition of a profile.

The API server takes a structural schema: no references, no choice between types, no patterns for keys. Keys, and what must hold between
fields, are CEL rules; every list, map and text has a bound, so that the API server can bound what a rule costs.
Source: kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from webhook.core import names
from webhook.core.profiles.consistency import (
    HAS_COUNT,
    HAS_SECONDS,
    HAS_VALUE,
    NO_KEY,
    NO_QUANTITY,
    NOT_ONE_SOURCE,
    SOURCES,
)
from webhook.core.profiles.field_types import PRESERVED, RULES, rule
from webhook.core.profiles.json_schema import tidy_schema
from webhook.core.profiles.objects import (
    DEFINITION,
    LONGEST_NAME,
    PLURAL,
    PROFILE_API_VERSION,
    PROFILE_KIND,
)

_KEPT = (
    "type", "description", "enum", "pattern", "nullable", "required", "maxLength", "minItems", "maxItems", "maxProperties", RULES,
    PRESERVED,
)  # fmt: skip
_SELF = re.compile(r"\bself\b")
_NAMES_A_NETWORK = (
    "!has(self.rendezvous) || !has(self.rendezvous.network) || "
    "(has(self.rendezvous.addressSource) && self.rendezvous.addressSource in ['gke', 'claim'] ? "
    "!self.rendezvous.network.contains('/') : "
    "!has(self.networks) || self.networks.size() == 0 || "
    "self.networks.exists(n, n.network == self.rendezvous.network || n.network.startsWith(self.rendezvous.network + '@')))"
)
_INTERFACES_DIFFER = (
    "self.all(n, !n.network.contains('@') || "
    "self.exists_one(m, m.network.endsWith(n.network.substring(n.network.indexOf('@')))))"
)
_WHOLE = "self.all(k, type(self[k]) == int ? self[k] >= 0 : quantity(self[k]).isInteger())"
_PAGE = "quantity(k.substring(10))"
_PAGES = (
    f"self.all(k, !k.startsWith('hugepages-') || !isQuantity(k.substring(10)) || !{_PAGE}.isGreaterThan(quantity('0')) || "
    f"(type(self[k]) == int ? self[k] : quantity(self[k]).asInteger()) % {_PAGE}.asInteger() == 0)"
)


def custom_resource_definition() -> dict[str, Any]:
    """Return the CustomResourceDefinition as the object that is created."""
    group, version = PROFILE_API_VERSION.split("/")
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": DEFINITION,
            "labels": {
                "app.kubernetes.io/name": "fabric-injector",
                "app.kubernetes.io/component": "webhook",
            },
        },
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {
                "kind": PROFILE_KIND,
                "plural": PLURAL,
                "singular": PROFILE_KIND.lower(),
                "shortNames": ["fp"],
            },
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": _COLUMNS,
                    "schema": {"openAPIV3Schema": _object_schema()},
                }
            ],
        },
    }


_COLUMNS = [
    {"name": "Networks", "type": "string", "jsonPath": ".status.networks"},
    {"name": "Namespaces", "type": "integer", "jsonPath": ".status.namespaces"},
    {
        "name": "Ready",
        "type": "string",
        "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
    },
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]


def _object_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "description": "What a fabric needs of the pods of the namespaces whose label names it.",
        "required": ["spec"],
        "properties": {"spec": spec_schema(), "status": _STATUS},
        "x-kubernetes-validations": [
            {
                "rule": f"self.metadata.name.size() <= {LONGEST_NAME}",
                "message": "a profile's name is a label's value: at most 63 characters",
            },
            {
                "rule": f"self.metadata.name != '{names.PROFILE_NONE}'",
                "message": f"{names.PROFILE_NONE} as a label leaves a pod alone; choose another name",
            },
        ],
    }


def spec_schema() -> dict[str, Any]:
    """Return the structural schema of a profile."""
    whole = tidy_schema()
    spec = _structural(whole["$defs"]["Profile"], whole["$defs"])
    fields = spec["properties"]
    fields["networks"][RULES] = [
        rule(
            _INTERFACES_DIFFER, "two networks have the same interface; write another after one's @"
        )
    ]
    fields["resources"][RULES] += [
        rule(_WHOLE, "write whole numbers, 0 or more"),
        rule(_PAGES, "write a multiple of the page size"),
    ]
    _add_rules_of_parts(fields)
    spec[RULES] = [
        {
            **rule(_NAMES_A_NETWORK, "rendezvous.network is none of this profile's networks"),
            "fieldPath": ".rendezvous.network",
        }
    ]
    return spec


def _add_rules_of_parts(fields: dict[str, Any]) -> None:
    """Add what must hold within an item of the lists of volumes, sidecars, tolerations, quantities and claims, and between items."""
    sidecars = fields["sidecars"]["items"]["properties"]
    claims = fields["claims"]["items"]["properties"]
    for listed, key in (
        (fields["volumes"], "name"),
        (fields["mounts"], "mountPath"),
        (fields["sidecars"], "name"),
        (sidecars["mounts"], "mountPath"),
        (fields["quantities"], "resource"),
        (fields["claims"], "name"),
        (claims["requests"], "name"),
    ):
        listed |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}
    fields["volumes"]["items"][RULES] = [
        rule(
            f"[{', '.join(f'has(self.{name})' for name in SOURCES)}].exists_one(one, one)",
            NOT_ONE_SOURCE,
        )
    ]
    fields["tolerations"]["items"][RULES] = [
        rule("has(self.key) || has(self.operator) && self.operator == 'Exists'", NO_KEY),
        rule(
            "!has(self.value) || self.value == '' || !has(self.operator) || self.operator == 'Equal'",
            HAS_VALUE,
        ),
        rule(
            "!has(self.tolerationSeconds) || has(self.effect) && self.effect == 'NoExecute'",
            HAS_SECONDS,
        ),
    ]
    fields["claims"]["items"][RULES] = [
        rule(
            f"!has(self.{field}) || self.{field}.all(c, !has(c.requests) || "
            "c.requests.all(name, self.requests.exists(r, r.name == name)))",
            f"{field} name a request that the claim does not have",
        )
        for field in ("constraints", "config")
    ]
    claims["requests"]["items"][RULES] = [
        rule(
            "!has(self.count) || !has(self.allocationMode) || self.allocationMode == 'ExactCount'",
            HAS_COUNT,
        )
    ]
    fields["quantities"]["items"][RULES] = [
        rule(
            "has(self.perAccelerator) || has(self.byNodeType) && self.byNodeType.size() > 0",
            NO_QUANTITY,
        )
    ]


def _structural(node: dict[str, Any], sections: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        inner = sections[node["$ref"].rpartition("/")[2]]
        return _structural(
            {**inner, **{key: value for key, value in node.items() if key != "$ref"}}, sections
        )
    if "anyOf" in node:
        described = {key: value for key, value in node.items() if key != "anyOf"}
        return _structural({**described, **_one_type(node["anyOf"])}, sections)
    made: dict[str, Any] = {key: node[key] for key in _KEPT if key in node}
    match node["type"]:
        case ["string", "number"]:
            del made["type"]
            made["x-kubernetes-int-or-string"] = True
        case "integer":
            made |= {"format": "int64", "minimum": node["minimum"], "maximum": node["maximum"]}
        case "array":
            made["items"] = _structural(node["items"], sections)
        case "object" if "properties" in node:
            made["properties"] = {
                name: _structural(field, sections) for name, field in node["properties"].items()
            }
        case "object" if PRESERVED in node:
            pass
        case "object":
            made["additionalProperties"] = _structural(node["additionalProperties"], sections)
            made[RULES] = list(_key_rules(node["propertyNames"]))
    return made


def _one_type(choices: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the choice that an object has; a null, and the word that means absent, are left to the file."""
    first = next(
        choice for choice in choices if "$ref" in choice or choice.get("type") not in (None, "null")
    )
    return {**first, "nullable": True}


def _key_rules(keys: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Yield what holds for each key of a map, for which a structural schema has no place."""
    pattern, most = keys["pattern"], keys["maxLength"]
    yield rule(
        f"self.all(k, size(k) <= {most} && k.matches({_quoted(pattern)}))",
        f"a key is longer than {most} characters, or does not match {pattern}",
    )
    if "not" in keys:
        prefix = keys["not"]["pattern"].removeprefix("^")
        yield rule(
            f"self.all(k, !k.startsWith({_quoted(prefix)}))",
            f"keys that start with {prefix} are the injector's own",
        )
    for each in keys.get(RULES, ()):
        yield rule(f"self.all(k, {_SELF.sub('k', each['rule'])})", each["message"])


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_CONDITION = {
    "type": "object",
    "required": ["type", "status", "lastTransitionTime", "reason", "message"],
    "properties": {
        "type": {"type": "string", "maxLength": 63},
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "reason": {"type": "string", "maxLength": 63},
        "message": {"type": "string", "maxLength": 4096},
    },
}
_STATUS = {
    "type": "object",
    "description": "What the controller found.",
    "properties": {
        "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
        "namespaces": {"type": "integer", "format": "int32", "minimum": 0},
        "networks": {
            "type": "string",
            "maxLength": 2048,
            "description": "The first few networks: of a list a column would show the first alone.",
        },
        "conditions": {
            "type": "array",
            "maxItems": 8,
            "items": _CONDITION,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
        },
    },
}
