"""LeaderWorkerSets of the LWS controller, with its webhooks, which order the pods' variables."""

from tests.cluster.operators import programs
from tests.cluster.operators.cluster import Cluster
from tests.cluster.operators.expectations import (
    assert_decided_as_predicted,
    assert_met_on_the_fabric,
)
from tests.cluster.operators.figures import Figures
from tests.node.conftest import NamespaceFactory
from webhook.core.model import Object

COMMAND = (
    "torchrun --nnodes=$LWS_GROUP_SIZE --nproc-per-node=1 --node-rank=$LWS_WORKER_INDEX"
    " --master-addr=$LWS_LEADER_ADDRESS --master-port=29500 train.py"
)


def test_each_group_meets_at_its_own_leader(
    cluster: Cluster, namespace: NamespaceFactory, figures: Figures
) -> None:
    cluster.install(programs.LWS)
    name = namespace("rdma-shared")
    manifest = leader_worker_set(cluster.torch())
    cluster.submit(manifest, name)
    reports = cluster.reports(name, 4)
    groups = {
        index: [report for report in reports if report.pod.name.split("-")[1] == index]
        for index in ("0", "1")
    }
    for index, group in groups.items():
        figures.append(f"LeaderWorkerSet, group {index}: {assert_met_on_the_fabric(group)}")
        assert_decided_as_predicted(cluster, manifest, [report.pod for report in group])
    assert groups["0"][0].pod.fabric_address() != groups["1"][0].pod.fabric_address()


def leader_worker_set(image: str) -> Object:
    """Give two groups of two."""
    env = [{"name": "HOLD_SECONDS", "value": "600"}]
    container = {"name": "trainer", "image": image, "command": ["bash", "-c", COMMAND], "env": env}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "mnmt"},
        "spec": {
            "replicas": 2,
            "leaderWorkerTemplate": {
                "size": 2,
                "workerTemplate": {"spec": {"containers": [container]}},
            },
        },
    }
