"""Jobs of two pods whose cards are claims, and what holds once they have met."""

from collections.abc import Sequence
from typing import Any

from tests import pods as fixtures
from tests.cluster.client import Client
from tests.cluster.node import jobs
from tests.cluster.node.pods import Pod, Report
from tests.cluster.operators.expectations import assert_wait_ended
from webhook.core.model import Object

from .claims import claim_address, give

SECONDS = 300
"""In which a job has met: torch alone takes half a minute to import where two processors are shared."""


def pytorchjob(template: str = "", **changes: Any) -> tuple[Object, Object]:
    """Give Master and Worker of a PyTorchJob that hold on once they have trained; with claims of the *template*, if it names one.

    *changes* are fields of their containers. A pod's claims are gone as soon as it has ended.
    """
    master, worker = jobs.pytorchjob(**changes)
    for pod in (master, worker):
        fixtures.drop_env(pod, "PET_NPROC_PER_NODE")
        for name, value in (("PET_NPROC_PER_NODE", "1"), ("HOLD_SECONDS", "600")):
            fixtures.add_env(pod, name, value)
        pod["spec"]["terminationGracePeriodSeconds"] = 1
        if template:
            give(pod, template)
    return master, worker


def start(api: Client, manifests: Sequence[Object], namespace: str) -> list[Pod]:
    """Create the pods, the worker first; give them rank 0 first."""
    return jobs.start_pods(api, [*manifests], namespace)


def trained(pods: Sequence[Pod]) -> list[Report]:
    """Wait until the pods have trained; give what they tell."""
    return [pod.wait_until_trained(SECONDS) for pod in pods]


def assert_met_at_the_claims_address(reports: Sequence[Report]) -> str:
    """Assert that MASTER_ADDR is the address of rank 0's claim on every rank, and that each waited for it; give the address."""
    address = claim_address(reports[0].pod)
    for rank, report in enumerate(reports):
        assert report.train["rank"] == rank
        assert report.train["environment"]["MASTER_ADDR"] == address
        assert_wait_ended(report)
    return address
