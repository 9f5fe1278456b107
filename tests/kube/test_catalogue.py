"""What counts as an object of its kind."""

from contextlib import nullcontext
from typing import Any

import pytest

from tests.diagnose.scenes import Scene, event, node
from webhook.core.model import Object
from webhook.kube.catalogue import EVENTS, NODES, PODS, SERVICES
from webhook.kube.resource import Misfit, Resource


def with_(**fields: Any) -> Object:
    return {"metadata": {"name": "a", "namespace": "b"}, **fields}


@pytest.mark.parametrize(
    ("resource", "obj", "told"),
    [
        (PODS, Scene().master, ""),
        (NODES, node(), ""),
        (EVENTS, event("Pod", "a", "Failed", "no"), ""),
        (EVENTS, with_(message=None, involvedObject=None), ""),
        (SERVICES, with_(spec=5), ""),
        (NODES, [], "it is not an object"),
        (NODES, {}, "metadata is missing"),
        (NODES, {"metadata": {"name": ""}}, "metadata.name is empty"),
        (
            NODES,
            {"metadata": {"name": "a", "labels": {"a": None}}},
            "metadata.labels[...] is not a string",
        ),
        (
            PODS,
            with_(spec={"containers": [{"env": 5}]}),
            "pod.spec.containers[0].env: expected a list, found a number",
        ),
    ],
)
def test_names_the_first_field_that_is_wrong(resource: Resource, obj: Any, told: str) -> None:
    with pytest.raises(Misfit) if told else nullcontext() as misfit:
        resource.check(obj)
    assert told == (str(misfit.value) if misfit else "")
