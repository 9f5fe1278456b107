"""Pods of one job that come and go at different times."""

import time

import pytest

from tests.cluster.controller import Controller
from tests.cluster.node import jobs
from tests.cluster.node.expectations import assert_on_the_fabric
from tests.cluster.node.fixtures import NamespaceFactory
from tests.cluster.node.node import Node
from webhook.core import names

pytestmark = pytest.mark.usefixtures("webhook", "controller")
STILL_WAITING_SECONDS = 2


def test_a_new_master_under_the_same_name_reaches_the_workers(
    namespace: NamespaceFactory, node: Node
) -> None:
    """The worker that still runs is told its new address, and meets it there once it starts again."""
    space = namespace("rdma-shared")
    first, worker = space.start(*jobs.holding())
    worker.wait_until_running("pytorch")
    before = first.fabric_address()
    assert worker.annotation(names.MASTER_ADDR) == before
    first.delete()
    (again,) = space.start(jobs.holding()[0])
    again.wait_until_running("pytorch")
    assert again.fabric_address() not in ("", before)
    for pod in (again, worker):
        for key in (names.MASTER_ADDR, names.MASTER_HOST):
            pod.wait_for_annotation(key, again.fabric_address())
    assert again.environment()["MASTER_ADDR"] == again.fabric_address()
    node.containerd.kill_containers(worker.uid)
    for pod in (again, worker):  # the master first: it tells once the worker's new container comes
        report = pod.report()
        assert report.master_addr == again.fabric_address()
        assert_on_the_fabric(report)


def test_a_late_worker_gets_the_address_of_a_master_that_runs(namespace: NamespaceFactory) -> None:
    space = namespace("rdma-shared")
    master, worker = jobs.pytorchjob()
    (first,) = space.start(master)
    first.wait_until_running("pytorch")
    address = first.annotation(names.MASTER_ADDR)
    assert address == first.fabric_address() != ""
    (late,) = space.start(worker)
    assert late.report().train["store"] == address
    assert first.report().train["rank"] == 0


def test_the_address_of_an_earlier_sandbox_does_not_end_the_wait(
    namespace: NamespaceFactory, node: Node, controller: Controller
) -> None:
    """After a reboot the same pod has another address, and its annotations still the old one."""
    (pod,) = namespace("rdma-shared").start(jobs.pytorchjob()[0])
    before = pod.environment()["MASTER_ADDR"]
    assert before == pod.fabric_address()
    controller.stop()
    node.containerd.kill_sandbox(pod.uid)
    pod.wait(lambda _: pod.fabric_address() not in ("", before), "its new sandbox's address")
    # the pod's status says that the wait has ended until it ends again: kubelets refuse to write
    # it otherwise
    runs = node.containerd.runs
    pod.wait(lambda _: runs(pod.uid, names.WAIT_CONTAINER), "the wait of the new sandbox")
    time.sleep(STILL_WAITING_SECONDS)
    assert runs(pod.uid, names.WAIT_CONTAINER), pod.describe()
    assert not runs(pod.uid, "pytorch")
    assert pod.annotation(names.MASTER_ADDR) == pod.annotation(names.LOCAL_ADDR) == before
    controller.start()
    pod.wait(lambda _: runs(pod.uid, "pytorch"), "its training container in the new sandbox")
    pod.wait(lambda _: pod.environment()["MASTER_ADDR"] != before, "its new environment")
    environment = pod.environment()
    assert environment["MASTER_ADDR"] == environment["PET_LOCAL_ADDR"] == pod.fabric_address()
