"""An indexed Job of kube-controller-manager."""

from tests.cluster.operators.cluster import Cluster
from tests.cluster.operators.expectations import assert_met_on_the_fabric
from tests.cluster.operators.figures import Figures
from tests.node.conftest import NamespaceFactory
from webhook.core.model import Object

COMMAND = (
    "torchrun --nnodes=3 --nproc-per-node=1 --node-rank=$JOB_COMPLETION_INDEX"
    " --master-addr=$MASTER_ADDR --master-port=29500 train.py"
)


def test_an_indexed_job_meets_on_the_fabric(
    cluster: Cluster, namespace: NamespaceFactory, figures: Figures
) -> None:
    name = namespace("rdma-shared")
    cluster.submit(indexed_job(cluster.torch()), name)
    figures.append(f"indexed Job: {assert_met_on_the_fabric(cluster.reports(name, 3))}")


def indexed_job(image: str, size: int = 3) -> Object:
    """Give a Job of three ranks, which find each other by rank 0's name."""
    container = {
        "name": "trainer",
        "image": image,
        "command": ["bash", "-c", COMMAND],
        "env": [{"name": "MASTER_ADDR", "value": "ddp-0.ddp"}],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "ddp"},
        "spec": {
            "completions": size,
            "parallelism": size,
            "completionMode": "Indexed",
            "template": {
                "spec": {"subdomain": "ddp", "restartPolicy": "Never", "containers": [container]}
            },
        },
    }
