"""What is kept of a namespace."""

from webhook.core.model import Namespace
from webhook.world.held import read_namespace


def test_keeps_name_and_the_labels_of_a_namespace_that_are_read() -> None:
    read = {
        "fabric-injector.io/profile": "shared",
        "fabric-injector.io/mode": "observe",
        "pod-security.kubernetes.io/enforce": "baseline",
        "istio-injection": "enabled",
        "istio.io/rev": "stable",
    }
    labels = {"a": "b", **read, **{f"k{number}": "" for number in range(1000)}}
    metadata = {"name": "ml", "labels": labels, "annotations": {"x": "y"}, "managedFields": [{}]}
    assert read_namespace({"metadata": metadata}) == Namespace("ml", read, {})
    assert read_namespace({"metadata": {"name": "ml", "labels": None}}) == Namespace("ml", {}, {})
