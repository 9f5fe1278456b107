"""Who becomes rank 0, and what the others meet at once it is another pod, or at another address."""

import json

import pytest

from tests.cluster.node.kubelet import NAME
from tests.cluster.node.pods import Report
from tests.cluster.operators import programs
from tests.cluster.operators.cluster import NEWEST, Cluster
from tests.cluster.operators.expectations import assert_met_on_the_fabric
from tests.cluster.operators.figures import Figures
from tests.cluster.operators.manifests import container, indexed_job, pytorchjob
from tests.cluster.operators.rows import EVERY
from tests.node.conftest import NamespaceFactory
from webhook.core.model import Object

from .test_rows import with_image

MEMBERS = 12
NETWORKS = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions"
C10D = "torchrun --nnodes=12 --nproc-per-node=1 --rdzv_backend=c10d --rdzv_endpoint=ddp-0.ddp:29500 rank.py"


@pytest.mark.parametrize("version", EVERY)
def test_the_order_of_the_ranks_is_what_it_is_without_injection(
    cluster: Cluster, namespace: NamespaceFactory, figures: Figures, version: str
) -> None:
    """c10d orders twelve nodes by the text of their addresses, and .10 to .19 come before .9."""
    make_network_of_twelve(cluster)
    found = {}
    for profile in (None, "twelve"):
        name = namespace(profile)
        job = indexed_job(container(C10D, gpu=profile is not None), size=MEMBERS)
        cluster.submit(with_image(job, cluster.torch(version)), name)
        reports = cluster.reports(name, MEMBERS)
        found[profile] = [report.pod.created["spec"]["hostname"] for report in reports]
        if profile:
            addresses = [report.pod.fabric_address() for report in reports]
            assert sorted(addresses) == sorted(f"203.0.113.{last}" for last in range(9, 21))
            figures.append(
                f"12 pods, torch {version}: rank 0 is {found[profile][0]} at {addresses[0]}, then {addresses[1:]}"
            )
    assert found[None][0] == "ddp-0"
    assert found["twelve"] == found[None]


def make_network_of_twelve(cluster: Cluster) -> None:
    """Give the cluster a network that has the addresses .9 to .20, for the profile of twelve."""
    network = cluster.api.expect("GET", f"{NETWORKS}/rdma-net")
    config = json.loads(network["spec"]["config"])
    addresses = {
        "subnet": "203.0.113.0/24",
        "rangeStart": "203.0.113.9",
        "rangeEnd": "203.0.113.20",
    }
    config |= {"name": "twelve", "ipam": config["ipam"] | {"ranges": [[addresses]]}}
    made = {
        "metadata": {"name": "twelve", "namespace": "default"},
        "spec": {"config": json.dumps(config)},
    }
    cluster.api.ensure({key: network[key] for key in ("apiVersion", "kind")} | made)


def test_a_sandbox_that_is_made_anew_gives_its_new_address_to_all_that_starts_after_it(
    cluster: Cluster, namespace: NamespaceFactory, figures: Figures
) -> None:
    """Rank 0's pod stays, as after its node's reboot; the worker's container starts again in place, and meets it there."""
    cluster.install(programs.TRAINING_OPERATOR)
    name = namespace("rdma-shared")
    one = container("torchrun train.py", "pytorch")
    cluster.submit(with_image(pytorchjob(Master=one, Worker=one), cluster.torch(NEWEST)), name)
    first = cluster.reports(name, 2)
    before = first[0].pod.fabric_address()
    cluster.node.containerd.kill_sandbox(first[0].pod.uid)

    def is_after(report: Report) -> bool:
        return bool(report.train["environment"]["MASTER_ADDR"] != before)

    second = cluster.reports(name, 2, is_after)
    figures.append(
        f"PyTorchJob, rank 0's sandbox made anew (was {before}): {assert_met_on_the_fabric(second)}"
    )
    assert [report.pod.uid for report in second] == [report.pod.uid for report in first]


def test_containers_that_start_again_in_place_meet_where_rank_zero_is(
    cluster: Cluster, namespace: NamespaceFactory, figures: Figures
) -> None:
    """All containers of the worker are killed; rank 0's, which has lost its peer, starts again by itself."""
    cluster.install(programs.TRAINING_OPERATOR)
    name = namespace("rdma-shared")
    one = container("torchrun train.py", "pytorch")
    cluster.submit(with_image(pytorchjob(Master=one, Worker=one), cluster.torch(NEWEST)), name)
    first = cluster.reports(name, 2)
    started = [_starts(report) for report in first]
    cluster.kill(first[1].pod)
    second = cluster.reports(name, 2, lambda report: _starts(report) > started[0])
    figures.append(
        f"PyTorchJob, worker's container started again: {assert_met_on_the_fabric(second)}"
    )
    assert [report.pod.uid for report in second] == [report.pod.uid for report in first]


def test_a_node_that_is_gone_takes_rank_zero_along_which_comes_back_on_another(
    cluster: Cluster, namespace: NamespaceFactory, figures: Figures
) -> None:
    """Its pod is collected once its Node is deleted, and made anew elsewhere; the worker, on a node of its own, meets it there.

    Until then the worker's container starts again and again with the former address, and gives up as soon as torchrun does.
    """
    cluster.install(programs.TRAINING_OPERATOR)
    name = namespace("rdma-shared")
    one = container("torchrun --rdzv_conf=timeout=60 train.py", "pytorch")
    job = with_image(pytorchjob(Master=one, Worker=one), cluster.torch(NEWEST))
    first_node, second_node = NAME, "node2"
    for role, affinity in (
        ("Master", _preferring(second_node)),
        ("Worker", _requiring(first_node)),
    ):
        job["spec"]["pytorchReplicaSpecs"][role]["template"]["spec"]["affinity"] = {
            "nodeAffinity": affinity
        }
    with cluster.node.another(second_node) as containerd:
        cluster.bring_torch(containerd, NEWEST)
        cluster.submit(job, name)
        first = cluster.reports(name, 2)
        assert [report.pod.get()["spec"]["nodeName"] for report in first] == [
            second_node,
            first_node,
        ]
        figures.append(f"PyTorchJob on two nodes: {assert_met_on_the_fabric(first)}")
    before = first[0].pod.fabric_address()
    cluster.api.expect("DELETE", f"/api/v1/nodes/{second_node}")

    def is_after(report: Report) -> bool:
        return bool(report.train["environment"]["MASTER_ADDR"] != before)

    second = cluster.reports(name, 2, is_after)
    figures.append(
        f"PyTorchJob, rank 0's node gone (was {before}): {assert_met_on_the_fabric(second)}"
    )
    assert second[0].pod.get()["spec"]["nodeName"] == first_node
    assert second[0].pod.uid != first[0].pod.uid
    assert second[1].pod.uid == first[1].pod.uid


def _preferring(node: str) -> Object:
    return {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "preference": _named(node)}
        ]
    }


def _requiring(node: str) -> Object:
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_named(node)]}}


def _named(node: str) -> Object:
    return {
        "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]
    }


def _starts(report: Report) -> int:
    (status,) = report.pod.get()["status"]["containerStatuses"]
    return int(status["restartCount"])
