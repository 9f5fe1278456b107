"""A roll-out of the webhooks while pods are created fifty times a second."""

from collections.abc import Iterator

import pytest

from tests.apiserver.installation import Installation, injected, remove
from tests.apiserver.traffic import Traffic
from tests.cluster.controlplane import ControlPlane
from tests.cluster.installation import install_yaml
from tests.waiting import wait_until


def apply_command() -> tuple[str, ...]:
    return "apply", "--server-side", f"--filename={install_yaml()}"


@pytest.fixture
def applied(cluster: ControlPlane) -> Iterator[None]:
    cluster.kubectl(*apply_command())
    yield
    remove(cluster, install_yaml().read_text())


def test_rolls_out_without_a_failed_admission(
    applied: None, cluster: ControlPlane, installation: Installation
) -> None:
    """All is applied again meanwhile, the controller's part first."""
    installation.start_controller()
    installation.start_webhook()
    installation.start_webhook()
    wait_until(lambda: injected(cluster.api), "a pod to be injected by way of the Service")
    with Traffic(cluster.api, "labelled", "rdma-shared") as traffic:
        controller = "--selector=app.kubernetes.io/component=controller"
        cluster.kubectl(*apply_command(), controller)
        cluster.kubectl(*apply_command())
        assert installation.roll() == [0, 0]
        after = traffic.admitted
        wait_until(lambda: traffic.admitted > after + 100, "admissions by the new replicas")
    assert traffic.failures == []
    assert all("Traceback" not in webhook.output() for webhook in installation.webhooks)
