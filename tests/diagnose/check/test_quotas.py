"""What ``check`` says of quotas and queues."""

from typing import Any

import pytest

from tests.diagnose.check.findings import brief
from webhook.core.cluster.demand import Demand
from webhook.core.model import Object
from webhook.diagnose.check.quotas import (
    Quota,
    check_kueue,
    check_resource_quotas,
    check_volcano,
    read_quota,
)

DEMANDS = [Demand("shared", {"rdma/hca": 2, "hugepages-2Mi": 4}, {}, ("a", "b"))]
KEY = "requests.rdma/hca"


def quota(hard: str | None, used: str = "0", namespace: str = "a") -> Quota:
    return Quota(namespace, "q", {} if hard is None else {KEY: hard}, {KEY: used})


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (
            quota("8", "3"),
            "ok ResourceQuota a/q: requests.rdma/hca is 8, 3 of it used, and a pod takes 2",
        ),
        (
            quota("0"),
            "fail ResourceQuota a/q: requests.rdma/hca is 0, 0 of it used, and a pod takes 2: every training pod is refused",
        ),
        (
            quota("1"),
            "fail ResourceQuota a/q: requests.rdma/hca is 1, 0 of it used, and a pod takes 2: every training pod is refused",
        ),
        (
            quota("8", "7"),
            "warn ResourceQuota a/q: requests.rdma/hca is 8, 7 of it used, and a pod takes 2: the next pod is refused",
        ),
        (
            quota(None),
            "warn 1 ResourceQuota (a/q): does not know rdma/hca: pods take as many as there are",
        ),
    ],
    ids=["enough", "zero", "too small", "used up", "unknown"],
)
def test_judges_a_quota(found: Quota, expected: str) -> None:
    assert brief(check_resource_quotas([found], DEMANDS)) == [expected]


def test_passes_over_quotas_of_other_namespaces() -> None:
    assert brief(check_resource_quotas([quota("0", namespace="other")], DEMANDS)) == []


def test_tells_uncounting_quotas_in_one_line() -> None:
    many = [quota(None, namespace=namespace) for namespace in "ab"]
    assert brief(check_resource_quotas(many, DEMANDS)) == [
        "warn 2 ResourceQuotas (a/q, b/q): do not know rdma/hca: pods take as many as there are"
    ]


def test_reads_a_quota() -> None:
    metadata = {"namespace": "a", "name": "q"}
    spec: Any = {"hard": {KEY: 4}}
    assert read_quota({"metadata": metadata, "spec": spec}) == Quota("a", "q", spec["hard"], {})
    status = {"hard": {KEY: "4"}, "used": {KEY: "1"}}
    assert read_quota({"metadata": metadata, "status": status}) == Quota(
        "a", "q", {KEY: "4"}, {KEY: "1"}
    )


def local(namespace: str, queue: str = "main") -> Object:
    return {"metadata": {"namespace": namespace, "name": "local"}, "spec": {"clusterQueue": queue}}


def cluster(*covered: str, name: str = "main") -> Object:
    return {
        "metadata": {"name": name},
        "spec": {"resourceGroups": [{"coveredResources": list(covered)}]},
    }


LACKS = (
    "warn ClusterQueue main: does not cover rdma/hca, which pods of a, b get: plain pods and pod groups are never admitted; Jobs are, "
    "without being counted"
)


@pytest.mark.parametrize(
    ("locals_", "clusters", "excluded", "expected"),
    [
        ([local("a"), local("b")], [cluster("cpu", "memory")], (), [LACKS]),
        (
            [local("a")],
            [cluster("cpu", "rdma/hca")],
            (),
            ["ok ClusterQueue main: knows or passes over rdma/hca"],
        ),
        (
            [local("a")],
            [cluster("cpu")],
            ("rdma/",),
            ["ok ClusterQueue main: knows or passes over rdma/hca"],
        ),
        ([local("other")], [cluster("cpu")], (), []),
        ([local("a", "gone")], [cluster("cpu")], (), []),
        ([], [cluster("cpu")], (), []),
    ],
    ids=["lacks", "covers", "excluded", "another namespace", "no such queue", "no local queue"],
)
def test_judges_kueue(
    locals_: list[Object], clusters: list[Object], excluded: tuple[str, ...], expected: list[str]
) -> None:
    assert brief(check_kueue(locals_, clusters, excluded, DEMANDS)) == expected


@pytest.mark.parametrize(
    ("capability", "expected"),
    [
        (None, "ok Volcano queues: none keeps pods from rdma/hca"),
        ({"cpu": "8"}, "ok Volcano queues: none keeps pods from rdma/hca"),
        ({"rdma/hca": "8"}, "ok Volcano queues: none keeps pods from rdma/hca"),
        (
            {"rdma/hca": 1},
            "warn Volcano queue q: capability has rdma/hca: 1, and a pod takes 2: it stays Pending",
        ),
        (
            {"rdma/hca": "x"},
            "warn Volcano queue q: capability has rdma/hca: x, and a pod takes 2: it stays Pending",
        ),
    ],
    ids=str,
)
def test_judges_volcano(capability: Object | None, expected: str) -> None:
    queue = {"metadata": {"name": "q"}, "spec": {"capability": capability} if capability else {}}
    assert brief(check_volcano([queue], DEMANDS)) == [expected]


def test_calls_no_queue_fit_for_one_device_that_lacks_another() -> None:
    demands = [Demand("rails", {"rdma/hca": 1, "rdma/other": 1}, {}, ("a",))]
    [line] = brief(check_kueue([local("a")], [cluster("cpu", "rdma/hca")], (), demands))
    assert line.startswith("warn ClusterQueue main: does not cover rdma/other, which pods of a get")


def test_says_nothing_where_nothing_is_asked_for() -> None:
    assert brief(check_volcano([{"metadata": {"name": "q"}}], [Demand("plain", {}, {})])) == []


def test_counts_quantities_by_what_a_pod_takes_at_least() -> None:
    demands = [Demand("efa", {"vpc/efa": 4}, {}, ("a",), at_least=frozenset({"vpc/efa"}))]
    [found] = check_resource_quotas([Quota("a", "q", {"requests.vpc/efa": "2"}, {})], demands)
    assert (found.level, found.message) == (
        "fail",
        "requests.vpc/efa is 2, 0 of it used, and a pod takes at least 4: every training pod is refused",
    )
