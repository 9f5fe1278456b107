"""The policy about anti-affinity: no pod of others keeps the injector's own from nodes."""

from typing import Any

import pytest

from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.objects import account
from tests.waiting import wait_until

KEPT = "spec.affinity.podAntiAffinity: a required term whose labelSelector matches the pods of fabric-injector"
NAME, COMPONENT, HASH = "app.kubernetes.io/name", "app.kubernetes.io/component", "pod-template-hash"
OURS = {"matchLabels": {NAME: "fabric-injector"}}
HOSTNAME = "kubernetes.io/hostname"
JOB = "jobset.sigs.k8s.io/job-key"
EXCLUSIVE = {
    "matchExpressions": [
        {"key": JOB, "operator": "Exists"},
        {"key": JOB, "operator": "NotIn", "values": ["x"]},
    ]
}
"""What JobSet's exclusive placement selects: the pods of other jobs."""


def pod(*terms: dict[str, Any], labels: dict[str, str] | None = None) -> dict[str, Any]:
    """Give a pod that will have none of these on its nodes."""
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}
    spec = {"containers": [{"name": "c", "image": "i"}], "affinity": affinity}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "x-", "labels": labels or {}},
        "spec": spec,
    }


def term(
    selector: dict[str, Any] | None = OURS, topology: str = "kubernetes.io/os", **more: Any
) -> dict[str, Any]:
    """Give a term, of all namespaces unless *more* says which."""
    chosen = {} if selector is None else {"labelSelector": selector}
    return {"topologyKey": topology, **chosen, **(more or {"namespaceSelector": {}})}


def where(key: str, operator: str, *values: str) -> dict[str, Any]:
    """Give a labelSelector of one expression."""
    return {
        "matchExpressions": [
            {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
        ]
    }


@pytest.fixture(scope="module")
def tenant(installed: ControlPlane, namespace: NamespaceFactory) -> str:
    """Install the policy, and wait until it counts; give a namespace."""
    space = namespace()
    installed.ensure_shipped("anti-affinity-policy")
    wait_until(
        lambda: installed.api.create(pod(term()), space, dry_run=True).status == 403,
        "the policy to count",
    )
    return space


LABELLED = {"matchLabels": {"app": "trainer"}}
NOT_VISION, EXISTS = where("team", "NotIn", "vision"), where(NAME, "Exists")
REFUSED = [
    term(namespaces=["fabric-injector"]),
    term(namespaces=["other", "fabric-injector"], namespaceSelector={"matchLabels": {"a": "b"}}),
    term(),
    term({}),
    term(topology="topology.kubernetes.io/zone"),
    term({"matchLabels": {NAME: "fabric-injector", COMPONENT: "webhook"}}),
    term({"matchLabels": {COMPONENT: "controller"}}),
    term(where(NAME, "In", "trainer", "fabric-injector")),
    term(EXISTS),
    term(where(NAME, "NotIn", "trainer")),
    term(where(COMPONENT, "In", "webhook")),
    term(where(COMPONENT, "NotIn", "webhook")),
    term(where(HASH, "Exists")),
    term(where("team", "DoesNotExist")),
    term(NOT_VISION),
    term({}, matchLabelKeys=[NAME], namespaceSelector={}),
    term(topology=HOSTNAME),
    term({}, topology=HOSTNAME),
    term(NOT_VISION, topology=HOSTNAME, namespaces=["fabric-injector"]),
]
TAKEN = [
    term(None),
    term(OURS, namespaces=[]),
    term({}, topology=HOSTNAME, namespaces=["team-a", "team-b"]),
    term(LABELLED),
    term({"matchLabels": {NAME: "trainer"}}),
    term({"matchLabels": {COMPONENT: "worker"}}),
    term(where(NAME, "In", "trainer")),
    term(where(NAME, "NotIn", "fabric-injector")),
    term(where(NAME, "DoesNotExist")),
    term(where(COMPONENT, "In", "worker")),
    term(where("team", "Exists")),
    term(LABELLED, topology=HOSTNAME),
    term(where(NAME, "NotIn", "fabric-injector"), topology=HOSTNAME),
    term(LABELLED, matchLabelKeys=[HASH], namespaceSelector={}, topology=HOSTNAME),
    term(EXCLUSIVE),
    term(EXCLUSIVE, topology=HOSTNAME),
]


def test_what_would_keep_our_pods_away_is_refused_and_other_terms_are_not(
    installed: ControlPlane, tenant: str
) -> None:
    for one in REFUSED:
        for terms in ([one], [term({"matchLabels": {"app": "a"}}), one]):
            labelled = pod(*terms, labels={NAME: "fabric-injector"})
            answer = installed.api.create(labelled, tenant, dry_run=True)
            assert answer.status == 403, one
            assert KEPT in answer.message
    for one in TAKEN:
        answer = installed.api.create(pod(one), tenant, dry_run=True)
        assert answer.status == 201, (one, answer.message)


def test_a_term_of_the_pods_own_namespace_reaches_no_other(
    installed: ControlPlane, tenant: str
) -> None:
    own = {"topologyKey": HOSTNAME, "labelSelector": {}}
    for one in (term(namespaces=[tenant]), term({}, topology=HOSTNAME, namespaces=[tenant]), own):
        assert installed.api.create(pod(one), tenant, dry_run=True).status == 201


def test_our_own_namespace_may(installed: ControlPlane, tenant: str) -> None:
    installed.api.ensure(account(), "fabric-injector")
    answer = installed.api.create(pod(term()), "fabric-injector", dry_run=True)
    assert KEPT not in answer.message


def test_a_list_that_is_too_long_to_be_looked_at_does_not_pass(
    installed: ControlPlane, tenant: str
) -> None:
    harmless = [
        term({"matchLabels": {f"app{number}": "a" for number in range(500)}}) for _ in range(60)
    ]
    answer = installed.api.create(pod(*harmless, term()), tenant, dry_run=True)
    assert answer.status in (403, 422), answer.message
