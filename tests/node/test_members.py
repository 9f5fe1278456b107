"""Pods of one job that come and go at different times, and pods that ask for more than the node has."""

import pytest

from tests.cluster.client import Client
from tests.cluster.controller import Controller
from tests.cluster.node import jobs
from tests.cluster.node.node import Node
from tests.cluster.node.pods import create
from tests.waiting import wait_until
from webhook.core import names

from .conftest import NamespaceFactory
from .test_jobs import assert_on_the_fabric

pytestmark = pytest.mark.usefixtures("webhook", "controller")
HOLD = {"HOLD_SECONDS": "600"}


def test_a_new_master_under_the_same_name_reaches_the_workers(
    api: Client, namespace: NamespaceFactory, node: Node
) -> None:
    """Its address is another; the worker that still runs is told, and meets it there once its container starts again."""
    name = namespace("rdma-shared")
    master, worker = jobs.pytorchjob(env=HOLD)
    pods = jobs.start_pods(api, [master, worker], name)
    pods[1].wait_until_running("pytorch")
    before = pods[0].fabric_address()
    assert pods[1].annotation(names.MASTER_ADDR) == before
    pods[0].delete()
    again = create(api, master, name)
    again.wait_until_running("pytorch")
    assert again.fabric_address() not in ("", before)
    for pod in (again, pods[1]):
        for key in (names.MASTER_ADDR, names.MASTER_HOST):
            pod.wait_for_annotation(key, again.fabric_address())
    assert again.environment()["MASTER_ADDR"] == again.fabric_address()
    node.containerd.kill_containers(pods[1].uid)
    for pod in (
        again,
        pods[1],
    ):  # the master first: it tells once the worker's new container has come
        report = pod.wait_until_trained()
        assert report.train["environment"]["MASTER_ADDR"] == again.fabric_address()
        assert_on_the_fabric(report)


def test_a_late_worker_has_the_address_at_admission(
    api: Client, namespace: NamespaceFactory, controller: Controller
) -> None:
    """It starts and trains although no controller runs any more."""
    name = namespace("rdma-shared")
    master, worker = jobs.pytorchjob()
    first = create(api, master, name)
    first.wait_until_running("pytorch")
    address = first.annotation(names.MASTER_ADDR)
    assert address == first.fabric_address() != ""
    controller.stop()

    def answered() -> bool:
        answer = api.create(worker, name, dry_run=True).json
        return bool(answer["metadata"]["annotations"].get(names.MASTER_ADDR) == address)

    wait_until(answered, "the webhook's own watch to bring rank 0's address")
    late = create(api, worker, name)
    assert late.created["metadata"]["annotations"][names.MASTER_ADDR] == address
    assert late.report().train["store"] == address
    assert first.report().train["rank"] == 0


def test_a_pod_that_asks_for_more_devices_than_there_are_is_not_scheduled(
    api: Client, namespace: NamespaceFactory
) -> None:
    """What the scheduler counts is what the webhook added."""
    pod = create(api, jobs.pytorchjob()[0], namespace("greedy"))
    pod.wait(lambda found: bool(found["status"].get("conditions")), "the scheduler's answer")
    (condition,) = pod.get()["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("PodScheduled", "Unschedulable")
    assert "Insufficient rdma/rdma_shared_device_a" in condition["message"]
