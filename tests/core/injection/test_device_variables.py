"""The variables that take the names of the pod's own RDMA devices, and the wait for them."""

import json
from typing import Any

import pytest

from tests import pods
from tests.core.builders import attachment, carry_out, environment, outcomes, plan, profile
from tests.core.injection.test_copies import check_starts, opted_out
from tests.core.injection.test_rendezvous import plan_for, waits_for
from tests.core.test_review import judge
from tests.pods import minimal_pod
from tests.profiles import profiles
from tests.worlds import world
from webhook.core import names, podspec
from webhook.core.injection import wait
from webhook.core.injection.device_variables import inject
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.profiles import Profile, Profiles
from webhook.core.reconcile import Jobs, read_member

BOTH = profile(device_variables=("NCCL_IB_HCA", "UCX_NET_DEVICES"))
ADDED, KEPT = (Outcome.INJECTED, Reason.ADDED), (Outcome.KEPT, Reason.ALREADY_THERE)
WORKER = "pods/kubeflow-pytorchjob-1.yaml"
DEVICES = {"NCCL_IB_HCA": "@nccl-ib-hca", "UCX_NET_DEVICES": "@ucx-net-devices"}


def fabric(rest: str = "deviceVariables: [NCCL_IB_HCA, UCX_NET_DEVICES]") -> Profiles:
    return profiles(
        f"{{rdma: {{networks: [{{network: default/rdma-net, resource: rdma/hca}}], {rest}}}}}"
    )


def step(pod: Object, using: Profile = BOTH, **tweaks: Any) -> tuple[Object, list[Decision]]:
    return carry_out(inject, pod, plan_for(pod, profile=using, **tweaks))


def admitted(pod: Object, using: Profiles) -> Object:
    verdict = judge(pod, world(profile="rdma"), using)
    assert verdict.allowed, verdict.message
    return verdict.pod


def shown(pod: Object) -> dict[str, str]:
    """Return the files of the wait step, each with the annotation that it shows."""
    volume = podspec.volume_named(pod, names.WAIT_VOLUME)
    assert volume is not None
    return {item["path"]: item["fieldRef"]["fieldPath"] for item in volume["downwardAPI"]["items"]}


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("kubeflow-pytorchjob-1", ["master-addr"]),
        ("kubeflow-pytorchjob-0", ["master-addr:own", "local-addr:own"]),
        ("torchx-volcano-1", ["master-addr"]),
    ],
)
def test_a_member_takes_its_devices_and_waits_for_them_as_for_addresses(
    name: str, needs: list[str]
) -> None:
    before = pods.load(f"pods/{name}.yaml")
    plain, pod = admitted(before, fabric("")), admitted(before, fabric())
    found = environment(pod)
    assert {**found, **DEVICES} == found
    assert waits_for(plain) == needs
    assert waits_for(pod) == [*needs, "nccl-ib-hca", "ucx-net-devices"]
    assert shown(plain) == wait.FILES
    assert shown(pod) == {**wait.FILES, **wait.DEVICE_FILES}
    assert shown(pod)["nccl-ib-hca"] == f"metadata.annotations['{names.NCCL_IB_HCA}']"
    told = pod["metadata"]["annotations"][names.WAITS_FOR]
    assert (
        told == plain["metadata"]["annotations"][names.WAITS_FOR] + ",nccl-ib-hca,ucx-net-devices"
    )
    rest = [entry for entry in pod["spec"]["containers"][0]["env"] if entry["name"] not in DEVICES]
    assert rest == plain["spec"]["containers"][0]["env"]
    assert [command_of(plain)[2], command_of(pod)[2]] == [wait.script(), wait.script(devices=True)]


def command_of(pod: Object) -> list[str]:
    [found] = [one for one in pod["spec"]["initContainers"] if one["name"] == names.WAIT_CONTAINER]
    return list(found["command"])


def test_a_pod_that_does_not_wait_for_them_has_the_script_without_them() -> None:
    assert len(wait.script(devices=True).splitlines()) == len(wait.script().splitlines()) + 3
    assert "ucx-net-devices" not in wait.script()
    assert "# devices" not in wait.script(devices=True)


ENDPOINT = [
    "torchrun",
    "--nnodes=2",
    "--rdzv-backend=c10d",
    "--rdzv-endpoint=$(HOST):29500",
    "train.py",
]


def rank_of_c10d(index: int, **tweaks: Any) -> Object:
    """Return a pod of an indexed Job whose endpoint stands in its text, so that its job's rank 0 is not known."""
    pod = pods.load(f"pods/indexed-job-{index}.yaml")
    trainer = pod["spec"]["containers"][0]
    trainer.update(command=ENDPOINT, args=[], env=[{"name": "HOST", "value": "etcd.example.com"}])
    pod["metadata"].update(name=f"train-{index}-x7k2p", namespace="research", uid="u")
    pod["spec"].update(tweaks)
    return pod


