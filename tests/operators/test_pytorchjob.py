"""PyTorchJobs of the training operator, with its webhook and its init container."""

from tests.cluster.node.pods import Report
from tests.cluster.operators import programs
from tests.cluster.operators.cluster import Cluster
from tests.cluster.operators.expectations import (
    assert_decided_as_predicted,
    assert_met_on_the_fabric,
)
from tests.cluster.operators.figures import Figures
from tests.node.conftest import NamespaceFactory
from webhook.core.model import Object


def test_a_job_comes_back_at_the_new_address_of_its_master(
    cluster: Cluster, namespace: NamespaceFactory, figures: Figures
) -> None:
    """The operator makes the master anew under its name; the worker's container starts again and reads the new address."""
    cluster.install(programs.TRAINING_OPERATOR)
    name = namespace("rdma-shared")
    manifest = pytorchjob(cluster.torch(), Master=1, Worker=1)
    cluster.submit(manifest, name)
    first = cluster.reports(name, 2)
    figures.append(f"PyTorchJob: {assert_met_on_the_fabric(first)}")
    assert_decided_as_predicted(cluster, manifest, [report.pod for report in first])
    before = first[0].pod.fabric_address()
    first[0].pod.delete()

    def is_after(report: Report) -> bool:
        return bool(report.train["environment"]["MASTER_ADDR"] != before)

    second = cluster.reports(name, 2, is_after)
    figures.append(
        f"PyTorchJob, master made anew (was {before}): {assert_met_on_the_fabric(second)}"
    )
    assert second[0].pod.uid != first[0].pod.uid
    assert second[1].pod.uid == first[1].pod.uid


def test_an_elastic_job_meets_on_the_fabric(
    cluster: Cluster, namespace: NamespaceFactory, figures: Figures
) -> None:
    """The c10d rendezvous of elasticPolicy: worker 0 hosts the store."""
    cluster.install(programs.TRAINING_OPERATOR)
    name = namespace("rdma-shared")
    manifest = pytorchjob(cluster.torch(), Worker=2)
    manifest["spec"]["elasticPolicy"] = {"rdzvBackend": "c10d", "minReplicas": 2, "maxReplicas": 2}
    cluster.submit(manifest, name)
    reports = cluster.reports(name, 2)
    figures.append(f"PyTorchJob, elastic: {assert_met_on_the_fabric(reports)}")
    assert_decided_as_predicted(cluster, manifest, [report.pod for report in reports])


def pytorchjob(image: str, **replicas: int) -> Object:
    """Give a PyTorchJob that holds on until it is killed, with so many replicas of each type."""
    container = {
        "name": "pytorch",
        "image": image,
        "command": ["torchrun", "train.py"],
        "env": [{"name": "HOLD_SECONDS", "value": "600"}],
    }
    one = {"restartPolicy": "OnFailure", "template": {"spec": {"containers": [container]}}}
    specs = {kind: {**one, "replicas": count} for kind, count in replicas.items()}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "bert"},
        "spec": {"nprocPerNode": "1", "pytorchReplicaSpecs": specs},
    }
