"""Which pods their owners are told of, when, and in which words."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests import pods
from webhook.core import names
from webhook.core.model import Object
from webhook.core.reconcile import Member, read_member
from webhook.core.reconcile.complaint import (
    Complaint,
    about_address,
    about_status,
    placement,
    sibling_selector,
)
from webhook.core.workloads import TrainingPod, recognise

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def member(*, role: str = "worker", job: str = "j-1", status: str | None = None) -> Member:
    annotations = {names.NETWORK_STATUS: status} if status is not None else {}
    found = read_member(pods.member_pod("w-1", role, job, uid="u-1", annotations=annotations))
    assert found is not None
    return found


def pod(bound_seconds: float | None, **more: Any) -> Object:
    """Give a whole pod that has been on its node for so long; None: on none yet."""
    since = (NOW - timedelta(seconds=bound_seconds or 0)).strftime("%Y-%m-%dT%H:%M:%SZ")
    conditions = [{"type": "Ready", "status": "False"}]
    if bound_seconds is not None:
        conditions.append({"type": "PodScheduled", "status": "True", "lastTransitionTime": since})
    metadata = {
        "namespace": "ml",
        "name": "w-1",
        "uid": "u-1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return {
        "metadata": metadata | more.pop("metadata", {}),
        "spec": {"nodeName": "node-7"} if bound_seconds is not None else {},
        "status": {"phase": "Pending", "conditions": conditions} | more.pop("status", {}),
    }


def complaint(found: Complaint | float | None) -> Complaint:
    assert isinstance(found, Complaint)
    return found


@pytest.mark.parametrize(
    ("status", "reason", "text"),
    [
        ("{", "NetworkStatusUnusable", "default/rdma-net@net1: is not a list of networks"),
        (
            '[{"name":"default/rdma-net","interface":"net1","ips":["x"]}]',
            "NetworkStatusUnusable",
            "'x', which is not an IP",
        ),
        (
            '[{"name":"default/rdma-net","interface":"net2","ips":["10.0.0.1"]}]',
            "UnexpectedInterface",
            "on interface net2",
        ),
    ],
)
def test_tells_what_is_wrong_with_a_network_status(status: str, reason: str, text: str) -> None:
    found = complaint(about_status(member(status=status)))
    assert found.reason == reason
    assert text in found.message


@pytest.mark.parametrize(
    "status", [None, "[]", '[{"name":"default/rdma-net","interface":"net1","ips":["10.0.0.1"]}]']
)
def test_finds_no_fault_in_a_network_status_that_is_missing_or_good(status: str | None) -> None:
    assert about_status(member(status=status)) is None


def test_a_pod_without_an_address_is_told_where_it_is_and_what_lacks() -> None:
    placed = placement(pod(61), NOW)
    assert placed is not None
    found = about_address(member(), placed)
    assert found.reason == "NoSecondaryAddress"
    assert "on node node-7 for 61 s" in found.message
    assert f"{names.NETWORK_STATUS} is missing" in found.message
    other = about_address(member(status="[]"), placed)
    assert "lists no network default/rdma-net@net1" in other.message


@pytest.mark.parametrize(
    "innocent",
    [
        pytest.param(pod(None), id="queued-by-a-gang-scheduler"),
        pytest.param(
            pod(90, metadata={"deletionTimestamp": "2026-01-01T11:59:59Z"}), id="terminating"
        ),
        pytest.param(pod(90, status={"phase": "Failed"}), id="failed"),
        pytest.param(pod(90, status={"phase": "Succeeded"}), id="succeeded"),
        pytest.param(
            pod(90, metadata={"creationTimestamp": None}, status={"conditions": None}),
            id="of-unknown-age",
        ),
    ],
)
def test_other_pods_are_nowhere(innocent: Object) -> None:
    assert placement(innocent, NOW) is None


def test_a_pod_that_was_bound_by_its_creator_counts_from_its_creation() -> None:
    created = (NOW - timedelta(seconds=45)).isoformat()
    mirror = pod(90, metadata={"creationTimestamp": created}, status={"conditions": None})
    assert placement(mirror, NOW) == ("node-7", 45)


@pytest.mark.parametrize(
    "name", [name for name in pods.all_names() if "raycluster" not in name and "mpijob" not in name]
)
def test_a_systems_pods_are_found_by_a_label_that_all_of_a_job_carry(name: str) -> None:
    found = pods.load(name)
    key, _, value = sibling_selector(found).partition("=")
    if not key:  # a StatefulSet whose template carries no label of those: all pods of the namespace are asked for
        assert isinstance(recognise(found), TrainingPod)
        return
    assert found["metadata"]["labels"][key] == value
    assert not key.endswith(("replica-index", "job-completion-index", "worker-index"))


def test_a_pod_without_such_a_label_has_no_selector() -> None:
    assert sibling_selector(pods.plain({"other": "x"})) == ""
    assert sibling_selector(pods.plain({"app": "x", "group-name": "g"})) == "group-name=g"
