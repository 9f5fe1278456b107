"""What the ranks' reports mean."""

from __future__ import annotations

import json
from typing import Any

import pytest

from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.codes import Code
from webhook.diagnose.fabric_test.verdict import GroupResult, describe_progress, is_over, judge, read_report
from webhook.diagnose.finding import Finding

ADDRESS = "10.9.0.1"
FABRIC = {"gbits": 9.4, "micros": 31.0}


def rank(number: int, **told: Any) -> Object:
    """Return a pod of a test that has ended, with what its rank told."""
    report = {"rank": number, "devices": {}, "memlock": -1, "sharedMemory": 1 << 30, **told}
    if number and "met" not in told:
        report |= {"met": {"at": ADDRESS}, "fabric": FABRIC, "podNetwork": {"gbits": 8.0, "micros": 60.0}} | told
    status = [{"name": "cni0", "default": True, "ips": [f"10.1.0.{number + 1}"]}]
    status.append({"interface": "net1", "ips": [f"10.9.0.{number + 1}"]})
    return {
        "metadata": {
            "name": f"t-{number}",
            "labels": {names.RENDEZVOUS: "worker" if number else "master"},
            "annotations": {
                "batch.kubernetes.io/job-completion-index": str(number),
                names.STATUS: "{}",
                names.NETWORK_STATUS: json.dumps(status),
            },
        },
        "spec": {"nodeName": f"node-{number}"},
        "status": {
            "phase": "Succeeded",
            "conditions": [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
                {"type": "PodReadyToStartContainers", "status": "True", "lastTransitionTime": "2026-01-01T00:00:03Z"},
            ],
            "containerStatuses": [{"name": "rank", "state": {"terminated": {"message": json.dumps(report)}}}],
        },
    }


def levels(result: GroupResult) -> dict[Code, str]:
    return {finding.code: finding.level for finding in result.findings}


def test_two_ranks_that_meet() -> None:
    result = judge([rank(1), rank(0)], 2)
    expected = dict.fromkeys((Code.TEST_ATTACHED, Code.TEST_RANKS_MET, Code.TEST_MEASURED), "ok")
    assert levels(result) == expected
    assert result.nodes == ("node-0", "node-1")
    assert "net1 3 s after it was scheduled" in result.findings[0].message
    assert result.as_json() == {
        "nodes": ["node-0", "node-1"],
        "address": ADDRESS,
        "failed": False,
        "fabricGbits": 9.4,
        "fabricMicros": 31.0,
        "podNetworkGbits": 8.0,
        "podNetworkMicros": 60.0,
        "rdmaGbits": None,
        "rdmaMicros": None,
    }


@pytest.mark.parametrize(
    ("worker", "code", "level"),
    [
        ({"met": {"at": ADDRESS, "problem": "timed out"}}, Code.TEST_RANKS_APART, "fail"),
        ({"met": {"at": "10.1.0.1"}, "fabric": FABRIC}, Code.TEST_MET_ELSEWHERE, "fail"),
        ({"met": {"at": ADDRESS}, "fabric": {"problem": "timed out"}}, Code.TEST_UNMEASURED, "warn"),
        ({"podNetwork": {"gbits": 30.0, "micros": 9.0}}, Code.TEST_FABRIC_SLOWER, "warn"),
        ({"devices": {"/dev/infiniband/uverbs0": ""}}, Code.TEST_DEVICES_OPEN, "ok"),
        ({"devices": {"/dev/infiniband/uverbs0": "Operation not permitted"}}, Code.TEST_DEVICE_CLOSED, "fail"),
        ({"devices": {"/dev/infiniband/uverbs0": ""}, "memlock": 8 << 20}, Code.TEST_MEMLOCK_LOW, "warn"),
        ({"rdma": {"device": "mlx5_2", "gbits": 92.62, "micros": 1.8}}, Code.TEST_RDMA_MEASURED, "ok"),
        ({"rdma": {"device": "mlx5_2", "problem": "ib_write_bw: x"}}, Code.TEST_RDMA_UNMEASURED, "warn"),
        ({"rdma": {"device": "mlx5_2", "problem": "x", "failed": True}}, Code.TEST_RDMA_FAILED, "fail"),
        ({"rdma": {"device": "mlx5_2", "problem": "x", "failed": 1}}, Code.TEST_RDMA_UNMEASURED, "warn"),
        ({"sharedMemory": 64 << 20}, Code.SHARED_MEMORY_SMALL, "warn"),
    ],
)
def test_what_is_wrong_has_a_code_of_its_own(worker: dict[str, Any], code: Code, level: str) -> None:
    result = judge([rank(0), rank(1, **worker)], 2)
    assert levels(result)[code] == level
    assert result.is_failing == (level == "fail")


def test_a_pod_that_was_not_injected_ends_the_test() -> None:
    pods = [rank(0), rank(1)]
    del pods[1]["metadata"]["annotations"][names.STATUS]
    assert is_over(pods[1:], 2)
    assert levels(judge(pods, 2))[Code.TEST_NOT_INJECTED] == "fail"


def test_ranks_that_are_told_no_address_are_no_failure() -> None:
    """As of a profile with rendezvous.addressSource: none, or of a network without IPAM."""
    pods = [rank(0), rank(1, met={"at": "t-0.t", "problem": "no address was told"})]
    for pod in pods:
        del pod["metadata"]["labels"]
        skipped = {"rendezvous": "profile p says rendezvous.addressSource: none"}
        pod["metadata"]["annotations"][names.STATUS] = json.dumps({"skipped": skipped})
    result = judge(pods, 2)
    assert levels(result) == {Code.TEST_ATTACHED: "ok", Code.TEST_UNMEASURED: "warn"}
    assert result.findings[-1].message.endswith("profile p says rendezvous.addressSource: none")
    assert (result.address, result.fabric_gbits) == ("", None)


