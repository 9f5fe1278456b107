"""What ``check`` says of other webhooks that change pods."""

from typing import Any

import pytest

from tests.diagnose.check.findings import brief
from webhook.diagnose.check.injectors import check_injectors

OWN = "zz-fabric-injector"
PODS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}


def configuration(
    name: str, *rules: dict[str, Any], service: str = "x/y", webhook: str = "w.example.com"
) -> dict[str, Any]:
    namespace, _, short = service.partition("/")
    client = {"service": {"namespace": namespace, "name": short}}
    entry = {"name": webhook, "rules": list(rules) or [PODS], "clientConfig": client}
    return {"metadata": {"name": name}, "webhooks": [entry]}


OURS = configuration(
    OWN, service="fabric-injector/fabric-injector", webhook="pods.fabric-injector.io"
)
NONE = "ok other webhooks: no other changes pods without a collision being told above"


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (
            configuration("network-resources-injector-config"),
            "warn MutatingWebhookConfiguration network-resources-injector-config: is network-resources-injector (",
        ),
        (
            configuration(
                "renamed",
                service="openshift-sriov-network-operator/network-resources-injector-service",
            ),
            "warn MutatingWebhookConfiguration renamed: is network-resources-injector (",
        ),
        (
            configuration("spiderpool-controller", webhook="pods.spiderpool.spidernet.io"),
            "warn MutatingWebhookConfiguration spiderpool-controller: is Spiderpool: it adds networks and RDMA devices",
        ),
        (
            configuration("alibabacloud-erdma-controller"),
            "warn MutatingWebhookConfiguration alibabacloud-erdma-controller: is Alibaba Cloud's eRDMA controller",
        ),
        (
            configuration("kubemacpool-mutator"),
            "warn MutatingWebhookConfiguration kubemacpool-mutator: is KubeMacPool",
        ),
        (
            configuration("a-copy", service="other/fabric-injector"),
            "fail MutatingWebhookConfiguration a-copy: calls fabric-injector too: every pod is sent twice",
        ),
        (
            configuration("lws-mutating-webhook-configuration"),
            "ok 1 other configuration: lws-mutating-webhook-configuration changes pods too; no collision is known",
        ),
    ],
)
def test_judges(other: dict[str, Any], expected: str) -> None:
    assert brief(check_injectors([OURS, other], OWN))[0].startswith(expected)


def test_knows_who_must_come_first() -> None:
    lines = brief(
        check_injectors([configuration("lws-mutating-webhook-configuration")], "a-fabric-injector")
    )
    assert lines[0] == (
        "warn MutatingWebhookConfiguration lws-mutating-webhook-configuration: is called after a-fabric-injector, which reads what "
        "it writes on pods"
    )


def test_counts_the_harmless() -> None:
    harmless = [
        configuration(name)
        for name in ("istio-sidecar-injector", "kueue-mutating-webhook-configuration")
    ]
    assert brief(check_injectors([OURS, *harmless], OWN)) == [
        "ok 2 other configurations: istio-sidecar-injector, kueue-mutating-webhook-configuration change pods too; no collision is "
        "known"
    ]


@pytest.mark.parametrize(
    "rule",
    [
        {**PODS, "resources": ["deployments"], "apiGroups": ["apps"]},
        {**PODS, "operations": ["UPDATE"]},
        {**PODS, "resources": ["pods/status"]},
        {**PODS, "scope": "Cluster"},
    ],
    ids=["deployments", "update", "status", "cluster"],
)
def test_passes_over_those_that_change_no_new_pod(rule: dict[str, Any]) -> None:
    assert brief(
        check_injectors([OURS, configuration("network-resources-injector-config", rule)], OWN)
    ) == [NONE]


def test_counts_a_rule_for_everything() -> None:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}
    assert (
        "no collision is known"
        in brief(check_injectors([configuration("policy-engine", rule)], OWN))[0]
    )
