"""Jobs of two pods whose cards are claims, and what holds once they have met."""

from collections.abc import Sequence
from typing import Any

from tests import pods as fixtures
from tests.cluster.node import jobs
from tests.cluster.node.pods import Report
from tests.cluster.operators.expectations import assert_wait_ended
from webhook.core.model import Object

from .claims import claim_address, give


def pytorchjob(template: str = "", **changes: Any) -> list[Object]:
    """Give Master and Worker of a PyTorchJob that hold on; with claims of the *template*, if any.

    *changes* are fields of their containers. A pod's claims are gone as soon as it has ended.
    """
    pods = jobs.holding(**changes)
    for pod in pods:
        fixtures.drop_env(pod, "PET_NPROC_PER_NODE")
        fixtures.add_env(pod, "PET_NPROC_PER_NODE", "1")
        if template:
            give(pod, template)
    return pods


def assert_met_at_the_claims_address(reports: Sequence[Report]) -> str:
    """Assert that each rank waited for the address of rank 0's claim and met there; give it."""
    address = claim_address(reports[0].pod)
    for rank, report in enumerate(reports):
        assert report.train["rank"] == rank
        assert report.master_addr == address
        assert_wait_ended(report)
    return address
