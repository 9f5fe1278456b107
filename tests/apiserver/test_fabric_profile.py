"""The API server refuses the profiles that `profiles validate` refuses, in the same words, and injects what a profile may write."""

from __future__ import annotations

import copy
import json
import re
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.cluster.assets import binary
from tests.cluster.client import Response
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import account
from tests.cluster.webhook import Webhook
from tests.profiles import CLOSED_LIST
from tests.validate.rows import BROKEN, COMPLETE, as_object
from tests.waiting import wait_until
from webhook.cli import main
from webhook.core import names
from webhook.core.profiles.objects import PLURAL, PROFILE_API_VERSION
from webhook.validate.definition import definition as shipped_definition
from webhook.validate.rules import RULES

SPACE = "follows-objects"
PATH = f"/apis/{PROFILE_API_VERSION}/{PLURAL}"
NOT_CHECKED = "some validation rules were not checked because the object was invalid"
WITH_VOLUMES = ("container.volumeMounts", "pod.spec.initContainers")
"""Fields whose mounts need the profile's volumes."""


@pytest.fixture(scope="module")
def definition(control_plane: ControlPlane) -> ControlPlane:
    """Install the CRD, and wait until it is served."""
    plane = control_plane
    plane.api.ensure(shipped_definition())
    wait_until(
        lambda: create(plane, as_object({"metadata": {"name": "a"}, "spec": {}})).status == 201,
        "the CRD to be served",
    )
    return plane


@pytest.fixture
def followed(definition: ControlPlane, tmp_path: Path) -> Iterator[Webhook]:
    """A webhook that follows the objects, and a namespace whose label names one that is not there yet."""
    labels = {names.PROFILE: "shared"}
    definition.api.ensure(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE, "labels": labels}}
    )
    definition.api.ensure(account(), SPACE)
    with Webhook(definition, tmp_path / "webhook", None) as webhook:
        yield webhook
    definition.api.request("DELETE", f"{PATH}/shared")


def create(plane: ControlPlane, value: Any) -> Response:
    """Ask the API server what it would do, as `kubectl apply` with its default validation does."""
    return plane.api.request("POST", f"{PATH}?dryRun=All&fieldValidation=Strict", value)


def words(answer: Response) -> dict[str, set[str]]:
    """Return the messages of a refusal by the path of the field."""
    found: dict[str, set[str]] = {}
    if unknown := re.findall(r'unknown field "([^"]+)"', answer.message):
        return {path: set() for path in unknown}
    for cause in answer.json["details"]["causes"]:
        if NOT_CHECKED not in cause["message"]:
            found.setdefault(cause["field"], set()).add(cause["message"])
    return found


def messages_of_rules(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(messages_of_rules, schema))
    if not isinstance(schema, dict):
        return set()
    own = {rule["message"] for rule in schema.get(RULES, ())}
    return own.union(*map(messages_of_rules, schema.values()))


def test_takes_a_profile_that_has_every_field(definition: ControlPlane) -> None:
    answer = create(definition, COMPLETE)
    assert answer.status == 201, answer.message


def test_refuses_what_the_command_refuses_in_its_words(definition: ControlPlane) -> None:
    by_rule = messages_of_rules(shipped_definition())
    for row in BROKEN:
        answer = create(definition, row.value)
        assert answer.status in (400, 422), row.title
        told = words(answer)
        assert set(told) == {path for path, _ in row.says}, row.title
        for path, message in row.says:
            if message in by_rule:
                assert any(each.endswith(f": {message}") for each in told[path]), (row.title, told)
    assert len(BROKEN) >= 30


def test_explains_fields_that_people_ask_for(definition: ControlPlane) -> None:
    for path in ("spec", "spec.container", "spec.pod.spec", "spec.networks"):
        told = definition.kubectl("explain", f"fabricprofile.{path}").stdout
        assert "<no description>" not in told
        assert "DESCRIPTION:" in told


