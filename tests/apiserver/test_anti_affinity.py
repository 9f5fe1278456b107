"""The policy about anti-affinity: no pod of others keeps the injector's own from nodes."""

from typing import Any

import pytest

from tests.cluster import objects
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.tables import read
from tests.waiting import wait_until

KEPT = "spec.affinity.podAntiAffinity: a required term whose labelSelector matches the pods of fabric-injector"
NAME = "app.kubernetes.io/name"
OURS = {"matchLabels": {NAME: "fabric-injector"}}
HOSTNAME = "kubernetes.io/hostname"
TERMS = read(__file__, "manifests/anti_affinity.yaml")


def pod(*terms: dict[str, Any], labels: dict[str, str] | None = None) -> dict[str, Any]:
    """Give a pod that will have none of these on its nodes."""
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [*terms]}}
    return objects.pod(labels=labels, affinity=affinity)


def term(
    selector: dict[str, Any] | None = OURS, topology: str = "kubernetes.io/os", **more: Any
) -> dict[str, Any]:
    """Give a term, of all namespaces unless *more* says which."""
    chosen = {} if selector is None else {"labelSelector": selector}
    return {"topologyKey": topology, **chosen, **(more or {"namespaceSelector": {}})}


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


def test_what_would_keep_our_pods_away_is_refused_and_other_terms_are_not(
    installed: ControlPlane, tenant: str
) -> None:
    for one in TERMS["refused"]:
        for terms in ([one], [term({"matchLabels": {"app": "a"}}), one]):
            labelled = pod(*terms, labels={NAME: "fabric-injector"})
            answer = installed.api.create(labelled, tenant, dry_run=True)
            assert answer.status == 403, one
            assert KEPT in answer.message
    for one in TERMS["taken"]:
        answer = installed.api.create(pod(one), tenant, dry_run=True)
        assert answer.status == 201, (one, answer.message)


def test_a_term_of_the_pods_own_namespace_reaches_no_other(
    installed: ControlPlane, tenant: str
) -> None:
    own = {"topologyKey": HOSTNAME, "labelSelector": {}}
    for one in (term(namespaces=[tenant]), term({}, topology=HOSTNAME, namespaces=[tenant]), own):
        assert installed.api.create(pod(one), tenant, dry_run=True).status == 201


def test_our_own_namespace_may(installed: ControlPlane, tenant: str) -> None:
    installed.api.ensure(objects.account(), "fabric-injector")
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
