"""What counts as an object of its kind."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnose.scenes import Scene, event, node
from webhook.core.model import Object
from webhook.kube.shape import misfit


def with_(**fields: Any) -> Object:
    return {"metadata": {"name": "a", "namespace": "b"}, **fields}


@pytest.mark.parametrize(
    ("resource", "obj", "told"),
    [
        ("pods", Scene().master, ""),
        ("nodes", node(), ""),
        ("events", event("Pod", "a", "Failed", "no"), ""),
        ("events", with_(message=None, involvedObject=None), ""),
        ("unheard", with_(spec=5), ""),
        ("nodes", [], "it is not an object"),
        ("nodes", {}, "metadata.name is missing"),
        ("nodes", {"metadata": {"name": ""}}, "metadata.name is missing"),
        ("nodes", {"metadata": {"name": "a", "labels": {"a": None}}}, "metadata.labels.a is not a string"),
        ("pods", {"metadata": {"name": "a"}}, "metadata.namespace is missing"),
        ("pods", with_(status={"conditions": [None]}), "status.conditions[0] is not an object"),
        (
            "pods",
            with_(spec={"containers": [{"env": 5}]}),
            "pod.spec.containers[0].env: expected a list, found a number",
        ),
        ("pods", with_(spec={"containers": None, "nodeName": 5}), "spec.nodeName is not a string"),
        ("leases", with_(spec={"leaseDurationSeconds": True}), "spec.leaseDurationSeconds is not an integer"),
        ("clusterqueues", with_(spec={"resourceGroups": {}}), "spec.resourceGroups is not a list"),
        ("nodes", with_(spec={"unschedulable": "yes"}), "spec.unschedulable is not a boolean"),
    ],
)
def test_names_the_first_field_that_is_wrong(resource: str, obj: Any, told: str) -> None:
    assert misfit(resource, obj) == told
