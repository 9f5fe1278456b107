"""What ``check`` says of quotas and queues."""

from typing import Any

import pytest
import yaml

from tests.diagnose.check.findings import brief, expect
from tests.tables import cases
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
    ("hard", "used", "head", "words"),
    cases("""
enough | 8 | 3 | ok quota-fits ResourceQuota a/q | requests.rdma/hca is 8, 3 of it used, and a pod takes 2
zero | 0 | 0 | fail quota-too-small ResourceQuota a/q | is 0, 0 of it used, and a pod takes 2: every training pod is refused
too small | 1 | 0 | fail quota-too-small ResourceQuota a/q | is 1, 0 of it used, and a pod takes 2: every training pod is refused
used up | 8 | 7 | warn quota-used-up ResourceQuota a/q | is 8, 7 of it used, and a pod takes 2: the next pod is refused
unknown | | | warn quota-uncounted 1 ResourceQuota (a/q) | does not know rdma/hca: pods take as many as there are
"""),
)
def test_judges_a_quota(hard: str, used: str, head: str, words: str) -> None:
    expect(check_resource_quotas([quota(hard or None, used)], DEMANDS), f"{head} | {words}")


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


@pytest.mark.parametrize(
    ("queues", "covered", "excluded", "head"),
    cases("""
lacks | a main, b main | cpu memory | | warn cluster-queue-lacks ClusterQueue main
covers | a main | cpu rdma/hca | | ok cluster-queue-covers ClusterQueue main
excluded | a main | cpu | rdma/ | ok cluster-queue-covers ClusterQueue main
another namespace | other main | cpu | |
no such queue | a gone | cpu | |
no local queue | | cpu | |
"""),
)
def test_judges_kueue(queues: str, covered: str, excluded: str, head: str) -> None:
    locals_ = [local(*each.split()) for each in queues.split(", ") if each]
    clusters = [cluster(*covered.split())]
    found = check_kueue(locals_, clusters, tuple(excluded.split()), DEMANDS)
    expect(found, *([head] if head else []))


def test_says_what_becomes_of_pods_whose_device_a_queue_does_not_cover() -> None:
    found = check_kueue([local("a"), local("b")], [cluster("cpu")], (), DEMANDS)
    expect(
        found,
        "warn cluster-queue-lacks ClusterQueue main | does not cover rdma/hca, which pods of a, b "
        "get: plain pods and pod groups are never admitted; Jobs are, without being counted",
    )


@pytest.mark.parametrize(
    ("capability", "head", "words"),
    cases("""
none | {} | ok volcano-queues-fit Volcano queues | none keeps pods from rdma/hca
of another | {cpu: "8"} | ok volcano-queues-fit Volcano queues |
enough | {rdma/hca: "8"} | ok volcano-queues-fit Volcano queues |
too small | {rdma/hca: 1} | warn volcano-queue-too-small Volcano queue q | capability has rdma/hca: 1, and a pod takes 2: it stays Pending
no number | {rdma/hca: x} | warn volcano-queue-too-small Volcano queue q | capability has rdma/hca: x
"""),
)
def test_judges_volcano(capability: str, head: str, words: str) -> None:
    given = yaml.safe_load(capability)
    queue = {"metadata": {"name": "q"}, "spec": {"capability": given} if given else {}}
    expect(check_volcano([queue], DEMANDS), f"{head} | {words}")


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
