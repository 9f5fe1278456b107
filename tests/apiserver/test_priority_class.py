"""The injector's priority class: its own pods have it, and nobody else's, whoever creates them."""

from typing import Any

import pytest

from tests.cluster import objects
from tests.cluster.client import Client, Response
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.installation import shipped
from tests.cluster.objects import account, made
from tests.waiting import wait_until

OURS = "fabric-injector"
POLICY = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
KEPT = "spec.priorityClassName: fabric-injector is kept for the injector's own pods"
RESOURCES = "pods,pods/status,pods/ephemeralcontainers,events,replicasets.apps"


def pod(name: str | None = OURS, **spec: Any) -> dict[str, Any]:
    """Give a pod of this priority class, as PodSecurity wants it."""
    secure = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    security = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    spec |= {"securityContext": security}
    spec |= {} if name is None else {"priorityClassName": name}
    return objects.pod(container={"securityContext": secure}, **spec)


@pytest.fixture(scope="module")
def kept(installed: ControlPlane, namespace: NamespaceFactory) -> ControlPlane:
    """Install class and policy, and wait until the policy counts."""
    where = namespace()
    for path in ("ybindings/fabric-injector-priority", "ies/fabric-injector-priority"):
        installed.api.request("DELETE", POLICY + path)  # which another module may have installed
    for each in shipped("PriorityClass"):
        installed.api.ensure(each)
    wait_until(
        lambda: installed.api.create(pod(), where, dry_run=True).status == 201, "the class to count"
    )
    before = installed.api.create(pod(), where)  # of a release without the policy
    assert before.status == 201
    installed.ensure_shipped("priority-class")
    may = ("clusterrole", "pods-of-tenants", "--verb=*", f"--resource={RESOURCES}")
    installed.kubectl("create", *may)
    wait_until(
        lambda: refused(installed.api.create(pod(), where, dry_run=True)), "the policy to count"
    )
    return installed


def refused(answer: Response) -> bool:
    return (
        answer.status == 403
        and KEPT in answer.message
        and "name another class, or none" in answer.message
    )


@pytest.fixture
def tenant(kept: ControlPlane, namespace: NamespaceFactory) -> tuple[Client, str]:
    """Give a client that may do all with the pods of its own namespace, and that namespace."""
    where = namespace()
    client = kept.client(kept.allow(where, "pods-of-tenants"))
    wait_until(
        lambda: client.create(pod(None), where, dry_run=True).status == 201, "the role to count"
    )
    return client, where


def test_a_tenants_pod_may_not_name_it(tenant: tuple[Client, str]) -> None:
    client, where = tenant
    as_ours = objects.pod("x", {"app.kubernetes.io/name": OURS}) | {"spec": pod()["spec"]}
    gated = pod(schedulingGates=[{"name": "example.com/later"}])
    for one in (pod(), gated, as_ours, pod(serviceAccountName="default", nodeName="n")):
        assert refused(client.create(one, where)), one


def test_no_update_brings_it(tenant: tuple[Client, str]) -> None:
    """Not even of a pod that waits at a gate, of which more may be changed."""
    client, where = tenant
    created = client.create(pod(None, schedulingGates=[{"name": "example.com/later"}]), where)
    path = f"/api/v1/namespaces/{where}/pods/{created.json['metadata']['name']}"
    for sub in ("", "/ephemeralcontainers", "/status"):
        client.request(
            "PATCH", path + sub, {"spec": {"priorityClassName": OURS, "priority": 1_000_000_000}}
        )
        assert "priorityClassName" not in client.expect("GET", path)["spec"]


def test_an_administrators_pod_may_not_name_it_elsewhere(
    kept: ControlPlane, namespace: NamespaceFactory
) -> None:
    assert refused(kept.api.create(pod(), namespace()))


def test_pods_that_a_controller_makes_of_a_tenants_template_may_not(
    controller_manager: ControlPlane, tenant: tuple[Client, str]
) -> None:
    """The user who creates them is the controller manager; the owner's Events hold our sentence."""
    client, where = tenant
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
    replicas = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    workload = made("apps/v1 ReplicaSet", "greedy", spec=replicas)
    assert client.create(workload, where).status == 201
    events = f"/api/v1/namespaces/{where}/events?fieldSelector=reason=FailedCreate"
    wait_until(
        lambda: any(KEPT in each["message"] for each in client.expect("GET", events)["items"]),
        "the Event to tell",
    )
    assert client.expect("GET", f"/api/v1/namespaces/{where}/pods")["items"] == []


def test_our_own_pods_have_it(kept: ControlPlane) -> None:
    kept.api.ensure(account(), OURS)
    for deployment in shipped("Deployment"):
        own = pod() | {"spec": deployment["spec"]["template"]["spec"]}
        created = kept.api.create(own, OURS, dry_run=True)
        assert created.status == 201, created.message
        assert created.json["spec"]["priority"] == 1_000_000_000


@pytest.mark.parametrize("name", [None, "system-cluster-critical", "fabric-injector-2"])
def test_pods_that_name_another_are_none_of_its_business(
    kept: ControlPlane, name: str | None
) -> None:
    """In system namespaces, where all that a cluster needs runs, and in any other."""
    klass = made("scheduling.k8s.io/v1 PriorityClass", "fabric-injector-2")
    kept.api.ensure({**klass, "value": 1})
    for where in ("kube-system", "default"):
        kept.api.ensure(account(), where)
        answer = kept.api.create(pod(name), where, dry_run=True)
        assert answer.status == 201, answer.message


def test_a_pod_from_before_the_policy_can_still_be_changed_and_deleted(kept: ControlPlane) -> None:
    """Its labels and finalizers, or it could never end."""
    [found] = [
        each
        for each in kept.api.expect("GET", "/api/v1/pods")["items"]
        if each["spec"].get("priorityClassName") == OURS and each["metadata"]["namespace"] != OURS
    ]
    path = f"/api/v1/namespaces/{found['metadata']['namespace']}/pods/{found['metadata']['name']}"
    change = {"metadata": {"labels": {"a": "b"}, "finalizers": ["example.com/x"]}}
    assert kept.api.request("PATCH", path, change).status == 200
    assert kept.api.request("PATCH", path, {"metadata": {"finalizers": None}}).status == 200
    assert kept.api.request("DELETE", f"{path}?gracePeriodSeconds=0").status == 200
