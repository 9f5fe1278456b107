"""Several controllers: one writes, each annotation is written once, and another takes over whatever becomes of the first."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cluster.audit import Audit
from tests.cluster.controller import Controller
from tests.cluster.controlplane import ControlPlane
from tests.cluster.jobs import LABELLED, Job
from tests.cluster.relay import Relay
from tests.waiting import wait_until

LEASES = "/apis/coordination.k8s.io/v1/namespaces"


@pytest.fixture
def space(plane: ControlPlane, request: pytest.FixtureRequest) -> str:
    """A namespace of the test's own, for its pods and its Lease."""
    return plane.create_namespace(request.node.name.replace("_", "-")[:63].strip("-"), LABELLED)


@pytest.fixture
def replica(
    plane: ControlPlane, webhook_command: list[str], space: str, tmp_path: Path
) -> Iterator[Callable[..., Controller]]:
    """Start one more controller with the same Lease."""
    with ExitStack() as stack:
        started: list[Controller] = []

        def start(server: str | None = None) -> Controller:
            folder = tmp_path / f"controller-{len(started)}"
            started.append(Controller(plane, folder, webhook_command, space, server=server))
            return stack.enter_context(started[-1])

        yield start
        assert not any("Traceback" in one.output() for one in started)


def lease(plane: ControlPlane, space: str) -> dict[str, object]:
    spec: dict[str, object] = plane.api.expect("GET", f"{LEASES}/{space}/leases/fabric-injector")[
        "spec"
    ]
    return spec


def test_two_at_once_write_each_annotation_once(
    plane: ControlPlane, audit: Audit, space: str, replica: Callable[..., Controller]
) -> None:
    both = [replica(), replica()]
    wait_until(lambda: sum(one.leads() for one in both) == 1, "one leader")
    jobs = [Job(plane.api, space, f"job-{number}") for number in range(8)]
    pods = {job.name: job.create(16) for job in jobs}
    for number, job in enumerate(jobs):
        job.attach(job.master, f"10.1.0.{number}")
    for number, job in enumerate(jobs):
        job.wait_until_told(f"10.1.0.{number}", pods[job.name])
    for number, job in enumerate(jobs):
        job.delete(job.master)
        job.create_pod(job.master)
        job.attach(job.master, f"10.2.0.{number}")
    for number, job in enumerate(jobs):
        job.wait_until_told(f"10.2.0.{number}", pods[job.name])
    assert sum(one.leads() for one in both) == 1
    each = 8 * (16 * 2 + 1) + 8 * (16 * 2 + 1)
    wait_until(
        lambda: len(audit.writes(space)) >= each,
        "the record of the last write, which follows the write",
    )
    assert audit.written_more_than_once(space) == {}
    assert len(audit.writes(space)) == len(audit.tries(space)) == each
    follower = next(one for one in both if not one.leads())
    assert follower.metric("fabric_injector_addresses_published_total") == 0


def test_another_takes_over_from_one_that_was_killed_while_it_published(
    plane: ControlPlane, audit: Audit, space: str, replica: Callable[..., Controller]
) -> None:
    relay = Relay(int(plane.url.rsplit(":", 1)[1]))
    first = replica(relay.url)
    first.wait_until_leading()
    second = replica()
    job = Job(plane.api, space)
    pods = job.create(100)
    wait_until(
        lambda: second.metric("fabric_injector_pods_waiting") == 100, "the second to know all pods"
    )
    relay.delay_seconds = 0.1
    job.attach(job.master, "10.1.0.1")
    wait_until(lambda: len(audit.writes(space)) > 20, "the first addresses", interval=0.01)
    first.stop(force=True)
    relay.close()
    assert 0 < len({write.pod for write in audit.writes(space)}) < 100, "killed in the middle"
    assert not second.leads()
    second.wait_until_leading()
    job.wait_until_told("10.1.0.1", pods)
    assert audit.written_more_than_once(space) == {}
    assert lease(plane, space)["leaseTransitions"] == 1
