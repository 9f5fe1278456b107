"""Jobs of two pods whose cards are claims meet at the claim's address, with real torchrun."""

import pytest

from tests.cluster.claims.claims import create_template, template
from tests.cluster.claims.jobs import assert_met_at_the_claims_address, pytorchjob, start, trained
from tests.cluster.client import Client
from tests.cluster.operators.expectations import assert_trained_on_the_fabric
from tests.node.conftest import Figures, NamespaceFactory

pytestmark = pytest.mark.usefixtures("dranet", "webhook", "controller")


def test_claims_of_the_users(
    api: Client, namespace: NamespaceFactory, torch: str, figures: Figures
) -> None:
    """The profile says no more than where the address is told; template and references are the users'."""
    name = namespace("own-claims")
    create_template(api, template("card", "net1"), name)
    reports = trained(start(api, pytorchjob("card", image=torch), name))
    address = assert_met_at_the_claims_address(reports)
    figures.append(
        f"claims of the users: MASTER_ADDR {address}, eth0/net1: {assert_trained_on_the_fabric(reports)}"
    )


def test_claims_of_the_profile(
    api: Client, namespace: NamespaceFactory, torch: str, figures: Figures
) -> None:
    """The pods ask for nothing: the webhook refers to the template, which the controller makes."""
    reports = trained(start(api, pytorchjob(image=torch), namespace("cards")))
    address = assert_met_at_the_claims_address(reports)
    figures.append(
        f"claims of the profile: MASTER_ADDR {address}, eth0/net1: {assert_trained_on_the_fabric(reports)}"
    )


def test_without_injection_the_same_job_trains_on_the_pod_network(
    api: Client, namespace: NamespaceFactory, torch: str
) -> None:
    """What the others measure is there to be measured: a claim alone moves no traffic."""
    name = namespace(None)
    create_template(api, template("card", "net1"), name)
    for report in trained(start(api, pytorchjob("card", image=torch), name)):
        assert report.train["environment"]["MASTER_ADDR"] == "bert-master-0"
        assert report.carried("eth0") > 16 << 20
        assert report.carried("net1") < 256 << 10
