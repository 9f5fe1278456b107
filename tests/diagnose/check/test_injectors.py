"""What ``check`` says of other webhooks that change pods."""

from typing import Any

import pytest

from tests.diagnose.check.findings import brief, expect
from tests.tables import cases
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
    ("name", "service", "webhook", "head", "words"),
    cases("""
network-resources-injector | network-resources-injector-config | x/y | w | warn injector-collides | is network-resources-injector (
the same, renamed | renamed | openshift-sriov-network-operator/network-resources-injector-service | w | warn injector-collides | is network-resources-injector (
Spiderpool | spiderpool-controller | x/y | pods.spiderpool.spidernet.io | warn injector-collides | is Spiderpool: it adds networks and RDMA devices
eRDMA | alibabacloud-erdma-controller | x/y | w | warn injector-collides | is Alibaba Cloud's eRDMA controller
KubeMacPool | kubemacpool-mutator | x/y | w | warn injector-collides | is KubeMacPool
a copy | a-copy | other/fabric-injector | w | fail installed-twice | calls fabric-injector too: every pod is sent twice
"""),
)
def test_judges(name: str, service: str, webhook: str, head: str, words: str) -> None:
    other = configuration(name, service=service, webhook=webhook)
    [first, *_] = check_injectors([OURS, other], OWN)
    expect([first], f"{head} MutatingWebhookConfiguration {name} | {words}")


def test_knows_who_must_come_first() -> None:
    found = check_injectors([configuration("lws-mutating-webhook-configuration")], "a-fabric")
    [first, *_] = found
    expect(
        [first],
        "warn injector-called-later MutatingWebhookConfiguration lws-mutating-webhook-configuration"
        " | is called after a-fabric, which reads what it writes on pods",
    )


def test_counts_the_harmless() -> None:
    harmless = [configuration(name) for name in ("istio-sidecar-injector", "lws-mutating")]
    expect(
        check_injectors([OURS, *harmless], OWN),
        "ok injectors-harmless 2 other configurations | istio-sidecar-injector, lws-mutating change "
        "pods too; no collision is known",
    )


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
