"""The API server takes and refuses the profiles that the loader takes and refuses, by schema and rules alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.assets import binary
from tests.cluster.client import Response
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import account
from tests.cluster.webhook import Webhook
from tests.core.profiles.test_grammar import GRAMMAR_FAULTS
from tests.core.profiles.test_messages import FIELD_FAULTS
from tests.core.profiles.test_profiles import OTHER_WAYS
from tests.core.profiles.texts import DESIGN_SAMPLE
from tests.profile_objects import to_objects
from tests.waiting import wait_until
from webhook.core import names
from webhook.core.profiles.custom_resource import custom_resource_definition
from webhook.core.profiles.objects import PLURAL, PROFILE_API_VERSION, PROFILE_KIND

SPACE = "follows-objects"
PATH = f"/apis/{PROFILE_API_VERSION}/{PLURAL}"
BETWEEN_PROFILES = {"pod-labels-twice"}
"""What a rule about one object cannot see."""
NO_FAULT_OF_AN_OBJECT = {"profile-empty", "env-null", "resources-null", "env-key", "profile-key"}
"""Faults of YAML, and of what the API server takes out before it looks: null, and an empty name."""
NOT_BY_THE_SCHEMA = {
    "resource-twice", "count-beyond", "amount-beyond", "mount-twice", "sidecar-mounts", "quantity-beside", "quantity-type"
}  # fmt: skip
"""What no rule within the cost that the API server allows, or no number as it holds them, can tell."""
FAULTS = {
    name: text
    for name, (text, _) in {**FIELD_FAULTS, **GRAMMAR_FAULTS}.items()
    if name not in BETWEEN_PROFILES | NO_FAULT_OF_AN_OBJECT | NOT_BY_THE_SCHEMA
}


@pytest.fixture(scope="module")
def definition(control_plane: ControlPlane) -> ControlPlane:
    """Install the CRD, and wait until it is served."""
    plane = control_plane
    plane.api.ensure(custom_resource_definition())
    wait_until(lambda: create(plane, {}).status == 201, "the CRD to be served")
    return plane


@pytest.fixture
def followed(
    definition: ControlPlane, tmp_path: Path, webhook_command: list[str]
) -> Iterator[Webhook]:
    """A webhook that follows the objects, and a namespace whose label names one that is not there yet."""
    labels = {names.PROFILE: "shared"}
    definition.api.ensure(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE, "labels": labels}}
    )
    definition.api.ensure(account(), SPACE)
    with Webhook(definition, tmp_path / "webhook", None, webhook_command) as webhook:
        yield webhook
    definition.api.request("DELETE", f"{PATH}/shared")


def create(plane: ControlPlane, spec: Any, name: str = "a") -> Response:
    """Ask the API server what it would do, as `kubectl apply` with its default validation does."""
    body = {
        "apiVersion": PROFILE_API_VERSION,
        "kind": PROFILE_KIND,
        "metadata": {"name": name},
        "spec": spec,
    }
    return plane.api.request("POST", f"{PATH}?dryRun=All&fieldValidation=Strict", body)


def test_takes_what_the_loader_takes(definition: ControlPlane) -> None:
    texts = [
        DESIGN_SAMPLE,
        *(f"profiles: {{a: {{{fields}}}}}" for fields, _ in OTHER_WAYS if "1000m" not in fields),
    ]
    specs = [
        obj["spec"] for text in texts for obj in to_objects(text) if obj["kind"] == PROFILE_KIND
    ]
    assert {
        str(spec): answer.message
        for spec in specs
        if (answer := create(definition, spec)).status != 201
    } == {}


BEYOND_THE_DEFINITION = [
    "gke-interfaces-json",
    "gke-interfaces-list",
    "gke-interfaces-name",
    "quantity-accelerator",
]
"""Faults that take more than CEL to see: the webhook's entry for profiles refuses them where it is reached, else their status tells."""


def test_refuses_what_the_loader_refuses(definition: ControlPlane) -> None:
    taken = []
    refused = 0
    for fault, text in FAULTS.items():
        profiles = yaml.load(text, Loader=yaml.CSafeLoader).get("profiles")
        for name, spec in (profiles or {}).items() if isinstance(profiles, dict) else ():
            refused += 1
            if create(definition, spec or {}, name).status == 201:
                taken.append(fault)
    assert taken == BEYOND_THE_DEFINITION
    assert refused > 80


def test_says_where_and_why(definition: ControlPlane) -> None:
    answers = {
        "a typo": create(definition, {"netwroks": []}),
        "a choice": create(definition, {"podSecurity": "Deny"}),
        "a key": create(definition, {"env": {"9A": "x"}}),
        "between fields": create(
            definition, {"networks": [{"network": "a/b"}], "rendezvous": {"network": "a/c"}}
        ),
        "a name": create(definition, {}, "none"),
    }
    told = {
        "a typo": 'unknown field "spec.netwroks"',
        "a choice": 'spec.podSecurity: Unsupported value: "Deny": supported values: "deny", "skip", "ignore"',
        "a key": "spec.env: Invalid value: a key is longer than 253 characters, or does not match ",
        "between fields": "spec.rendezvous.network: Invalid value: rendezvous.network is none of this profile's networks",
        "a name": "none as a label leaves a pod alone; choose another name",
    }
    assert {
        what: told[what] in answer.message for what, answer in answers.items()
    } == dict.fromkeys(told, True)


def admitted(plane: ControlPlane) -> str:
    """Give the value that the profile gives each container, or why the pod is refused."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "p-"},
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    }
    answer = plane.api.create(pod, SPACE, dry_run=True)
    if answer.status != 201:
        return answer.message
    env = answer.json["spec"]["containers"][0].get("env", [])
    return "".join(each["value"] for each in env if each["name"] == "GIVEN")


def test_the_webhook_follows_the_objects(followed: Webhook, definition: ControlPlane) -> None:
    api = definition.api
    wait_until(
        lambda: "no profile is named 'shared'" in admitted(definition), "the label to be seen"
    )
    body: dict[str, Any] = {
        "apiVersion": PROFILE_API_VERSION,
        "kind": PROFILE_KIND,
        "metadata": {"name": "shared"},
    }
    api.expect("POST", PATH, {**body, "spec": {"pods": "all", "env": {"GIVEN": "one"}}})
    wait_until(lambda: admitted(definition) == "one", "the new profile")
    api.expect("PATCH", f"{PATH}/shared", {"spec": {"env": {"GIVEN": "two"}}})
    wait_until(lambda: admitted(definition) == "two", "the change")
    api.expect("DELETE", f"{PATH}/shared")
    wait_until(lambda: "it serves on until restart" in followed.output(), "the end of the object")
    assert admitted(definition) == "two"
    followed.stop()
    followed.start()
    wait_until(
        lambda: "no profile is named 'shared'" in admitted(definition),
        "what is there after a restart",
    )


def test_the_oldest_kubernetes_takes_the_definition(tmp_path: Path) -> None:
    """Later ones estimate what a rule costs lower, and take what this one takes."""
    judge = binary("definition")
    file = tmp_path / "definition.yaml"

    def judged(definition: dict[str, Any]) -> str:
        file.write_text(json.dumps(definition))
        return subprocess.run([judge, file], capture_output=True, text=True, timeout=60).stdout

    definition = custom_resource_definition()
    assert judged(definition) == ""
    spec = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"][
        "properties"
    ]
    spec["resources"]["maxProperties"] = 64
    assert "estimated rule cost exceeds budget" in judged(definition)
