"""Variables that hold the pod's own address on the fabric and its devices: pod_variables.yaml."""

import json

import pytest

from tests import pods
from tests.core.builders import environment
from tests.core.injection.test_copies import check_starts, opted_out
from tests.core.test_review import judge
from tests.core.workloads.rows import build, each
from tests.profiles import profiles
from tests.tables import read
from tests.worlds import world
from webhook.core import names, podspec
from webhook.core.injection import wait
from webhook.core.model import Object
from webhook.core.profiles import Profiles
from webhook.core.reconcile import Jobs, read_member
from webhook.diagnose.jobs import ObservedPod

ROWS = read(__file__, "pod_variables.yaml")
STATUS = [
    {
        "name": "default/rdma-net",
        "interface": "net1",
        "ips": ["192.168.7.9"],
        "device-info": {"pci": {"rdma-device": "mlx5_4"}},
    }
]


def fabric(more: Object | None = None) -> Profiles:
    spec = {
        "pods": "accelerators",
        "addressVariables": ["VLLM_HOST_IP"],
        "networks": [{"network": "default/rdma-net", "resource": "rdma/hca"}],
    }
    return profiles(json.dumps({"rdma": {**spec, **(more or {})}}))


def admitted(pod: Object, using: Profiles) -> Object:
    verdict = judge(pod, world(profile="rdma"), using)
    assert verdict.allowed, verdict.message
    return verdict.pod


def admitted_row(title: str) -> Object:
    row = dict(ROWS[title])
    for key in ("waits", "is", "says"):
        row.pop(key, None)
    using = fabric(row.pop("profile", None))
    return admitted(build(json.loads(json.dumps(row))), using)


@each(ROWS)
def test_a_pod_takes_what_is_its_own_and_waits_for_it(row: Object) -> None:
    row = json.loads(json.dumps(row))
    waits, values, says = row.pop("waits"), row.pop("is"), row.pop("says", None)
    using = fabric(row.pop("profile", None))
    verdict = judge(build(row), world(profile="rdma"), using)
    assert verdict.allowed, verdict.message
    pod = verdict.pod
    assert " ".join(wait.needs(pod)) == waits
    assert {name: environment(pod).get(name) for name in values} == values
    told = [each for each in verdict.decisions if each.step == "pod-variables"]
    said = [f"{each.outcome} {each.reason}: {each.message}" for each in told]
    assert said == (says or said)
    if waits:
        assert names.JOB in pod["metadata"]["labels"]
        needs = [need.partition(":")[0] for need in waits.split()]
        volume = podspec.volume_named(pod, names.WAIT_VOLUME) or {}
        shown = {each["path"] for each in volume["downwardAPI"]["items"]}
        assert shown == {*wait.FILES} | {*needs}
        assert sorted(pod["metadata"]["annotations"][names.WAITS_FOR].split(",")) == sorted(needs)
    assert admitted(pod, using) == pod


@pytest.mark.parametrize(
    ("title", "written"),
    [
        ("a server", {names.LOCAL_ADDR: "192.168.7.9"}),
        (
            "rank 1 of a job that meets by an endpoint of its own",
            {names.NCCL_IB_HCA: "=mlx5_4", names.UCX_NET_DEVICES: "mlx5_4:1"},
        ),
    ],
)
def test_the_controller_tells_a_pod_what_is_its_own_and_nothing_else(
    title: str, written: Object
) -> None:
    pod = admitted_row(title)
    pod["metadata"].update(name="train-1", namespace="train", uid="u")
    assert pod["metadata"]["labels"][names.RENDEZVOUS] == "worker"
    pod["metadata"]["annotations"][names.NETWORK_STATUS] = json.dumps(STATUS)
    member = read_member(pod)
    assert member is not None
    assert not member.waits_for_rank_zero
    jobs = Jobs()
    [unit] = jobs.update(("train", pod["metadata"]["name"]), member)
    found = jobs.publication(unit)
    assert found is not None
    assert found.annotations == written
    assert not ObservedPod(pod, member).is_member, "nobody asks for the rank 0 of such a pod"


@pytest.mark.parametrize("title", ["a server", "a worker that takes its devices"])
def test_a_copy_that_opts_out_neither_waits_nor_takes_them(title: str) -> None:
    verdict = judge(opted_out(admitted_row(title)), world(profile="rdma"), fabric())
    check_starts(verdict)
    assert not ROWS[title]["is"].keys() & environment(verdict.pod).keys()


def test_a_profile_that_names_it_no_longer_still_tells_it_to_a_pod_that_reads_it() -> None:
    again = admitted(admitted_row("a worker of a PyTorchJob"), fabric({"addressVariables": []}))
    assert wait.needs(again) == ["master-addr", "local-addr:own"]


def test_a_profile_that_does_not_ask_takes_back_what_an_earlier_pass_added() -> None:
    pod = admitted_row("a worker that takes its devices")
    pod = admitted(pod, fabric({"addressVariables": [], "deviceVariables": ["NCCL_IB_HCA"]}))
    assert wait.needs(pod) == ["master-addr", "nccl-ib-hca"]
    assert "UCX_NET_DEVICES" not in environment(pod)
    without = fabric({"addressVariables": []})
    plain = admitted(pods.load("pods/kubeflow-pytorchjob-1.yaml"), without)
    assert environment(admitted(pod, without)) == environment(plain)
    assert wait.needs(admitted(pod, without)) == ["master-addr"]
