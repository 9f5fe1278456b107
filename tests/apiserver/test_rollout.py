"""A roll-out of the replicas while pods are created fifty times a second."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.client import Client
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.service import Service
from tests.cluster.traffic import Traffic
from tests.waiting import wait_until


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
