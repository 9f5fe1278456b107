"""What is found in an input: lists taken apart, objects in their namespaces, up to a size."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dry_run.templates.kinds import PLAIN, find, names, volcano_job
from tests.dry_run.templates.test_ignored import IGNORED
from tests.dry_run.templates.test_kinds import SHOWN
from webhook.core.errors import InputError


@pytest.mark.parametrize(
    "manifest",
    [
        {"apiVersion": "v1", "kind": "List", "items": [SHOWN["Pod"][0], SHOWN["Deployment"][0]]},
        {
            "apiVersion": "v1",
            "kind": "List",
            "items": [
                {"apiVersion": "v1", "kind": "List", "items": [SHOWN["Pod"][0]]},
                SHOWN["Deployment"][0],
            ],
        },
        [SHOWN["Pod"][0], SHOWN["Deployment"][0]],
    ],
    ids=["List", "List in a List", "JSON list"],
)
def test_takes_lists_apart(manifest: Any) -> None:
    assert names(find(manifest)) == ["p", "web-*"]


def test_knows_the_kind_of_items_that_do_not_say_it() -> None:
    item = {"metadata": {"name": "p", "namespace": "ml"}, **PLAIN}
    found = find({"apiVersion": "v1", "kind": "PodList", "items": [item]})
    assert [(each.source, each.namespace) for each in found.pods] == [("Pod/p", "ml")]


def test_goes_on_behind_a_broken_object() -> None:
    found = find(IGNORED["no template"][0], SHOWN["Pod"][0])
    assert names(found) == ["p"]
    assert len(found.ignored) == 1


@pytest.mark.parametrize(
    ("own", "given", "expected"),
    [(None, None, "default"), (None, "research", "research"), ("ml", "research", "ml")],
    ids=["default", "given", "own"],
)
def test_places_a_pod_in_a_namespace(own: str | None, given: str | None, expected: str) -> None:
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {"template": PLAIN},
    }
    if own:
        manifest["metadata"] = {"name": "db", "namespace": own}
    [found] = find(manifest, namespace=given).pods
    assert (found.namespace, found.pod["metadata"]["namespace"]) == (expected, expected)


def test_refuses_more_than_can_be_shown() -> None:
    tasks = [(f"t{number}", 1) for number in range(600)]
    with pytest.raises(InputError, match="too many to show at once"):
        find(volcano_job(*tasks, plugins={"svc": []}))
