"""What ``check`` says of the MutatingWebhookConfiguration."""

import copy
from typing import Any

import pytest
import yaml

from tests import ROOT
from tests.diagnose.check.findings import brief
from webhook.core.model import Object
from webhook.diagnose.check.configuration import (
    check_configuration,
    is_called_for_opted_in_pods,
    selects,
)

SUBJECT = "MutatingWebhookConfiguration zz-fabric-injector"
ENTRY = f"{SUBJECT}, webhook pods.fabric-injector.io"
SHIPPED = ROOT / "manifests/base/mutating-webhook-configuration.yaml"


@pytest.fixture
def shipped() -> Object:
    """Give the configuration as manifests/base has it."""
    configuration: Object = yaml.safe_load(SHIPPED.read_text())
    return configuration


def look(configuration: Object, services: list[str] | None = None) -> list[str]:
    return brief(check_configuration(configuration, "fabric-injector", services))


def test_is_content_with_what_is_shipped(shipped: Object) -> None:
    assert look(shipped, ["fabric-injector"]) == [f"ok {SUBJECT}: selects and behaves as shipped"]


NAMESPACES = {"key": "fabric-injector.io/profile", "operator": "Exists"}


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        (
            "failurePolicy",
            "Ignore",
            "warn {entry}: failurePolicy is Ignore: while the webhook cannot be asked, pods train over",
        ),
        (
            "reinvocationPolicy",
            "Never",
            "warn {entry}: reinvocationPolicy is Never: containers that later webhooks add",
        ),
        ("matchPolicy", "Exact", "warn {entry}: matchPolicy is Exact"),
        ("sideEffects", "Some", "fail {entry}: sideEffects is Some: dry runs of pods are refused"),
        ("timeoutSeconds", 30, "warn {entry}: timeoutSeconds is 30"),
        ("admissionReviewVersions", ["v1beta1"], "fail {entry}: admissionReviewVersions lacks v1"),
        ("matchConditions", [], "warn {entry}: no matchCondition leaves mirror pods alone"),
        (
            "rules",
            [],
            "fail {subject}: no webhook of it is called for pods of a namespace with label",
        ),
        (
            "rules",
            [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "resources": ["pods"],
                    "operations": ["UPDATE"],
                }
            ],
            "fail {subject}: no webhook of it is called for pods of a namespace with label",
        ),
        (
            "namespaceSelector",
            {"matchLabels": {"a": "b"}},
            "fail {subject}: no webhook of it is called",
        ),
        (
            "namespaceSelector",
            {},
            "fail {subject}: is called for every pod of unlabelled namespaces too",
        ),
        (
            "namespaceSelector",
            {"matchExpressions": [NAMESPACES]},
            "warn {subject}: would be called for pods of kube-system if somebody labelled it",
        ),
        ("objectSelector", {}, "warn {subject}: is called for pods that opted out"),
        (
            "clientConfig",
            {"service": {"name": "fabric-injector", "namespace": "other", "path": "/mutate"}},
            "warn {entry}: calls Service other/fabric-injector, and what was looked at is in namespace fabric-injector",
        ),
        (
            "clientConfig",
            {"service": {"name": "gone", "namespace": "fabric-injector", "path": "/mutate"}},
            "fail {entry}: calls Service fabric-injector/gone, which does not exist",
        ),
        (
            "clientConfig",
            {"service": {"name": "fabric-injector", "namespace": "fabric-injector"}},
            "fail {entry}: calls path None",
        ),
        (
            "clientConfig",
            {"url": "https://injector.example.com:9443"},
            "fail {entry}: calls path /",
        ),
        (
            "clientConfig",
            {"url": "https://injector.example.com/mutate"},
            "warn {entry}: calls https://injector.example.com/mutate, not a Service: whoever answers there sees",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_tells_what_differs(shipped: Object, field: str, value: Any, expected: str) -> None:
    shipped["webhooks"][0][field] = value
    assert look(shipped, ["fabric-injector"])[0].startswith(
        expected.format(entry=ENTRY, subject=SUBJECT)
    )


def test_takes_a_second_webhook_for_labelled_pods_elsewhere(shipped: Object) -> None:
    """A component adds one that reaches labelled pods in unlabelled namespaces."""
    second = copy.deepcopy(shipped["webhooks"][0])
    second["name"] = "labelled-pods.fabric-injector.io"
    second["namespaceSelector"]["matchExpressions"][0]["operator"] = "DoesNotExist"
    second["objectSelector"]["matchExpressions"].append({**NAMESPACES})
    assert not is_called_for_opted_in_pods(shipped)
    shipped["webhooks"].append(second)
    assert is_called_for_opted_in_pods(shipped)
    assert look(shipped) == [f"ok {SUBJECT}: selects and behaves as shipped"]


@pytest.mark.parametrize(
    ("expression", "labels", "expected"),
    [
        ({"key": "a", "operator": "In", "values": ["1", "2"]}, {"a": "1"}, True),
        ({"key": "a", "operator": "In", "values": ["1", "2"]}, {"a": "3"}, False),
        ({"key": "a", "operator": "In", "values": ["1"]}, {}, False),
        ({"key": "a", "operator": "NotIn", "values": ["1"]}, {}, True),
        ({"key": "a", "operator": "NotIn", "values": ["1"]}, {"a": "1"}, False),
        ({"key": "a", "operator": "Exists"}, {"a": ""}, True),
        ({"key": "a", "operator": "Exists"}, {"b": ""}, False),
        ({"key": "a", "operator": "DoesNotExist"}, {"b": ""}, True),
        ({"key": "a", "operator": "DoesNotExist"}, {"a": ""}, False),
        ({"key": "a", "operator": "Gt"}, {"a": ""}, False),
    ],
    ids=str,
)
def test_selects_as_the_api_server(
    expression: Object, labels: dict[str, str], expected: bool
) -> None:
    assert selects({"matchExpressions": [expression]}, labels) is expected


@pytest.mark.parametrize(
    "everything", [None, {}, {"matchLabels": {}}, {"matchLabels": {"a": "1"}}], ids=str
)
def test_an_empty_selector_selects_all(everything: Object | None) -> None:
    assert selects(everything, {"a": "1", "b": "2"})
