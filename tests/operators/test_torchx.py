"""Jobs that `torchx run` gives to Volcano: its controllers, its scheduler and its admission webhooks."""

import pytest
import yaml

from tests.cluster.node.pods import Report
from tests.cluster.operators import programs
from tests.cluster.operators.cluster import NEWEST, Cluster
from tests.cluster.operators.expectations import (
    assert_decided_as_predicted,
    assert_met_on_the_fabric,
)
from tests.cluster.operators.figures import Figures
from tests.node.conftest import NamespaceFactory
from webhook.core import names
from webhook.core.model import Object

VERSIONS = ("2.0.1", "2.3.1", "2.6.0")
"""What meets at rank 0's secondary address besides the newest."""
HOLD = ("--env", "HOLD_SECONDS=600,PYTHONUNBUFFERED=1")
"""torchrun --tee keeps what it writes in a buffer."""


@pytest.mark.parametrize("version", [NEWEST, *VERSIONS])
def test_a_job_meets_on_the_fabric(
    cluster: Cluster, namespace: NamespaceFactory, figures: Figures, version: str
) -> None:
    cluster.install(programs.VOLCANO)
    name = namespace("rdma-shared")
    arguments = ("-j", "2x1", "--name", "trainer", *_running(cluster.torch(version)), *HOLD)
    cluster.torchx(name, *arguments)
    reports = cluster.reports(name, 2)
    figures.append(f"TorchX: {assert_met_on_the_fabric(reports)}")
    assert reports[0].environment["TORCHX_RANK0_HOST"] == "localhost"
    printed = cluster.torchx(name, *arguments, options=["--dryrun"])
    manifest: Object = yaml.safe_load(printed[printed.index("apiVersion:") :])
    assert_decided_as_predicted(cluster, manifest, [report.pod for report in reports])


@pytest.mark.parametrize("version", ["2.4.1", "2.5.1"])
def test_versions_between_meet_and_train_on_the_fabric(
    cluster: Cluster, namespace: NamespaceFactory, figures: Figures, version: str
) -> None:
    """They show another name as MASTER_ADDR; the job runs."""
    cluster.install(programs.VOLCANO)
    name = namespace("rdma-shared")
    cluster.torchx(name, "-j", "2x1", "--name", "trainer", *_running(cluster.torch(version)), *HOLD)
    reports = cluster.reports(name, 2)
    told = [
        (
            report.train["rank"],
            report.train["environment"]["MASTER_ADDR"],
            report.pod.fabric_address(),
        )
        for report in reports
    ]
    figures.append(f"TorchX, torch {version}: rank, MASTER_ADDR, own address {told}")
    assert {report.train["world"] for report in reports} == {2}
    assert {report.train["sum"] for report in reports} == {3}


def test_a_job_whose_rank_zero_is_lost_meets_again_at_its_new_address(
    cluster: Cluster, namespace: NamespaceFactory, figures: Figures
) -> None:
    """Volcano makes all pods of the job anew."""
    cluster.install(programs.VOLCANO)
    name = namespace("rdma-shared")
    arguments = (
        "-j",
        "2x1",
        "--name",
        "trainer",
        "--max_retries",
        "3",
        *_running(cluster.torch()),
        *HOLD,
    )
    cluster.torchx(name, *arguments)
    first = cluster.reports(name, 2)
    before = first[0].pod.fabric_address()
    first[0].pod.delete_gracefully()
    uids = {report.pod.uid for report in first}

    def is_new(report: Report) -> bool:
        return report.pod.uid not in uids

    second = cluster.reports(name, 2, is_new)
    figures.append(f"TorchX, rank 0 lost (was {before}): {assert_met_on_the_fabric(second)}")
    for report in second:
        assert before not in report.environment.values()
    keys = [
        {report.pod.created["metadata"]["labels"][names.JOB] for report in reports}
        for reports in (first, second)
    ]
    assert keys[0].isdisjoint(keys[1])


def _running(image: str) -> tuple[str, ...]:
    return ("-h", "NULL", "--script", "train.py", "--image", image)
