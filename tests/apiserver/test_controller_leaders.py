"""Several controllers: another takes over from one that was killed, and each annotation is written once."""

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
