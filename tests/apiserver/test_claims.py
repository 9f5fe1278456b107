"""Addresses of claims behind a real API server.

The test writes the claims' status in the place of scheduler and driver.
"""

from typing import Any

import pytest

from tests import pods
from tests.cluster.client import Client
from tests.cluster.controller import Controller
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.jobs import Job, Told, as_sent
from tests.cluster.webhook import Webhook
from webhook.core import names

CLAIMS = "/apis/resource.k8s.io/v1"


@pytest.fixture
def job(api: Client, namespace: NamespaceFactory, webhook: Webhook, controller: Controller) -> Job:
    """A PyTorchJob of two pods that ask for the template's claim."""
    job = Job(api, namespace("claim"), "bert-master")
    for number in range(2):
        pod = as_sent(pods.load(f"pods/kubeflow-pytorchjob-{number}.yaml"))
        pod["spec"]["resourceClaims"] = [{"name": "rails", "resourceClaimTemplateName": "rails"}]
        created = api.expect("POST", f"/api/v1/namespaces/{job.namespace}/pods", pod)["metadata"]
        assert created["annotations"][names.ADDRESS_SOURCE] == "claim"
        assert created["annotations"][names.RENDEZVOUS_NETWORK] == "rails@net1/any"
        job.key = created["labels"][names.JOB]
    return job


def make_claim(job: Job, pod: str) -> str:
    """Make the pod's claim as the controller manager does; return its path."""
    requests = [{"name": "nic", "exactly": {"deviceClassName": "nic"}}]
    manifest = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "generateName": f"{pod}-rails-",
            "annotations": {"resource.kubernetes.io/pod-claim-name": "rails"},
        },
        "spec": {"devices": {"requests": requests}},
    }
    path = f"{CLAIMS}/namespaces/{job.namespace}/resourceclaims"
    return f"{path}/{job.api.expect('POST', path, manifest)['metadata']['name']}"


def allocate(job: Job, claim: str, pod: str, *addresses: str, device: str = "card-0") -> None:
    """Write what the scheduler, and with *addresses* the driver, write."""
    uid = job.api.expect("GET", f"/api/v1/namespaces/{job.namespace}/pods/{pod}")["metadata"]["uid"]
    card = {"driver": "dra.net", "pool": "node-1", "device": device}
    network: dict[str, Any] = {
        "interfaceName": "net1",
        "ips": list(addresses),
        "hardwareAddress": "02:00:00:00:00:01",
    }
    status = {
        "allocation": {"devices": {"results": [{**card, "request": "nic"}]}},
        "reservedFor": [{"resource": "pods", "name": pod, "uid": uid}],
        "devices": [{**card, "networkData": network}] if addresses else None,
    }
    job.api.expect("PATCH", f"{claim}/status", {"status": status})


def test_a_job_meets_at_the_address_that_its_claims_tell(job: Job) -> None:
    master, worker = make_claim(job, job.master), make_claim(job, "bert-worker-0")
    allocate(job, worker, "bert-worker-0", "10.1.0.2/16")
    allocate(job, master, job.master)
    allocate(job, master, job.master, "10.1.0.1/16")
    job.wait_until_told("10.1.0.1")
    assert job.told() == {
        "bert-master-0": Told("10.1.0.1", "10.1.0.1", "10.1.0.1"),
        "bert-worker-0": Told("10.1.0.1", "10.1.0.1", None),
    }
    job.api.expect(
        "PATCH",
        f"{master}/status",
        {"status": {"allocation": None, "reservedFor": None, "devices": None}},
    )
    allocate(job, master, job.master, "10.1.0.7/16", device="card-1")
    job.wait_until_told("10.1.0.7")


def test_who_may_edit_a_namespace_may_not_write_what_is_trusted_of_a_claim(
    api: Client, job: Job
) -> None:
    """Kubernetes' own roles: a claim's status is the scheduler's and the drivers'."""
    for role in ("view", "edit", "admin"):
        rules = (
            api.expect("GET", f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}").get(
                "rules"
            )
            or []
        )
        status = [rule for rule in rules if "resourceclaims/status" in rule.get("resources", ())]
        assert all(set(rule["verbs"]) <= {"get", "list", "watch"} for rule in status), role