def test_the_command_shows_the_servers_own_words(definition: ControlPlane, tmp_path: Path) -> None:
    enforced = {"pod-security.kubernetes.io/enforce": "restricted"}
    definition.create_namespace("restricted", enforced)
    config = definition.admin

    def validate(value: dict[str, Any]) -> tuple[int, str]:
        file = tmp_path / "profile.yaml"
        file.write_text(yaml.safe_dump(value))
        arguments = [*("--server", "-n", "restricted"), f"--kubeconfig={config}"]
        done = CliRunner().invoke(main, ["profiles", "validate", "-f", str(file), *arguments])
        return done.exit_code, done.stdout

    status, told = validate(as_object({"metadata": {"name": "a"}, "spec": {"ipcLock": False}}))
    assert status == 1
    assert 'profile.yaml:1: server: pod in restricted: pods "a-' in told
    assert 'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false' in told
    typo: dict[str, Any] = {"container": {"env": [{"name": "A", "valeu": "b"}]}, "accelerators": 0}
    status, told = validate(as_object({"metadata": {"name": "a"}, "spec": typo}))
    assert status == 1
    assert "spec.accelerators: 0 is less than the minimum of 1" in told
    assert "server: spec.accelerators: Invalid value: 0: spec.accelerators in body should" in told
    secure: dict[str, Any] = {"allowPrivilegeEscalation": False, "runAsNonRoot": True}
    secure |= {"capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}
    spec: dict[str, Any] = {"ipcLock": False, "container": {"securityContext": secure}}
    assert validate(as_object({"metadata": {"name": "a"}, "spec": spec})) == (0, "")
    spec["container"]["volumeMounts"] = [{"name": "a", "mountPath": "/a", "readonly": True}]
    status, told = validate(as_object({"metadata": {"name": "a"}, "spec": spec}))
    assert 'unknown field "spec.containers[0].volumeMounts[0].readonly"' in told


def paths_of(known: Any, above: str = "") -> Iterator[str]:
    for name, below in known.items():
        if below is None:
            yield f"{above}{name}"
        else:
            yield from paths_of(below, f"{above}{name}.")


def part(value: Any, *paths: str) -> dict[str, Any]:
    """Return the fields of *value* at these paths, and no other."""
    made: dict[str, Any] = {}
    for path in paths:
        *above, last = path.split(".")
        found, into = value, made
        for name in above:
            found, into = found[name], into.setdefault(name, {})
        into[last] = found[last]
    return made


def holds(found: Any, wanted: Any) -> bool:
    """Tell whether all of *wanted* is in *found*, which may have more."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(key in found and holds(found[key], each) for key, each in wanted.items())
    if isinstance(wanted, list) and isinstance(found, list):
        return all(any(holds(item, each) for item in found) for each in wanted)
    return str(found) == str(wanted)  # a quantity is stored as text


def injected(plane: ControlPlane, wanted: dict[str, Any]) -> bool:
    """Create a pod, read it back, and tell whether it has what the profile writes."""
    created = plane.api.create(POD, SPACE)
    if created.status != 201:
        return False
    path = f"/api/v1/namespaces/{SPACE}/pods/{created.json['metadata']['name']}"
    pod = plane.api.expect("GET", path)
    plane.api.expect("DELETE", f"{path}?gracePeriodSeconds=0")
    container = pod["spec"]["containers"][0]
    return holds(container, wanted.get("container", {})) and holds(pod, wanted.get("pod", {}))


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "p-"},
    "spec": {
        "containers": [
            {"name": "a", "image": "a", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}
        ]
    },
}


def test_injects_each_field_that_a_profile_may_write(
    followed: Webhook, definition: ControlPlane
) -> None:
    definition.api.ensure(
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": "nvidia"},
            "handler": "nvidia",
        }
    )
    fields = [*paths_of(CLOSED_LIST)]
    rows = [[path, *(["pod.spec.volumes"] if path in WITH_VOLUMES else [])] for path in fields]
    for row in [*rows, fields]:
        wanted = part(COMPLETE["spec"], *row)
        body = as_object({"metadata": {"name": "shared"}, "spec": {"pods": "all", **wanted}})
        definition.api.expect("POST", PATH, body)
        wait_until(partial(injected, definition, wanted), f"{row} in a pod")
        definition.api.expect("DELETE", f"{PATH}/shared")


def test_the_oldest_kubernetes_takes_the_definition(tmp_path: Path) -> None:
    """Later ones estimate what a rule costs lower, and take what this one takes."""
    judge = binary("definition")
    file = tmp_path / "definition.yaml"

    def judged(definition: dict[str, Any]) -> str:
        file.write_text(json.dumps(definition))
        return subprocess.run([judge, file], capture_output=True, text=True, timeout=60).stdout

    definition = copy.deepcopy(shipped_definition())
    assert judged(definition) == ""
    spec = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    container = spec["properties"]["container"]["properties"]
    container["resources"]["properties"]["limits"]["maxProperties"] = 64
    assert "estimated rule cost exceeds budget" in judged(definition)
