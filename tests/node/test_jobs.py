"""Jobs of three systems really run, and exchange their data on the secondary network."""

import pytest
import yaml

from tests.cluster.client import Client
from tests.cluster.node import jobs
from tests.cluster.node.pods import Pod, Report
from tests.waiting import wait_until
from webhook.core import names

from .__main__ import JOB
from .conftest import SHARED_MEMORY_BYTES, Figures, NamespaceFactory

IPC_LOCK = 1 << 14
MIB = 1 << 20
EXCHANGED = 8 * MIB
IDLE_BYTES = 1024
"""What any interface carries: neighbour discovery and ARP. One piece of the data would be 64 KiB."""
SYSTEMS = ("torchx", "pytorchjob", "jobset")
pytestmark = pytest.mark.usefixtures("webhook", "controller")

DEVICES_OF_A_POD = {"nvidia.com/gpu": "8", "rdma/rdma_shared_device_a": "1"}
ADDRESS_VARIABLES = {
    "torchx": (("PET_LOCAL_ADDR", "MASTER_ADDR"), ("MASTER_ADDR",)),
    "pytorchjob": (
        ("MASTER_ADDR", "PET_MASTER_ADDR", "PET_LOCAL_ADDR"),
        ("MASTER_ADDR", "PET_MASTER_ADDR"),
    ),
    "jobset": (("MASTER_ADDR", "PET_LOCAL_ADDR"), ("MASTER_ADDR",)),
}
"""Variables that hold rank 0's secondary address in the training container: on rank 0, and on the worker."""


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_job_meets_and_trains_on_the_fabric(
    api: Client, namespace: NamespaceFactory, figures: Figures, system: str
) -> None:
    pods = jobs.start(api, system, namespace("rdma-shared"))
    reports = [pod.report() for pod in pods]
    address = reports[0].train["addresses"]["net1"][0]
    assert address == pods[0].fabric_address()
    for rank, report in enumerate(reports):
        figures.append(
            f"{system} rank {rank}: training container {report.seconds_to_start():.2f} s after creation"
        )
        assert report.train["rank"] == rank
        assert report.train["environment"]["MASTER_ADDR"] == address
        assert report.train["store"] == address
        found = {name: report.environment.get(name) for name in ADDRESS_VARIABLES[system][rank]}
        assert found == dict.fromkeys(ADDRESS_VARIABLES[system][rank], address)
        assert_on_the_fabric(report)
        assert report.train["shared_memory"] == ["tmpfs", SHARED_MEMORY_BYTES]
        assert report.train["capabilities"] & IPC_LOCK
        assert (
            report.pod.get()["status"]["containerStatuses"][0]["allocatedResources"]
            == DEVICES_OF_A_POD
        )
    if system == "torchx":
        assert reports[0].environment["TORCHX_RANK0_HOST"] == "localhost"


def test_the_job_of_make_node_meets_on_the_fabric(api: Client, namespace: NamespaceFactory) -> None:
    where = namespace("rdma-shared")
    for each in yaml.safe_load_all(JOB.read_text()):
        api.ensure(each, where)
    path = f"/api/v1/namespaces/{where}/pods?labelSelector=job-name%3Dllm"
    wait_until(lambda: len(api.expect("GET", path)["items"]) == 2, "both pods of the Job", 60)
    pods = [Pod(api, each, 0) for each in api.expect("GET", path)["items"]]
    for report in (pod.report() for pod in pods):
        assert report.train["environment"]["MASTER_ADDR"] in {pod.fabric_address() for pod in pods}
        assert_on_the_fabric(report)


def test_without_injection_the_same_job_trains_on_the_pod_network(
    api: Client, namespace: NamespaceFactory
) -> None:
    """What the other tests measure is there to be measured: without us all of it is on eth0, and nothing is locked."""
    for report in (pod.report() for pod in jobs.start(api, "pytorchjob", namespace(None))):
        assert report.environment["MASTER_ADDR"] == "bert-master-0"
        assert sorted(report.train["addresses"]) == ["eth0", "lo"]
        assert report.carried("eth0") > EXCHANGED
        assert not report.train["capabilities"] & IPC_LOCK
        assert report.train["shared_memory"] == ["tmpfs", 64 * MIB]


@pytest.mark.parametrize("system", ["torchx", "pytorchjob"])
def test_a_job_named_bert_meets_on_a_fabric_of_ipv6_alone(
    api: Client, namespace: NamespaceFactory, system: str
) -> None:
    """c10d orders nodes by text, where the name bert comes before fd00::."""
    pods = jobs.start(api, system, namespace("ipv6"), "bert")
    reports = [pod.report() for pod in pods]
    address = pods[0].fabric_address()
    assert ":" in address
    assert {report.train["rank"] for report in reports} == {0, 1}
    # c10d orders nodes by address: any may become rank 0, whose address is then MASTER_ADDR for all
    (meets_at,) = {report.train["environment"]["MASTER_ADDR"] for report in reports}
    (zero,) = (report for report in reports if report.train["rank"] == 0)
    assert [meets_at] == zero.train["addresses"]["net1"]
    for report in reports:
        assert report.train["store"] == meets_at
        assert report.pod.annotation(names.MASTER_ADDR) == address
        assert report.pod.annotation(names.MASTER_HOST) == f"[{address}]"
        assert_on_the_fabric(report)
    if system == "torchx":
        assert reports[1].environment["VC_TRAINER_0_HOSTS"] == "bert-trainer-0-0.bert", (
            "the endpoint stays a name"
        )
    else:
        assert zero is reports[0]


def test_a_job_that_meets_at_the_name_of_its_c10d_host_trains_at_rank_zeros_address(
    api: Client, namespace: NamespaceFactory
) -> None:
    """`--rdzv_endpoint=$MASTER_ADDR:29500` stays a name, and torchrun's ranks are given the address that rank 0 gives for its own."""
    command = [
        "sh",
        "-c",
        "torchrun --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:29500 --nnodes=2 train.py",
    ]
    pods = jobs.start_pods(api, [*jobs.pytorchjob(command=command)], namespace("rdma-shared"))
    for rank, report in enumerate([pod.report() for pod in pods]):
        assert report.train["rank"] == rank
        assert report.train["environment"]["MASTER_ADDR"] == pods[0].fabric_address()
        assert_on_the_fabric(report)


def assert_on_the_fabric(report: Report) -> None:
    """Assert that the data was on net1, and that eth0 carried nothing but what any idle interface carries."""
    assert report.carried("net1") > EXCHANGED
    assert report.carried("eth0") < IDLE_BYTES, report.train
