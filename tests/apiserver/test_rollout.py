"""Replicas that come, go and die, and certificates that change, while pods are created fifty times a second."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.client import Client
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.objects import made
from tests.cluster.service import Service
from tests.cluster.traffic import POD, Traffic
from tests.waiting import wait_until
from webhook.core import names

JOB_PODS = 100


@pytest.fixture
def service(
    control_plane: ControlPlane, webhook_command: list[str], tmp_path: Path
) -> Iterator[Service]:
    with Service(control_plane, tmp_path / "service", webhook_command) as running:
        yield running


@pytest.fixture
def labelled(namespace: NamespaceFactory) -> str:
    return namespace("train")


def test_rolls_out_without_a_failed_admission(service: Service, api: Client, labelled: str) -> None:
    with Traffic(api, labelled) as traffic:
        assert service.roll() == [0, 0]
        after = traffic.admitted
        wait_until(lambda: traffic.admitted > after + 100, "admissions by the new replicas")
    assert traffic.failures == []
    assert all("Traceback" not in replica.output() for replica in service.replicas)


def test_a_killed_replica_costs_only_what_it_was_asked_and_every_pod_of_a_job_exists(
    service: Service,
    api: Client,
    controller_manager: ControlPlane,
    namespace: NamespaceFactory,
    labelled: str,
) -> None:
    job = made(
        "batch/v1 Job",
        "train",
        spec={
            "parallelism": JOB_PODS,
            "completions": JOB_PODS,
            "template": {"spec": {**POD["spec"], "restartPolicy": "Never"}},
        },
    )
    where = namespace("train")
    pods = f"/api/v1/namespaces/{where}/pods"
    victim = service.replicas[0]
    with Traffic(api, labelled) as traffic:
        assert api.create(job, where).status == 201
        wait_until(lambda: traffic.admitted > 50, "admissions")
        killed = time.monotonic()
        victim.stop(force=True)
        wait_until(
            lambda: not service.balancer.serves(victim.port),
            "the endpoint to be removed",
            interval=0.01,
        )
        removed = time.monotonic()
        wait_until(
            lambda: len(api.expect("GET", pods)["items"]) == JOB_PODS,
            "every pod of the Job",
            150,
            interval=1,
        )
        victim.start()
        wait_until(
            lambda: service.balancer.serves(victim.port),
            "the endpoint of the replica that was restarted",
        )
        after = traffic.admitted
        wait_until(lambda: traffic.admitted > after + 50, "admissions by both")
    unexplained = [each for each in traffic.failures if each.begun > removed or each.ended < killed]
    assert unexplained == []
    for pod in api.expect("GET", pods)["items"]:
        assert names.STATUS in pod["metadata"]["annotations"]
