"""The real controller and a real API server: who is told which address, as pods come, go and move."""

import time

import pytest

from tests.cluster.client import Client
from tests.cluster.controller import Controller
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.jobs import NETWORK, Job, Told
from tests.waiting import wait_until
from webhook.core import names


@pytest.fixture
def job(api: Client, namespace: NamespaceFactory, controller: Controller) -> Job:
    return Job(api, namespace("shared"))


@pytest.mark.parametrize("size", [2, 64])
def test_every_member_is_told_where_rank_zero_is(job: Job, size: int) -> None:
    pods = job.create(size)
    for number, name in enumerate(pods[1:], 2):
        job.attach(name, f"10.1.0.{number}")
    job.attach(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1", pods)
    told = job.told()
    assert told.pop(job.master) == Told("10.1.0.1", "10.1.0.1", "10.1.0.1")
    assert set(told.values()) == {Told("10.1.0.1", "10.1.0.1", None)}
    assert len(told) == size - 1


def test_a_member_that_waits_for_them_is_told_the_names_of_its_own_devices(job: Job) -> None:
    asks = {
        names.RENDEZVOUS_NETWORK: f"{NETWORK}@net1/any",
        names.WAITS_FOR: "master-addr,nccl-ib-hca,ucx-net-devices",
    }
    for name in (job.master, "train-1"):
        job.create_pod(name, annotations=asks)
    job.create_pod("train-2")
    job.attach("train-1", "10.1.0.2", device="mlx5_7")
    job.attach("train-2", "10.1.0.3", device="mlx5_9")
    wait_until(
        lambda: job.annotations("train-1").get(names.NCCL_IB_HCA),
        "its devices, before rank 0 has an address",
    )
    job.attach(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1")
    expected = {
        job.master: ("=", "all"),
        "train-1": ("=mlx5_7", "mlx5_7:1"),
        "train-2": (None, None),
    }
    for name, values in expected.items():
        told = job.annotations(name)
        assert (told.get(names.NCCL_IB_HCA), told.get(names.UCX_NET_DEVICES)) == values


def test_rank_zero_created_anew_at_another_address_is_told_to_all_live_members(job: Job) -> None:
    pods = job.create(16)
    job.attach(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1")
    job.delete(job.master)
    job.create_pod(job.master)
    assert {told.master for name, told in job.told().items() if name != job.master} == {"10.1.0.1"}
    job.attach(job.master, "10.1.0.99")
    job.wait_until_told("10.1.0.99", pods)
    assert job.told()[job.master] == Told("10.1.0.99", "10.1.0.99", "10.1.0.99")


def test_the_sandbox_of_rank_zero_rebuilt_at_another_address_is_told_to_all(job: Job) -> None:
    job.create(4)
    job.bind(job.master)
    job.attach(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1")
    job.attach(job.master, "10.1.0.50")
    job.wait_until_told("10.1.0.50")
    assert job.told()[job.master] == Told("10.1.0.50", "10.1.0.50", "10.1.0.50")


def test_one_namespaces_rank_zero_is_not_anothers(job: Job, namespace: NamespaceFactory) -> None:
    job.create(2)
    evil = Job(job.api, namespace("shared"))
    evil.create(1)
    evil.attach(evil.master, "10.66.6.6")
    evil.wait_until_told("10.66.6.6")
    job_beside(job)
    assert set(job.told().values()) == {Told(None, None, None)}
    job.attach(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1")


def test_what_another_hand_wrote_is_put_right(job: Job) -> None:
    job.create(2)
    job.attach(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1")
    job.annotate("train-1", {names.MASTER_ADDR: "10.66.6.6", names.MASTER_HOST: None})
    wait_until(
        lambda: job.told()["train-1"] == Told("10.1.0.1", "10.1.0.1", None), "the right address"
    )


def job_beside(job: Job) -> Job:
    """Let the controller serve another job of the namespace: by then it has seen all that happened before."""
    beside = Job(job.api, job.namespace, f"beside-{time.time_ns()}")
    beside.create_pod(beside.master)
    beside.attach(beside.master, "10.1.1.1")
    beside.wait_until_told("10.1.1.1")
    return beside
