"""Jobs of two pods whose cards are claims meet at the claim's address, with real torchrun."""

import pytest

from tests.cluster.node.expectations import assert_on_the_fabric
from tests.cluster.node.fixtures import NamespaceFactory
from tests.cluster.operators.expectations import assert_trained_on_the_fabric

from .claims import assert_met_at_the_claims_address, create_template, pytorchjob

pytestmark = pytest.mark.usefixtures("dranet", "webhook", "controller")


def test_claims_of_the_users(namespace: NamespaceFactory, torch: str) -> None:
    """The profile says only where the address is told; template and references are the users'."""
    space = namespace("own-claims")
    create_template(space, "card")
    reports = [pod.report() for pod in space.start(*pytorchjob("card", image=torch))]
    assert_met_at_the_claims_address(reports)
    assert_trained_on_the_fabric(reports)


def test_claims_of_the_preset(namespace: NamespaceFactory, torch: str) -> None:
    """The pods ask for nothing: the webhook refers to the template, which the controller makes."""
    pods = namespace("dranet").start(*pytorchjob(image=torch))
    reports = [pod.report() for pod in pods]
    assert_met_at_the_claims_address(reports)
    assert_trained_on_the_fabric(reports, "dranet0")


def test_a_template_that_the_profile_names(namespace: NamespaceFactory) -> None:
    """It is the admin's; the webhook refers to it, and nobody makes another."""
    space = namespace("named-template")
    create_template(space, "admins")
    reports = [pod.report() for pod in space.start(*pytorchjob())]
    assert_met_at_the_claims_address(reports)
    for report in reports:
        assert_on_the_fabric(report)


def test_without_injection_the_same_job_trains_on_the_pod_network(
    namespace: NamespaceFactory, torch: str
) -> None:
    """What the others measure is there to be measured: a claim alone moves no traffic."""
    space = namespace(None)
    create_template(space, "card")
    for report in [pod.report() for pod in space.start(*pytorchjob("card", image=torch))]:
        assert report.master_addr == "bert-master-0"
        assert report.carried("eth0") > 16 << 20
        assert report.carried("net1") < 256 << 10
