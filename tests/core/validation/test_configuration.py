"""The ConfigMap of the Configuration: what the loader refuses is refused when it is put in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.core.validation.worlds import FewWords, review
from webhook.core.profiles import Profiles
from webhook.core.review import answer_validation

HEAD = "apiVersion: config.fabric-injector.io/v1alpha1\nkind: Configuration\n"


def put(data: Any, world: FewWords | None = None, name: str = "fabric-injector-config") -> tuple[str, list[str]]:
    """Return the refusal, empty where the ConfigMap is let in, and the warnings; creating and changing it are alike."""
    found = []
    after, before = ({"metadata": {"name": name}, "data": each} for each in (data, {"config.yaml": HEAD}))
    for operation, old in (("CREATE", None), ("UPDATE", before)):
        answered = answer_validation(review("configmaps", operation, after, old), Profiles(), world or FewWords())
        assert answered.entry == ("configuration" if name == "fabric-injector-config" else "")
        response = json.loads(answered.body)["response"]
        found.append((response.get("status", {}).get("message", ""), response.get("warnings", [])))
    assert found[0] == found[1]
    return found[0]


def test_lets_in_what_the_loader_takes() -> None:
    assert put({"config.yaml": HEAD + "multus: {namespaceIsolation: true}\n"}) == ("", [])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (HEAD + "multus: {defaultNetwork: 1}\n", "line 3: Configuration: multus.defaultNetwork: "),
        (HEAD + "multus: {defaultNetworks: two}\n", "line 3: Configuration: multus.defaultNetworks: "),
        ("multus: {}\n", "is not a Configuration"),
        ("a: [", "not valid YAML"),
        ("", "line 1"),
    ],
)
def test_refuses_what_the_loader_refuses(content: str, told: str) -> None:
    refusal, warnings = put({"config.yaml": content})
    assert refusal.startswith("ConfigMap fabric-injector-config: config.yaml: line ")
    assert told in refusal
    assert warnings == []


@pytest.mark.parametrize("data", [None, {}, {"config.yml": HEAD}, {"config.yaml": 3}, "text"])
def test_warns_of_another_key(data: Any) -> None:
    refusal, [warning] = put(data)
    assert (refusal, "the defaults hold" in warning) == ("", True)
    assert ("it has no data" in warning) is (not data or data == "text")


def test_lets_it_be_deleted_unread() -> None:
    before = {"metadata": {"name": "fabric-injector-config"}, "data": {"config.yaml": "a: ["}}
    world = FewWords(silent=True)
    answered = answer_validation(review("configmaps", "DELETE", None, before), Profiles(), world)
    response = json.loads(answered.body)["response"]
    assert (answered.entry, response["allowed"], response.get("warnings")) == ("configuration", True, None)
    assert world.asked == []


def test_lets_in_what_nobody_can_read_now() -> None:
    refusal, [warning] = put({"config.yaml": HEAD}, FewWords(silent=True))
    assert (refusal, "was not checked" in warning) == ("", True)


def test_looks_at_no_other() -> None:
    assert put({"config.yaml": "a: ["}, name="another") == ("", [])
