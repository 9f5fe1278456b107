"""Jobs that `torchx run --scheduler kubernetes_mcad` wraps in an AppWrapper, which MCAD's own controller unwraps."""

import json

import pytest

from tests.cluster.operators import programs, torchx
from tests.cluster.operators.cluster import Cluster
from tests.cluster.operators.expectations import assert_met_on_the_fabric
from tests.cluster.operators.figures import Figures
from tests.node.conftest import NamespaceFactory
from webhook.core import names

NETWORK = "default/rdma-net"
HOLD = ("--env", "HOLD_SECONDS=600,PYTHONUNBUFFERED=1")


@pytest.mark.parametrize("network", ["", NETWORK], ids=["without-network", "with-network"])
def test_a_job_meets_on_the_fabric(
    cluster: Cluster, namespace: NamespaceFactory, figures: Figures, network: str
) -> None:
    """TorchX' network option has the pods ask for the network themselves: they are given it once."""
    cluster.install(programs.MCAD)
    name = namespace("rdma-shared")
    settings = (f"network={network}",) if network else ()
    arguments = ("-j", "2x1", "--name", "trainer", "-h", "NULL", "--script", "train.py", *HOLD)
    torchx.run(
        cluster.kubeconfig(),
        name,
        *arguments,
        "--image",
        cluster.torch(),
        scheduler="kubernetes_mcad",
        settings=settings,
    )
    reports = cluster.reports(name, 2)
    figures.append(
        f"TorchX on MCAD, network {network or 'none'}: {assert_met_on_the_fabric(reports)}"
    )
    for report in reports:
        asked = cluster.reviews.pod(report.pod.created)["metadata"]
        assert asked.get("annotations", {}).get(names.NETWORKS, "") == network
        assert asked["ownerReferences"][0]["kind"] == "AppWrapper"
        attached = json.loads(report.pod.annotation(names.NETWORK_STATUS))
        assert [one["interface"] for one in attached] == ["eth0", "net1"]
