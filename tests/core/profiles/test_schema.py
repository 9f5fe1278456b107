"""The JSON Schema of profiles.yaml, and the samples that come with the program."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import jsonschema
import pytest
import yaml

from tests.core.profiles.test_grammar import GRAMMAR_FAULTS
from tests.core.profiles.test_messages import FIELD_FAULTS
from tests.core.profiles.test_profiles import OTHER_WAYS
from tests.core.profiles.test_reader import YAML_FAULTS
from tests.core.profiles.texts import DESIGN_SAMPLE, SAMPLE
from webhook.core.profiles import parse_profiles, profiles_schema

SCHEMA = profiles_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
DEMO = files("webhook.demo")
FAULTS = {**FIELD_FAULTS, **GRAMMAR_FAULTS, **YAML_FAULTS}
REQUIRED = "required"

FIELDS: dict[str, Any] = {
    "pods": "training",
    "podLabels": {},
    "networks": [],
    "networks[].network": REQUIRED,
    "networks[].resource": None,
    "networks[].count": 1,
    "resources": {},
    "quantities": [],
    "quantities[].resource": REQUIRED,
    "quantities[].perAccelerator": None,
    "quantities[].byNodeType": {},
    "quantities[].nodeLabel": "node.kubernetes.io/instance-type",
    "claims": [],
    "claims[].name": REQUIRED,
    "claims[].requests": REQUIRED,
    "claims[].requests[].name": REQUIRED,
    "claims[].requests[].deviceClassName": REQUIRED,
    "claims[].requests[].count": None,
    "claims[].requests[].allocationMode": "ExactCount",
    "claims[].requests[].selectors": [],
    "claims[].constraints": [],
    "claims[].constraints[].matchAttribute": REQUIRED,
    "claims[].constraints[].requests": [],
    "claims[].config": [],
    "claims[].config[].driver": REQUIRED,
    "claims[].config[].parameters": REQUIRED,
    "claims[].config[].requests": [],
    "existingDevices": "complete",
    "ipcLock": True,
    "podSecurity": "deny",
    "sharedMemory": {"enabled": True, "sizeLimit": "none", "limitExisting": False},
    "sharedMemory.enabled": True,
    "sharedMemory.sizeLimit": "none",
    "sharedMemory.limitExisting": False,
    "env": {},
    "accelerators": None,
    "deviceVariables": [],
    "annotations": {},
    "ncclConf": False,
    "container": None,
    "volumes": [],
    "volumes[].name": REQUIRED,
    "volumes[].hostPath": None,
    "volumes[].emptyDir": None,
    "volumes[].configMap": None,
    "mounts": [],
    "mounts[].name": REQUIRED,
    "mounts[].mountPath": REQUIRED,
    "mounts[].readOnly": False,
    "mounts[].subPath": None,
    "sidecars": [],
    "sidecars[].name": REQUIRED,
    "sidecars[].image": REQUIRED,
    "sidecars[].command": [],
    "sidecars[].args": [],
    "sidecars[].env": {},
    "sidecars[].mounts": [],
    "sidecars[].mounts[].name": REQUIRED,
    "sidecars[].mounts[].mountPath": REQUIRED,
    "sidecars[].mounts[].readOnly": False,
    "sidecars[].mounts[].subPath": None,
    "sidecars[].privileged": False,
    "sidecars[].capabilities": [],
    "sidecars[].resources": {},
    "nodeSelector": {},
    "tolerations": [],
    "tolerations[].key": None,
    "tolerations[].operator": "Equal",
    "tolerations[].value": "",
    "tolerations[].effect": None,
    "tolerations[].tolerationSeconds": None,
    "rendezvous": {
        "enabled": True,
        "network": None,
        "ipFamily": "any",
        "timeout": "30m",
        "waitImage": "none",
        "rankZero": "address",
        "unreachable": "podNetwork",
        "addressSource": "multus",
    },
    "rendezvous.enabled": True,
    "rendezvous.network": None,
    "rendezvous.ipFamily": "any",
    "rendezvous.timeout": "30m",
    "rendezvous.waitImage": "none",
    "rendezvous.rankZero": "address",
    "rendezvous.unreachable": "podNetwork",
    "rendezvous.addressSource": "multus",
    "allowedNamespaces": "all",
}
"""The design's table of a profile's fields, with the defaults that it gives; None where it says none or names a rule."""

MULTUS = {
    "namespaceIsolation": False,
    "globalNamespaces": ["default"],
    "defaultNetworks": 0,
    "resourceNameKeys": ["k8s.v1.cni.cncf.io/resourceName"],
}
ALLOWED: dict[str, Any] = {"hostPaths": [], "sidecarImages": []}

ONLY_WHEN_LOADED = {
    "interface-twice", "pod-labels-twice", "annotation-multus", "annotation-of-gke", "annotation-long",
    "rendezvous-network", "rendezvous-namespace", "rendezvous-interface", "rendezvous-gke-namespace",
    "resources-fraction", "hugepages-part", "hugepages-size", "hugepages-zero", "resources-native-domain",
    "resource-twice", "interface-taken",
    "amount-beyond", "amount-exponent", "size-beyond", "tag-date", "tag-bool",
    "size-milli", "timeout-short", "timeout-fraction", "timeout-no-digit", "timeout-huge",
    "env-nul", "env-key", "profile-key", "duplicate", "duplicate-deep",
    "key-list", "tag", "tag-scalar", "merge-text",
    "volume-sources", "volume-empty", "volume-twice", "path-up", "mount-twice", "mount-sub-path",
    "sidecar-twice", "sidecar-mounts", "toleration-key", "toleration-value", "toleration-seconds",
    "quantity-way", "quantity-beside", "quantity-accelerator",
    "gke-interfaces-json", "gke-interfaces-list", "gke-interfaces-name", "allowed-path", "allowed-image-tag",
    "claim-twice", "claim-request-twice", "claim-all", "claim-other-request",
}  # fmt: skip
"""Faults between fields, of arithmetic, and of YAML itself."""


def fields_of(definition: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in definition["properties"].items():
        found[prefix + name] = (
            REQUIRED if name in definition.get("required", ()) else field["default"]
        )
        items = field.get("items", {})
        for inner, mark in ((field, "."), (items, "[].")):
            if "$ref" in inner:
                found |= fields_of(
                    SCHEMA["$defs"][inner["$ref"].rpartition("/")[2]], prefix + name + mark
                )
    return found


def test_has_every_field_of_the_design_with_its_default() -> None:
    assert fields_of(SCHEMA["$defs"]["Profile"]) == FIELDS
    assert fields_of(SCHEMA["$defs"]["Multus"]) == MULTUS
    assert fields_of(SCHEMA["$defs"]["Allowed"]) == ALLOWED


def test_is_a_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_describes_every_field() -> None:
    for name, definition in SCHEMA["$defs"].items():
        for field, schema in definition["properties"].items():
            assert schema.get("description") or "$ref" in schema, f"{name}.{field}"


def test_accepts_the_sample_of_the_design() -> None:
    VALIDATOR.validate(yaml.safe_load(DESIGN_SAMPLE))


@pytest.mark.parametrize("fields", [fields for fields, _ in OTHER_WAYS if ": null" not in fields])
def test_accepts_what_the_loader_accepts(fields: str) -> None:
    VALIDATOR.validate(yaml.safe_load(f"profiles: {{a: {{{fields}}}}}"))


@pytest.mark.parametrize("name", [name for name in FAULTS if name not in ONLY_WHEN_LOADED])
def test_refuses_what_the_loader_refuses(name: str) -> None:
    assert list(VALIDATOR.iter_errors(yaml.safe_load(FAULTS[name][0])))


def test_reads_the_demo_as_the_sample_of_the_design() -> None:
    text = (DEMO / "profiles.yaml").read_text()
    assert parse_profiles(text) == SAMPLE
    VALIDATOR.validate(yaml.safe_load(text))


def test_the_demo_has_the_networks_and_namespaces_that_its_profiles_need() -> None:
    objects = list(yaml.safe_load_all((DEMO / "networks.yaml").read_text()))
    networks = {
        f"{item['metadata']['namespace']}/{item['metadata']['name']}": item["metadata"].get(
            "annotations", {}
        )
        for item in objects
        if item["kind"] == "NetworkAttachmentDefinition"
    }
    named = {
        str(network): network.resources
        for profile in SAMPLE.profiles.values()
        for network in profile.networks
    }
    assert networks.keys() == named.keys()
    assert all(
        bool(named[name]) != ("k8s.v1.cni.cncf.io/resourceName" in networks[name]) for name in named
    )
    labelled = {
        item["metadata"]["name"]: item["metadata"]["labels"].get("fabric-injector.io/profile")
        for item in objects
        if item["kind"] == "Namespace"
    }
    assert labelled.pop("default") is None, "every cluster has it, and nobody labels it"
    assert set(labelled.values()) == SAMPLE.profiles.keys()
