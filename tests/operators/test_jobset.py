"""JobSets of the JobSet controller, with its webhooks."""

from tests.cluster.node.pods import Report
from tests.cluster.operators import programs
from tests.cluster.operators.cluster import Cluster
from tests.cluster.operators.expectations import (
    assert_decided_as_predicted,
    assert_met_on_the_fabric,
)
from tests.cluster.operators.figures import Figures
from tests.node.conftest import NamespaceFactory
from webhook.core import names
from webhook.core.model import Object

ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
COMMAND = (
    "torchrun --nnodes=2 --nproc-per-node=1 --node-rank=$JOB_COMPLETION_INDEX"
    " --master-addr=$MASTER_ADDR --master-port=29500 train.py"
)


def test_a_jobset_meets_and_after_a_restart_meets_at_the_new_address(
    cluster: Cluster, namespace: NamespaceFactory, figures: Figures
) -> None:
    """All Jobs are made anew, while pods of the attempt before may still end: none of them gives its address to the new one."""
    cluster.install(programs.JOBSET)
    name = namespace("rdma-shared")
    manifest = jobset(cluster.torch())
    cluster.submit(manifest, name)
    first = cluster.reports(name, 2)
    figures.append(f"JobSet: {assert_met_on_the_fabric(first)}")
    assert_decided_as_predicted(cluster, manifest, [report.pod for report in first])
    before = first[0].pod.fabric_address()
    cluster.kill(first[1].pod)
    second = cluster.reports(name, 2, lambda report: _attempt(report) == "1")
    figures.append(
        f"JobSet, attempt 1 (attempt 0 met at {before}): {assert_met_on_the_fabric(second)}"
    )
    assert {report.pod.get()["metadata"]["labels"][names.JOB] for report in second}.isdisjoint(
        report.pod.created["metadata"]["labels"][names.JOB] for report in first
    )
    for report in second:
        assert before not in report.environment.values()


def _attempt(report: Report) -> str:
    return str(report.pod.created["metadata"]["labels"][ATTEMPT])


def jobset(image: str) -> Object:
    """Give a JobSet of two ranks that holds on until it is killed, and may be restarted once."""
    container = {
        "name": "trainer",
        "image": image,
        "command": ["bash", "-c", COMMAND],
        "env": [
            {"name": "MASTER_ADDR", "value": "ddp-workers-0-0.ddp"},
            {"name": "HOLD_SECONDS", "value": "600"},
        ],
    }
    pod = {"restartPolicy": "Never", "containers": [container]}
    job = {"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": {"spec": pod}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "ddp"},
        "spec": {
            "failurePolicy": {"maxRestarts": 1},
            "replicatedJobs": [{"name": "workers", "replicas": 1, "template": {"spec": job}}],
        },
    }
