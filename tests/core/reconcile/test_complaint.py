"""Which pods their owners are told of, when, and in which words."""

import json

import pytest

from tests import pods
from tests.tables import table
from webhook.core import names
from webhook.core.reconcile import Member, read_member
from webhook.core.reconcile.complaint import (
    about_address,
    about_status,
    sibling_selector,
)
from webhook.core.workloads import TrainingPod, recognise


def member(*, role: str = "worker", job: str = "j-1", status: str | None = None) -> Member:
    annotations = {names.NETWORK_STATUS: status} if status is not None else {}
    found = read_member(pods.member_pod("w-1", role, job, uid="u-1", annotations=annotations))
    assert found is not None
    return found


def entry(interface: str, ip: str) -> str:
    return json.dumps([{"name": "default/rdma-net", "interface": interface, "ips": [ip]}])


@table(
    "status, reason, text",
    {
        "too long": ("[" + " " * 70_000 + "]", "NetworkStatusUnusable", "70002 characters"),
        "no list": ("{", "NetworkStatusUnusable", "net1: is not a list of networks"),
        "no address": (entry("net1", "x"), "NetworkStatusUnusable", "'x', which is not an IP"),
        "elsewhere": (entry("net2", "10.0.0.1"), "UnexpectedInterface", "on interface net2"),
    },
)
def test_tells_what_is_wrong_with_a_network_status(status: str, reason: str, text: str) -> None:
    found = about_status(member(status=status))
    assert found is not None
    assert found.reason == reason
    assert text in found.message


def test_a_member_that_asks_for_no_device_tells_of_none() -> None:
    found = member(status=entry("net1", "10.0.0.1"))
    assert found.devices == ()
    bare = read_member(
        pods.member_pod(
            "w-1", "worker", "j-1", uid="u-1", annotations={names.RENDEZVOUS_NETWORK: "none"}
        )
    )
    assert bare is not None
    assert (bare.wanted, bare.rendezvous_network) == ("", "")


@pytest.mark.parametrize("status", [None, "[]", entry("net1", "10.0.0.1")])
def test_finds_no_fault_in_a_network_status_that_is_missing_or_good(status: str | None) -> None:
    assert about_status(member(status=status)) is None


def test_a_pod_without_an_address_is_told_where_it_is_and_what_lacks() -> None:
    found = about_address(member(), "node-7", 61.3)
    assert found.reason == "NoSecondaryAddress"
    assert "on node node-7 for 61 s" in found.message
    assert f"{names.NETWORK_STATUS} is missing" in found.message
    other = about_address(member(status="[]"), "node-7", 61.3)
    assert "lists no network default/rdma-net@net1" in other.message


@pytest.mark.parametrize(
    "name", [name for name in pods.all_names() if "raycluster" not in name and "mpijob" not in name]
)
def test_a_systems_pods_are_found_by_a_label_that_all_of_a_job_carry(name: str) -> None:
    found = pods.load(name)
    key, _, value = sibling_selector(found).partition("=")
    if not key:  # a StatefulSet without such labels: all pods of the namespace are asked for
        assert isinstance(recognise(found), TrainingPod)
        return
    assert found["metadata"]["labels"][key] == value
    assert not key.endswith(("replica-index", "job-completion-index", "worker-index"))


def test_a_pod_without_such_a_label_has_no_selector() -> None:
    assert sibling_selector(pods.plain({"other": "x"})) == ""
    assert sibling_selector(pods.plain({"app": "x", "group-name": "g"})) == "group-name=g"
