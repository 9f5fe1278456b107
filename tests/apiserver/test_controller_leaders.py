"""Several controllers: one writes, each annotation is written once, and another takes over whatever becomes of the first."""

import signal
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


def test_sigterm_gives_the_lease_back_and_another_begins_at_once(
    plane: ControlPlane, space: str, replica: Callable[..., Controller]
) -> None:
    first = replica()
    first.wait_until_leading()
    second = replica()
    held_by = lease(plane, space)["holderIdentity"]
    assert first.stop() == 0
    assert lease(plane, space)["holderIdentity"] != held_by
    second.wait_until_leading()
    assert second.stop() == 0
    assert lease(plane, space)["holderIdentity"] == ""
    job = Job(plane.api, space)
    job.create(2)
    job.attach(job.master, "10.1.0.1")
    second.start()
    job.wait_until_told("10.1.0.1")


def test_sigterm_while_publishing_ends_what_is_on_its_way_and_loses_nothing(
    plane: ControlPlane, audit: Audit, space: str, replica: Callable[..., Controller]
) -> None:
    relay = Relay(int(plane.url.rsplit(":", 1)[1]))
    first = replica(relay.url)
    first.wait_until_leading()
    second = replica()
    job = Job(plane.api, space)
    pods = job.create(100)
    relay.delay_seconds = 0.1
    job.attach(job.master, "10.1.0.1")
    wait_until(lambda: len(audit.writes(space)) > 8, "the first addresses", interval=0.01)
    assert first.stop() == 0
    assert len({write.pod for write in audit.writes(space)}) < 100, "stopped in the middle"
    second.wait_until_leading()
    job.wait_until_told("10.1.0.1", pods)
    assert audit.written_more_than_once(space) == {}
    relay.close()


def test_one_that_stood_still_follows_the_one_that_took_over(
    plane: ControlPlane, audit: Audit, space: str, replica: Callable[..., Controller]
) -> None:
    first = replica()
    first.wait_until_leading()
    second = replica()
    first.signal(signal.SIGSTOP)
    job = Job(plane.api, space)
    pods = job.create(50)
    job.attach(job.master, "10.1.0.1")
    second.wait_until_leading()
    job.wait_until_told("10.1.0.1", pods)
    job.attach(job.master, "10.1.0.2")
    first.signal(signal.SIGCONT)
    job.wait_until_told("10.1.0.2", pods)
    wait_until(lambda: "lost by" in first.output(), "the first to know that it leads no more")
    assert not first.leads()
    second.stop()
    job.attach(job.master, "10.1.0.3")
    job.wait_until_told("10.1.0.3", pods)
    assert audit.written_more_than_once(space) == {}
