"""What ``check`` says of the MutatingWebhookConfiguration."""

import copy

import pytest
import yaml

from tests import ROOT
from tests.diagnose.check.findings import brief, expect
from tests.tables import cases
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
    ("field", "value", "head", "words"),
    cases("""
ignored | failurePolicy | Ignore | warn failure-policy-changed ENTRY | while the webhook cannot be asked, pods train over
once | reinvocationPolicy | Never | warn reinvocation-policy-changed ENTRY | containers that later webhooks add
exact | matchPolicy | Exact | warn match-policy-changed ENTRY | matchPolicy is Exact
effects | sideEffects | Some | fail side-effects-changed ENTRY | sideEffects is Some: dry runs of pods are refused
patient | timeoutSeconds | 30 | warn timeout-long ENTRY | timeoutSeconds is 30
old reviews | admissionReviewVersions | [v1beta1] | fail review-version-missing ENTRY | admissionReviewVersions lacks v1
mirror pods | matchConditions | [] | warn mirror-pods-called ENTRY | no matchCondition leaves mirror pods alone
no rule | rules | [] | fail webhook-never-called SUBJECT | no webhook of it is called for pods of a namespace with label
updates | rules | [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [UPDATE]}] | fail webhook-never-called SUBJECT |
others | namespaceSelector | {matchLabels: {a: b}} | fail webhook-never-called SUBJECT | no webhook of it is called
all | namespaceSelector | {} | fail unlabelled-called SUBJECT | is called for every pod of unlabelled namespaces too
system | namespaceSelector | {matchExpressions: [{key: fabric-injector.io/profile, operator: Exists}]} | warn system-called SUBJECT | pods of kube-system
opted out | objectSelector | {} | warn opted-out-called SUBJECT | is called for pods that opted out
elsewhere | clientConfig | {service: {name: fabric-injector, namespace: other, path: /mutate}} | warn webhook-elsewhere ENTRY | calls Service other/fabric-injector, and what was looked at is in namespace fabric-injector
no service | clientConfig | {service: {name: gone, namespace: fabric-injector, path: /mutate}} | fail service-missing ENTRY | calls Service fabric-injector/gone, which does not exist
no path | clientConfig | {service: {name: fabric-injector, namespace: fabric-injector}} | fail webhook-path-wrong ENTRY | calls path None
wrong path | clientConfig | {url: "https://injector.example.com:9443"} | fail webhook-path-wrong ENTRY | calls path /
a URL | clientConfig | {url: "https://injector.example.com/mutate"} | warn webhook-by-url ENTRY | calls https://injector.example.com/mutate, not a Service: whoever answers there sees
"""),
)
def test_tells_what_differs(shipped: Object, field: str, value: str, head: str, words: str) -> None:
    shipped["webhooks"][0][field] = yaml.safe_load(value)
    [first, *_] = check_configuration(shipped, "fabric-injector", ["fabric-injector"])
    head = head.replace("ENTRY", ENTRY).replace("SUBJECT", SUBJECT)
    expect([first], f"{head} | {words}")


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
    cases("""
one of two | {key: a, operator: In, values: ["1", "2"]} | {a: "1"} | true
none of two | {key: a, operator: In, values: ["1", "2"]} | {a: "3"} | false
in, without | {key: a, operator: In, values: ["1"]} | {} | false
not in, without | {key: a, operator: NotIn, values: ["1"]} | {} | true
not in | {key: a, operator: NotIn, values: ["1"]} | {a: "1"} | false
exists | {key: a, operator: Exists} | {a: ""} | true
exists, without | {key: a, operator: Exists} | {b: ""} | false
does not exist | {key: a, operator: DoesNotExist} | {b: ""} | true
does not exist, with | {key: a, operator: DoesNotExist} | {a: ""} | false
unknown | {key: a, operator: Gt} | {a: ""} | false
"""),
)
def test_selects_as_the_api_server(expression: str, labels: str, expected: str) -> None:
    selector = {"matchExpressions": [yaml.safe_load(expression)]}
    assert selects(selector, yaml.safe_load(labels)) is yaml.safe_load(expected)


@pytest.mark.parametrize(
    "everything", [None, {}, {"matchLabels": {}}, {"matchLabels": {"a": "1"}}], ids=str
)
def test_an_empty_selector_selects_all(everything: Object | None) -> None:
    assert selects(everything, {"a": "1", "b": "2"})
