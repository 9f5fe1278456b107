"""Webhook and controller together, behind a real API server: a whole job, and the manifest that is saved of it."""

from typing import Any

import pytest

from tests import pods
from tests.cluster.client import Client
from tests.cluster.controller import Controller
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.jobs import LABELLED, Job, Told, as_sent
from tests.cluster.webhook import Webhook
from webhook.core import names

MASTER = "pods/kubeflow-pytorchjob-0.yaml"
WORKER = "pods/kubeflow-pytorchjob-1.yaml"


@pytest.fixture
def job(api: Client, namespace: NamespaceFactory, webhook: Webhook, controller: Controller) -> Job:
    """A PyTorchJob of two pods in a labelled namespace, as its operator creates them."""
    job = Job(api, namespace("shared"), "bert-master")
    job.key = create(job, pods.load(MASTER))["metadata"]["labels"][names.JOB]
    assert create(job, pods.load(WORKER))["metadata"]["labels"][names.JOB] == job.key
    return job


def create(job: Job, pod: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """Create a pod in the job's namespace; give what the API server answers, before any controller has seen it."""
    sent = as_sent(pod, **metadata)
    created: dict[str, Any] = job.api.expect(
        "POST", f"/api/v1/namespaces/{job.namespace}/pods", sent
    )
    return created


TOLD = (names.MASTER_ADDR, names.MASTER_HOST, names.LOCAL_ADDR, names.NETWORK_STATUS)


def test_a_job_meets_and_the_saved_manifest_of_a_live_pod_redirects_nobody(
    job: Job, namespace: NamespaceFactory
) -> None:
    job.attach("bert-worker-0", "10.1.0.2")
    job.attach(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1")
    assert job.told() == {
        "bert-master-0": Told("10.1.0.1", "10.1.0.1", "10.1.0.1"),
        "bert-worker-0": Told("10.1.0.1", "10.1.0.1", None),
    }
    path = f"/api/v1/namespaces/{job.namespace}/pods/{job.master}"
    manifest = job.api.expect("GET", path)
    assert manifest["metadata"]["annotations"][names.MASTER_ADDR] == "10.1.0.1"
    elsewhere = Job(job.api, namespace("shared"), "bert-master")
    moved = create(elsewhere, manifest)["metadata"]
    elsewhere.key = moved["labels"][names.JOB]
    assert not any(moved["annotations"].get(key) for key in TOLD)
    job.delete(job.master)
    again = create(job, manifest)["metadata"]
    assert again["labels"][names.JOB] == job.key
    assert not any(again["annotations"].get(key) for key in TOLD)
    late = create(job, pods.load(WORKER), name="bert-worker-1")
    serve_another(job, namespace)
    assert names.MASTER_ADDR not in late["metadata"]["annotations"]
    assert job.told()["bert-worker-1"] == Told(None, None, None), "its rank 0 has no address yet"
    assert elsewhere.told()[job.master] == Told(None, None, None)
    job.attach(job.master, "10.1.0.2")
    job.wait_until_told("10.1.0.2")
    assert elsewhere.told()[job.master] == Told(None, None, None)


def serve_another(job: Job, namespace: NamespaceFactory) -> None:
    """Let the controller serve a job of another namespace: by then it has seen all that happened before."""
    other = Job(job.api, namespace())
    other.create(1)
    labelled = {"metadata": {"labels": LABELLED}}
    job.api.expect("PATCH", f"/api/v1/namespaces/{other.namespace}", labelled)
    other.attach(other.master, "10.9.9.9")
    other.wait_until_told("10.9.9.9")
