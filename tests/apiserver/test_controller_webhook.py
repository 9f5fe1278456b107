"""Webhook and controller together, behind a real API server: a whole job, late workers, and pods that lie about themselves."""

from typing import Any

import pytest

from tests import pods
from tests.cluster.client import Client
from tests.cluster.controller import Controller
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.jobs import NETWORK, Job, Told, as_sent
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


def saved(job: Job, name: str) -> dict[str, Any]:
    """Give the manifest of a live pod, as ``kubectl get -o yaml`` saves it."""
    found: dict[str, Any] = job.api.expect("GET", f"/api/v1/namespaces/{job.namespace}/pods/{name}")
    return found


def test_a_job_meets_on_the_secondary_network(job: Job, controller: Controller) -> None:
    job.attach("bert-worker-0", "10.1.0.2")
    job.attach(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1")
    assert job.told() == {
        "bert-master-0": Told("10.1.0.1", "10.1.0.1", "10.1.0.1"),
        "bert-worker-0": Told("10.1.0.1", "10.1.0.1", None),
    }


def test_a_job_of_gke_meets_at_the_address_that_pod_ips_tells(
    api: Client, namespace: NamespaceFactory, webhook: Webhook, controller: Controller
) -> None:
    job = Job(api, namespace("gke"), "bert-master")
    stale = {names.GKE_POD_IPS: '[{"networkName":"rdma-0","ip":"10.66.6.6"}]'}
    master = create(job, pods.load(MASTER), annotations=stale)["metadata"]
    job.key = master["labels"][names.JOB]
    assert master["annotations"][names.ADDRESS_SOURCE] == "gke"
    assert names.GKE_POD_IPS not in master["annotations"], (
        "of the live pod whose manifest was saved"
    )
    assert create(job, pods.load(WORKER))["metadata"]["labels"][names.JOB] == job.key
    job.attach(job.master, "10.9.9.9")  # which counts for nothing here
    job.attach_on_gke("bert-worker-0", "10.1.0.2")
    job.attach_on_gke(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1")
    assert job.told() == {
        "bert-master-0": Told("10.1.0.1", "10.1.0.1", "10.1.0.1"),
        "bert-worker-0": Told("10.1.0.1", "10.1.0.1", None),
    }


def test_a_late_worker_is_told_by_the_controller(job: Job) -> None:
    job.attach(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1")
    late = create(job, pods.load(WORKER), name="bert-worker-9")
    assert names.MASTER_HOST not in late["metadata"]["annotations"]
    job.wait_until_told("10.1.0.1", ["bert-worker-9"])
    job.attach(job.master, "10.1.0.5")
    job.wait_until_told("10.1.0.5", ["bert-worker-9"])


FORGED = {
    names.MASTER_ADDR: "10.66.6.6",
    names.MASTER_HOST: "10.66.6.6",
    names.LOCAL_ADDR: "10.66.6.6",
    names.RENDEZVOUS_NETWORK: f"{NETWORK}@net1/any",
    names.NETWORK_STATUS: f'[{{"name": "{NETWORK}", "interface": "net1", "ips": ["10.66.6.6"]}}]',
    names.NETWORKS_STATUS: f'[{{"name": "{NETWORK}", "interface": "net1", "ips": ["10.66.6.6"]}}]',
}


@pytest.mark.parametrize("labelled", [True, False])
def test_labels_and_annotations_forged_in_another_namespace_redirect_nobody(
    job: Job, namespace: NamespaceFactory, labelled: bool
) -> None:
    job.attach(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1")
    evil = Job(job.api, namespace("shared" if labelled else None), "bert-master")
    evil.key = job.key
    labels = {names.JOB: job.key, names.RENDEZVOUS: "master"}
    kept = create(evil, pods.plain(labels), name="evil-0", annotations=FORGED)["metadata"]
    if labelled:
        assert names.JOB not in kept.get("labels", {})
        assert not kept.get("annotations", {}).keys() & FORGED.keys()
    serve_another(job, namespace)
    create(job, pods.load(WORKER), name="bert-worker-1")
    job.wait_until_told("10.1.0.1")
    assert {told.master for told in job.told().values()} == {"10.1.0.1"}


def test_forged_annotations_of_a_training_pod_in_its_own_namespace_are_taken_off(job: Job) -> None:
    kept = create(job, pods.load(WORKER), name="bert-worker-1", annotations=FORGED)["metadata"][
        "annotations"
    ]
    assert {key for key in FORGED if kept.get(key)} == {names.RENDEZVOUS_NETWORK}
    create(job, pods.load(MASTER), name="bert-master-1", annotations=FORGED)
    job.attach(job.master, "10.1.0.1")
    job.delete("bert-master-1")
    job.wait_until_told("10.1.0.1")


def test_the_saved_manifest_of_a_live_pod_redirects_nobody(
    job: Job, namespace: NamespaceFactory
) -> None:
    job.attach(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1")
    manifest = saved(job, job.master)
    assert manifest["metadata"]["annotations"][names.MASTER_ADDR] == "10.1.0.1"
    elsewhere = Job(job.api, namespace("shared"), "bert-master")
    moved = create(elsewhere, manifest)["metadata"]
    elsewhere.key = moved["labels"][names.JOB]
    assert {key for key in FORGED if moved["annotations"].get(key)} == {names.RENDEZVOUS_NETWORK}
    job.delete(job.master)
    again = create(job, manifest)["metadata"]
    assert again["labels"][names.JOB] == job.key
    assert {key for key in FORGED if again["annotations"].get(key)} == {names.RENDEZVOUS_NETWORK}
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
    other.label_namespace()
    other.attach(other.master, "10.9.9.9")
    other.wait_until_told("10.9.9.9")