@pytest.mark.parametrize("source", ["gke", "claim"])
@pytest.mark.parametrize(("at", "code"), [("10.7.0.1", Code.TEST_RANKS_MET), (ADDRESS, Code.TEST_MET_ELSEWHERE)])
def test_the_address_of_another_source_is_the_one_that_was_published(source: str, at: str, code: Code) -> None:
    """What Multus attached besides, at ADDRESS, is not where such ranks meet."""
    pods = [rank(0), rank(1, met={"at": at}, fabric=FABRIC)]
    for pod in pods:
        pod["metadata"]["annotations"] |= {names.ADDRESS_SOURCE: source, names.MASTER_ADDR: "10.7.0.1"}
    assert code in levels(judge(pods, 2))


def test_pods_without_a_network_of_multus_are_told_to_be_injected() -> None:
    pods = [rank(0), rank(1)]
    for pod in pods:
        told = pod["metadata"]["annotations"]
        told |= {names.ADDRESS_SOURCE: "gke", names.STATUS: json.dumps({"injected": ["devices", "rendezvous"]})}
        del told[names.NETWORK_STATUS]
    first = judge(pods, 2).findings[0]
    assert (first.level, first.code, first.message) == ("ok", Code.TEST_INJECTED, "is injected: devices, rendezvous")
    assert "attached" not in describe_progress(pods, 2)


def test_causes_come_before_what_follows_from_them() -> None:
    cause = Finding("fail", Code.QUOTA_REFUSED, "Job t", "exceeded quota")
    result = judge([], 2, ("a", "b"), [cause])
    assert [finding.code for finding in result.findings] == [Code.QUOTA_REFUSED, Code.TEST_UNFINISHED]
    assert result.nodes == ("a", "b")


def test_progress() -> None:
    waiting = rank(1)
    waiting["status"] = {"phase": "Pending"}
    told = describe_progress([rank(0), waiting], 2)
    assert told == "2/2 created, 2/2 injected, 2/2 scheduled, 2/2 attached, 1/2 started, 1/2 done"
    assert not is_over([rank(0), waiting], 2)
    assert is_over([rank(0), rank(1)], 2)


@pytest.mark.parametrize(
    "message", ["", "no JSON", "[]", "{}", '{"rank": [' + "[" * 3000, '{"rank": 1, "met": 7}', None]
)
def test_what_another_program_wrote_breaks_nothing(message: str | None) -> None:
    pod = rank(1)
    pod["status"]["containerStatuses"][0]["state"]["terminated"]["message"] = message
    pod["metadata"]["annotations"][names.NETWORK_STATUS] = "[1, {}]"
    assert read_report(pod).rank == 1
    assert judge([rank(0), pod], 2).nodes == ("node-0", "node-1")


def annotated(number: int, text: str) -> Object:
    pod = rank(number)
    pod["metadata"]["annotations"][names.NETWORK_STATUS] = text
    return pod


@pytest.mark.parametrize("text", ["", "[", "3", '{"a": 1}', "[]", "[1]", '[{"interface": "eth0", "default": true}]'])
def test_a_rank_without_a_network_is_not_told_as_attached(text: str) -> None:
    result = judge([rank(0), annotated(1, text)], 2)
    assert [each.subject for each in result.findings if each.code is Code.TEST_ATTACHED] == ["pod t-0"]


@pytest.mark.parametrize("ips", [7, "10.9.0.1", None, {}, [["10.9.0.1"]], ["10.9.0.1", 5]])
def test_addresses_that_are_no_list_break_nothing(ips: object) -> None:
    entries = [{"name": "cni0", "default": True, "ips": 5}, {"name": "ml/net", "interface": "net1", "ips": ips}]
    result = judge([annotated(0, json.dumps(entries)), rank(1)], 2)
    assert [each.subject for each in result.findings if each.code is Code.TEST_ATTACHED] == ["pod t-0", "pod t-1"]


def test_a_network_status_under_its_former_key_counts() -> None:
    pod = rank(0)
    told = pod["metadata"]["annotations"]
    told[names.NETWORKS_STATUS] = told.pop(names.NETWORK_STATUS)
    assert levels(judge([pod, rank(1, met={"at": "10.1.0.1"})], 2))[Code.TEST_MET_ELSEWHERE] == "fail"
    assert "2/2 attached" in describe_progress([pod, rank(1)], 2)


@pytest.mark.parametrize("times", [[], ["2026-01-01T00:00:00Z"], ["2026-01-01T00:00:00Z", "soon"]])
def test_how_long_a_network_took_is_told_where_both_times_are_known(times: list[str]) -> None:
    pod = rank(0)
    kinds = ("PodScheduled", "PodReadyToStartContainers")
    pod["status"]["conditions"] = [
        {"type": kind, "status": "True", "lastTransitionTime": at} for kind, at in zip(kinds, times, strict=False)
    ]
    attached = [each.message for each in judge([pod, rank(1)], 2).findings if each.code is Code.TEST_ATTACHED]
    assert any(message.endswith("has net1") for message in attached)


def test_the_report_is_that_of_the_container_that_tests() -> None:
    pod = rank(1)
    other = {"name": "sidecar", "state": {"terminated": {"message": json.dumps({"rank": 7})}}}
    pod["status"]["containerStatuses"].insert(0, other)
    assert read_report(pod).rank == 1
    assert read_report(pod).told["rank"] == 1
    pod["status"]["containerStatuses"].pop()
    assert read_report(pod).told == {}