@pytest.mark.parametrize("index", [0, 1])
def test_each_rank_of_a_job_that_meets_by_an_endpoint_of_its_own_is_told_its_devices(
    index: int,
) -> None:
    before = rank_of_c10d(index)
    plain, pod = admitted(before, fabric("")), admitted(before, fabric())
    assert {**environment(pod), **DEVICES} == environment(pod)
    assert waits_for(pod)[-2:] == ["nccl-ib-hca", "ucx-net-devices"]
    assert admitted(pod, fabric()) == pod
    member = read_member(pod)
    assert member is not None
    assert [key for key, _ in member.devices] == [names.NCCL_IB_HCA, names.UCX_NET_DEVICES]
    if index:
        assert names.JOB not in plain["metadata"].get("labels", {})
        assert waits_for(pod) == ["nccl-ib-hca", "ucx-net-devices"]
        assert names.RENDEZVOUS_NETWORK not in pod["metadata"]["annotations"]
        assert [member.is_master, member.is_suspicious, member.waits_for_rank_zero] == [
            False,
            False,
            False,
        ]


def test_such_a_rank_is_told_its_own_devices_by_the_controller_and_nothing_else() -> None:
    pod = admitted(rank_of_c10d(1), fabric("deviceVariables: [NCCL_IB_HCA]"))
    assert pod["metadata"]["labels"][names.RENDEZVOUS] == "worker"
    status = [
        {
            "name": "default/rdma-net",
            "interface": "net1",
            "device-info": {"pci": {"rdma-device": "mlx5_4"}},
        }
    ]
    pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/network-status"] = json.dumps(status)
    jobs = Jobs()
    [unit] = jobs.update(("research", pod["metadata"]["name"]), read_member(pod))
    found = jobs.publication(unit)
    assert found is not None
    assert found.annotations == {names.NCCL_IB_HCA: "=mlx5_4"}
    assert jobs.suspects() == []


def test_a_pod_without_a_rendezvous_gets_none_and_is_told_why() -> None:
    pod = minimal_pod()
    why = Decision("rendezvous", Outcome.SKIPPED, Reason.NO_MASTER, "it is alone")
    result, decisions = carry_out(
        inject, pod, plan(pod, attachment(), profile=BOTH, why_no_rendezvous=why)
    )
    assert result == pod
    assert outcomes(decisions) == [(Outcome.SKIPPED, Reason.NO_MASTER)]
    assert decisions[0].message.endswith(": it is alone")


def test_a_pod_that_meets_on_a_network_of_something_else_gets_none() -> None:
    """Nobody writes network-status there: the pod would wait in vain."""
    pod = pods.load(WORKER)
    plan_of_pod = plan_for(pod, profile=BOTH, attachments=())
    result, decisions = carry_out(inject, pod, plan_of_pod)
    assert result == pod
    assert outcomes(decisions) == [(Outcome.SKIPPED, Reason.NO_IPAM)]


def test_a_profile_that_does_not_ask_takes_back_what_an_earlier_pass_added() -> None:
    before = pods.load(WORKER)
    pod, decisions = step(before)
    assert outcomes(decisions) == [ADDED]
    [kept] = step(pod)[1]
    assert (kept.outcome, kept.message) == (
        Outcome.KEPT,
        "container pytorch has NCCL_IB_HCA, UCX_NET_DEVICES: the names of the pod's RDMA devices, once Multus has told them",
    )
    again, decisions = step(pod, profile(device_variables=("NCCL_IB_HCA",)))
    assert outcomes(decisions) == [KEPT]
    assert "UCX_NET_DEVICES" not in environment(again)
    assert step(again, profile())[0] == before


def test_a_variable_of_the_users_own_that_reads_the_annotation_stays() -> None:
    own = {
        "name": "MY_CARDS",
        "valueFrom": {"fieldRef": {"fieldPath": wait.DEVICE_FILES["nccl-ib-hca"]}},
    }
    before = pods.load(WORKER)
    before["spec"]["containers"][0]["env"].append(own)
    for using in (BOTH, profile()):
        assert own in step(before, using)[0]["spec"]["containers"][0]["env"]


def test_a_pod_of_another_profile_now_waits_for_less() -> None:
    pod = admitted(admitted(pods.load(WORKER), fabric()), fabric("deviceVariables: [NCCL_IB_HCA]"))
    assert waits_for(pod) == ["master-addr", "nccl-ib-hca"]
    pod = admitted(pod, fabric(""))
    assert waits_for(pod) == ["master-addr"]
    assert not DEVICES.keys() & environment(pod).keys()


def test_a_copy_that_opts_out_neither_waits_nor_takes_them() -> None:
    copy = opted_out(admitted(pods.load(WORKER), fabric()))
    verdict = judge(copy, world(profile="rdma"), fabric())
    check_starts(verdict)
    found = environment(verdict.pod)
    assert not DEVICES.keys() & found.keys()
    assert found["MASTER_ADDR"] == "bert-master-0"
