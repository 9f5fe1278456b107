"""Controllers while one of them or the API server goes, and while pods change meanwhile.

Another takes over from one that was killed, and each annotation is written once.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.apiserver.audit import Audit
from tests.cluster.controller import Controller, own_token
from tests.cluster.controlplane import ControlPlane
from tests.cluster.jobs import LABELLED, Job, Told
from tests.cluster.relay import Relay
from tests.waiting import wait_until
from webhook.control.publisher import Publisher, Result
from webhook.control.queue import FairQueue
from webhook.core import names
from webhook.core.reconcile import Publication, Unit

LEASES = "/apis/coordination.k8s.io/v1/namespaces"


@pytest.fixture
def job(plane: ControlPlane, request: pytest.FixtureRequest) -> Job:
    return Job(
        plane.api,
        plane.create_namespace(request.node.name.replace("_", "-")[:63].strip("-"), LABELLED),
    )


@pytest.fixture
def replica(plane: ControlPlane, job: Job, tmp_path: Path) -> Iterator[Callable[..., Controller]]:
    """Start one more controller with the same Lease."""
    with ExitStack() as stack:
        started: list[Controller] = []

        def start(server: str = "") -> Controller:
            folder = tmp_path / f"controller-{len(started)}"
            started.append(Controller(plane, folder, job.namespace, server))
            return stack.enter_context(started[-1])

        yield start
        assert not any("Traceback" in one.output() for one in started)


def test_a_crash_of_the_api_server_is_outlived(
    plane: ControlPlane, replica: Callable[..., Controller], job: Job, audit: Audit
) -> None:
    replica().wait_until_leading()
    job.create(8)
    job.attach(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1")
    plane.stop("kube-apiserver", force=True)
    plane.start_apiserver()
    job.attach(job.master, "10.1.0.2")
    job.wait_until_told("10.1.0.2")
    assert audit.written_more_than_once(job.namespace) == {}


def test_the_api_server_refuses_a_write_for_the_former_pod_of_a_name(
    plane: ControlPlane, job: Job
) -> None:
    former = job.create_pod("train-1")["metadata"]["uid"]
    wanted = Publication(job.namespace, "train-1", former, _ADDRESS)
    job.delete("train-1")
    job.create_pod("train-1")
    assert _publish(plane, job, wanted) is Result.GONE
    assert job.told()["train-1"] == Told(None, None, None)
    job.delete("train-1")
    assert _publish(plane, job, wanted) is Result.GONE


def test_a_pod_that_can_hold_no_more_annotations_is_not_taken_for_gone(
    plane: ControlPlane, job: Job
) -> None:
    pod = job.create_pod("fluid-1", annotations={"filler": "x" * (256 * 1024 - 10)})
    wanted = Publication(job.namespace, "fluid-1", pod["metadata"]["uid"], _ADDRESS)
    assert _publish(plane, job, wanted) is Result.REFUSED


_ADDRESS = {names.MASTER_ADDR: "10.1.0.1"}


def _publish(plane: ControlPlane, job: Job, wanted: Publication) -> Result:
    """Write to one pod of the job with the publisher itself; give what became of it."""
    results: list[Result] = []
    with plane.connection(own_token(plane)) as connection:
        publisher = Publisher(
            connection,
            FairQueue(),
            lacks=lambda _: wanted,
            written=lambda _: None,
            may_write=lambda: True,
            on_result=lambda result, _: results.append(result),
        )
        publisher.publish(Unit(wanted.namespace, job.key, wanted.name), 0.0)
    return results[0]


def test_another_takes_over_from_one_that_was_killed_while_it_published(
    plane: ControlPlane, audit: Audit, job: Job, replica: Callable[..., Controller]
) -> None:
    relay = Relay(plane.port)
    first = replica(relay.url)
    first.wait_until_leading()
    second = replica()
    pods = job.create(100)
    wait_until(
        lambda: second.metric("fabric_injector_pods_waiting") == 100, "the second to know all pods"
    )
    relay.delay_seconds = 0.1
    job.attach(job.master, "10.1.0.1")
    wait_until(lambda: len(audit.writes(job.namespace)) > 20, "the first addresses", interval=0.01)
    first.stop(force=True)
    relay.close()
    assert 0 < len({write.pod for write in audit.writes(job.namespace)}) < 100, (
        "killed in the middle"
    )
    assert not second.leads()
    second.wait_until_leading()
    job.wait_until_told("10.1.0.1", pods)
    assert audit.written_more_than_once(job.namespace) == {}
    lease = f"{LEASES}/{job.namespace}/leases/fabric-injector"
    assert plane.api.expect("GET", lease)["spec"]["leaseTransitions"] == 1
