"""Jobs that `torchx run` gives to Volcano, or wraps in an AppWrapper, which MCAD unwraps."""

import json

import pytest
import yaml

from tests.cluster.node.fixtures import NamespaceFactory
from tests.cluster.operators.cluster import Cluster
from tests.cluster.operators.expectations import (
    assert_decided_as_predicted,
    assert_met_on_the_fabric,
)
from tests.cluster.operators.rows import NEWEST
from tests.operators import torchx
from tests.operators.torchx import HOLD
from webhook.core import names
from webhook.core.model import Object

VERSIONS = ("2.0.1", "2.3.1", "2.6.0")
"""What meets at rank 0's secondary address besides the newest."""
BETWEEN = ("2.4.1", "2.5.1")
"""What shows another name as MASTER_ADDR."""
NETWORK = "default/rdma-net"


@pytest.mark.parametrize("version", [NEWEST, *VERSIONS])
def test_a_job_meets_on_the_fabric(
    cluster: Cluster, namespace: NamespaceFactory, version: str
) -> None:
    cluster.install("volcano")
    space, image = namespace("rdma-shared"), cluster.torch(version)
    torchx.run(space, image, *HOLD)
    reports = space.reports(2)
    assert_met_on_the_fabric(reports)
    assert reports[0].environment["TORCHX_RANK0_HOST"] == "localhost"
    printed = torchx.run(space, image, *HOLD, options=["--dryrun"])
    manifest: Object = yaml.safe_load(printed[printed.index("apiVersion:") :])
    assert_decided_as_predicted(cluster, space, manifest, reports)


@pytest.mark.parametrize("version", BETWEEN)
def test_versions_between_meet_and_train_on_the_fabric(
    cluster: Cluster, namespace: NamespaceFactory, version: str
) -> None:
    """They show another name as MASTER_ADDR; the job runs."""
    cluster.install("volcano")
    space = namespace("rdma-shared")
    torchx.run(space, cluster.torch(version), *HOLD)
    reports = space.reports(2)
    assert {report.train["world"] for report in reports} == {2}
    assert {report.train["sum"] for report in reports} == {3}


def test_a_job_whose_rank_zero_is_lost_meets_again_at_its_new_address(
    cluster: Cluster, namespace: NamespaceFactory
) -> None:
    """Volcano makes all pods of the job anew."""
    cluster.install("volcano")
    space = namespace("rdma-shared")
    torchx.run(space, cluster.torch(), "--max_retries", "3", *HOLD)
    first = space.reports(2)
    before = first[0].pod.fabric_address()
    first[0].pod.delete(1)
    uids = {report.pod.uid for report in first}
    second = space.reports(2, lambda report: report.pod.uid not in uids)
    assert_met_on_the_fabric(second)
    for report in second:
        assert before not in report.environment.values()
    keys = [
        {report.pod.created["metadata"]["labels"][names.JOB] for report in reports}
        for reports in (first, second)
    ]
    assert keys[0].isdisjoint(keys[1])


@pytest.mark.parametrize("network", ["", NETWORK], ids=["without-network", "with-network"])
def test_a_job_in_an_appwrapper_meets_on_the_fabric(
    cluster: Cluster, namespace: NamespaceFactory, network: str
) -> None:
    """By TorchX' network option pods ask for the network themselves: they are given it once."""
    cluster.install("mcad")
    space = namespace("rdma-shared")
    settings = (f"network={network}",) if network else ()
    torchx.run(space, cluster.torch(), *HOLD, scheduler="kubernetes_mcad", settings=settings)
    reports = space.reports(2)
    assert_met_on_the_fabric(reports)
    for report in reports:
        assert report.pod.created["metadata"]["ownerReferences"][0]["kind"] == "AppWrapper"
        attached = json.loads(report.pod.annotation(names.NETWORK_STATUS))
        assert [one["interface"] for one in attached] == ["eth0", "net1"]
