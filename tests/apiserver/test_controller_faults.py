"""The controller while the API server goes, forgets, and while pods change between the reading and the writing."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.audit import Audit
from tests.cluster.controller import Controller, own_token
from tests.cluster.controlplane import ControlPlane
from tests.cluster.jobs import LABELLED, Job, Told
from tests.cluster.relay import Relay
from tests.waiting import wait_until
from webhook.cli.kubeconfig import connect
from webhook.control.publisher import Publisher, Result
from webhook.control.queue import FairQueue
from webhook.core import names
from webhook.core.reconcile import Publication, Unit

COMPACTION_SECONDS = 1
FLAGS = (f"--etcd-compaction-interval={COMPACTION_SECONDS}s", "--watch-cache=false")
"""The control plane is stopped and started, and forgets its history within seconds."""


@pytest.fixture
def relay(plane: ControlPlane) -> Iterator[Relay]:
    relay = Relay(int(plane.url.rsplit(":", 1)[1]))
    yield relay
    relay.close()


@pytest.fixture
def controller(
    plane: ControlPlane, webhook_command: list[str], job: Job, relay: Relay, tmp_path: Path
) -> Iterator[Controller]:
    with Controller(
        plane, tmp_path, webhook_command, job.namespace, server=relay.url
    ) as controller:
        controller.wait_until_leading()
        yield controller
    assert "Traceback" not in controller.output()


@pytest.fixture
def job(plane: ControlPlane, request: pytest.FixtureRequest) -> Job:
    return Job(
        plane.api,
        plane.create_namespace(request.node.name.replace("_", "-")[:63].strip("-"), LABELLED),
    )


def forget(plane: ControlPlane) -> None:
    """Wait until the API server has forgotten all that happened before."""
    for _ in range(3):
        plane.api.expect(
            "PATCH",
            "/api/v1/namespaces/default",
            {"metadata": {"labels": {"tick": str(time.time_ns())}}},
        )
        time.sleep(COMPACTION_SECONDS)


def test_what_happened_in_a_time_that_is_forgotten_is_published(
    plane: ControlPlane, controller: Controller, relay: Relay, job: Job, audit: Audit
) -> None:
    job.create(8)
    job.attach(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1")
    relay.cut()
    job.delete(job.master)
    job.create_pod(job.master)
    job.attach(job.master, "10.1.0.2")
    job.delete("train-7")
    job.create(4, first=8)
    forget(plane)
    relay.mend()
    job.wait_until_told("10.1.0.2")
    assert " 410: " in controller.output()
    assert audit.written_more_than_once(job.namespace) == {}
    assert controller.is_running()


def test_a_crash_of_the_api_server_is_outlived(
    plane: ControlPlane, controller: Controller, job: Job, audit: Audit
) -> None:
    job.create(8)
    job.attach(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1")
    plane.stop_apiserver(force=True)
    plane.start_apiserver()
    job.attach(job.master, "10.1.0.2")
    job.wait_until_told("10.1.0.2")
    assert audit.written_more_than_once(job.namespace) == {}


def test_after_a_long_absence_of_the_api_server_all_is_derived_from_the_pods(
    plane: ControlPlane, controller: Controller, job: Job
) -> None:
    job.create(8)
    job.attach(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1")
    controller.signal(signal.SIGSTOP)
    job.delete("train-7")
    job.create(1, first=8)
    job.attach(job.master, "10.1.0.2")
    plane.stop_apiserver(force=True)
    try:
        controller.signal(signal.SIGCONT)
        wait_until(lambda: "lost by" in controller.output(), "the Lease to be lost", 30)
        assert not controller.leads(), "it may not write any more, so another may"
        controller.stop(force=True)
        controller.start()
        assert controller.status("/readyz") == 503
    finally:
        plane.start_apiserver()
    assert {told.master for told in job.told().values()} == {"10.1.0.1", None}
    job.wait_until_told("10.1.0.2")
    wait_until(controller.is_ready, "the controller to be ready")
    assert controller.stop() == 0


def test_the_api_server_refuses_a_write_for_the_former_pod_of_a_name(
    plane: ControlPlane, job: Job
) -> None:
    former = job.create_pod("train-1")
    job.delete("train-1")
    job.create_pod("train-1")
    found = _publish(
        plane, job, Publication(job.namespace, "train-1", former["metadata"]["uid"], _ADDRESS)
    )
    assert found is Result.GONE
    assert job.told()["train-1"] == Told(None, None, None)
    job.delete("train-1")
    found = _publish(
        plane, job, Publication(job.namespace, "train-1", former["metadata"]["uid"], _ADDRESS)
    )
    assert found is Result.GONE


def test_a_pod_that_can_hold_no_more_annotations_is_not_taken_for_gone(
    plane: ControlPlane, job: Job
) -> None:
    pod = job.create_pod("fluid-1", annotations={"filler": "x" * (256 * 1024 - 10)})
    found = _publish(
        plane, job, Publication(job.namespace, "fluid-1", pod["metadata"]["uid"], _ADDRESS)
    )
    assert found is Result.REFUSED


_ADDRESS = {names.MASTER_ADDR: "10.1.0.1"}


def _publish(plane: ControlPlane, job: Job, wanted: Publication) -> Result:
    """Write to one pod of the job with the publisher itself; give what became of it."""
    results: list[Result] = []
    connection = connect(
        {
            "KUBECONFIG": str(
                plane.kubeconfig(plane.folder / "publisher.kubeconfig", own_token(plane))
            )
        }
    )
    publisher = Publisher(
        connection,
        FairQueue(),
        lacks=lambda _: wanted,
        written=lambda _: None,
        may_write=lambda: True,
        on_result=lambda result, _: results.append(result),
    )
    publisher.publish(Unit(wanted.namespace, job.key, wanted.name), 0.0)
    connection.close()
    return results[0]
