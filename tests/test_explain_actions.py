"""What `explain` says to do: what helps differs where the same component says much the same."""

from __future__ import annotations

import pytest

from tests.scenes import Scene, ago, event, node
from tests.test_explain_causes import CRASHING, ended, first
from webhook import names
from webhook.explain.explanation import explain
from webhook.profiles import parse_profiles


@pytest.mark.parametrize(
    ("refusal", "action"),
    [
        (
            'violates PodSecurity "baseline:latest": non-default capabilities (container "pytorch" must not include "IPC_LOCK" in '
            "securityContext.capabilities.add)",
            "label the namespace privileged, or set podSecurity: skip or ipcLock: false in the profile",
        ),
        (
            'violates PodSecurity "restricted:latest": unrestricted capabilities (container "pytorch" must not include "IPC_LOCK" in '
            'securityContext.capabilities.add), runAsNonRoot != true (container "pytorch" must set securityContext.runAsNonRoot=true)',
            "label the namespace privileged, or correct what is named, and for IPC_LOCK set podSecurity: skip in the profile",
        ),
        (
            "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2",
            "raise the ResourceQuota by what is requested, injected devices included, or end other pods that it counts",
        ),
        (
            "failed quota: q: must specify limits.memory for: fabric-injector-wait,pytorch",
            "give the job's containers what is named, or the namespace a LimitRange with defaults",
        ),
        ("no PriorityClass with name high was found", "correct that; the owner then tries again, or restart the job"),
    ],
    ids=["IPC_LOCK alone", "and more", "quota exceeded", "quota wants requests", "other"],
)
def test_a_refusal_is_answered_by_what_would_lift_it(refusal: str, action: str) -> None:
    scene = Scene(1)
    scene.events = [event("PyTorchJob", "bert", "FailedCreatePod", f'pods "bert-worker-1" is forbidden: {refusal}')]
    assert first(scene).action == action


@pytest.mark.parametrize(
    ("offered", "action"),
    [
        (
            {},
            "is the device plugin running that offers rdma/hca, and is that its name? kubectl describe node shows what a node offers",
        ),
        ({"rdma/hca": "1"}, "ask for no more in a pod, or see whether the device plugin of rdma/hca has lost devices"),
    ],
    ids=["none", "too few"],
)
def test_a_device_of_which_no_node_has_enough(offered: dict[str, str], action: str) -> None:
    scene = Scene(1)
    for pod in scene.pods.values():
        container = pod["spec"]["containers"][0]
        container["resources"] = {kind: {"rdma/hca": "2"} for kind in ("limits", "requests")}
        scene.unschedule(pod, "0/2 nodes are available: 2 Insufficient rdma/hca.")
    scene.nodes = [node("node-1", offered)]
    assert first(scene).action == action


@pytest.mark.parametrize(
    ("said", "told", "action"),
    [
        (
            "0/9 nodes are available: 9 Insufficient cpu. no new claims to deallocate, preemption: 0/9 nodes are available: 9 no.",
            "is on no node yet: 0/9 nodes are available: 9 Insufficient cpu",
            "wait, or free cpu on the nodes",
        ),
        (
            '0/9 nodes are available: persistentvolumeclaim "imagenet" not found. not found',
            'is on no node yet: 0/9 nodes are available: persistentvolumeclaim "imagenet" not found. not found',
            "create what is named, or correct the pod's volume",
        ),
        (
            "0/9 nodes are available: 9 node(s) had untolerated taint(s)",
            "is on no node yet: 0/9 nodes are available: 9 node(s) had untolerated taint(s)",
            "give the job a toleration of the nodes' taints, which kubectl describe node shows",
        ),
    ],
    ids=["processors", "volume claim", "taint"],
)
def test_what_the_scheduler_says_without_that_nothing_can_be_preempted(said: str, told: str, action: str) -> None:
    scene = Scene(1)
    for pod in scene.pods.values():
        scene.unschedule(pod, said)
    assert (first(scene).message, first(scene).action) == (told, action)


def test_the_log_to_look_at_is_named_as_a_command() -> None:
    scene = Scene()
    for pod in scene.workers[1:]:
        pod["status"]["containerStatuses"] = [{"name": "pytorch", "state": CRASHING, "lastState": ended(3, "Error")}]
    assert first(scene).action == "look at its log: kubectl logs -n research bert-worker-1 -c pytorch --previous"
    assert [row.phase for row in explain(scene.reading).rows] == ["Running", "Running", *["CrashLoopBackOff"] * 2]


def test_a_rank_zero_that_does_not_end_has_no_log_that_helps() -> None:
    scene = Scene()
    scene.master["metadata"] |= {"deletionTimestamp": ago(minutes=5), "finalizers": ["example.com/hold"]}
    assert first(scene).message == "rank 0 is Terminating, and its members still run"
    assert (
        first(scene).action
        == "wait for the next one; if this one stays, look at its finalizers and at its node's kubelet"
    )


def test_a_network_that_is_not_comes_before_the_lack_of_injection() -> None:
    scene = Scene(1)
    scene.labels.clear()
    for number, name in enumerate(scene.pods):
        pod = scene.created(number)
        pod["metadata"]["annotations"] = {names.NETWORKS: "default/rdma-nte"}
        scene.bind(pod)
        scene.pods[name] = pod
    scene.networks["default", "rdma-nte"] = None
    found = [each.message for each in explain(scene.reading).findings]
    assert found[0] == "asks for network default/rdma-nte, which does not exist"
    assert found[1].startswith("not injected: neither the pod")


def test_a_volume_may_take_its_time() -> None:
    scene = Scene(1)
    pod = scene.workers[0]
    scene.bind(pod, ago(seconds=5))
    del pod["metadata"]["annotations"][names.NETWORK_STATUS]
    text = "MountVolume.SetUp failed for volume: failed to sync configmap cache"
    scene.events = [event("Pod", "bert-worker-0", "FailedMount", text)]
    assert {each.level for each in explain(scene.reading).findings} == {"ok"}


def test_more_devices_in_the_profile_are_no_shortage_of_the_pod() -> None:
    scene = Scene(1)
    scene.profiles = parse_profiles(
        "profiles: {shared: {networks: [{network: default/rdma-net, resource: rdma/hca, count: 2}], sharedMemory: {sizeLimit: 16Gi}}}"
    )
    found = [each for each in explain(scene.reading).findings if each.level == "warn"]
    assert [each.topic for each in found] == ["drift"]


def test_one_who_may_not_read_events_is_not_sent_to_multus() -> None:
    scene = Scene(1)
    pod = scene.workers[0]
    scene.bind(pod)
    del pod["metadata"]["annotations"][names.NETWORK_STATUS]
    assert first(scene).action.startswith("is Multus running on the node")
    scene.changes = {"events": None}
    assert first(scene).action == "its Events say why: ask for list of events, or let one who may read them run this"


@pytest.mark.parametrize(
    ("minutes", "worst"),
    [(1, "ok"), (20, "warn pod bert-master-0 (rank 0): rank 0 has ended well 20 min ago, and its members still run")],
)
def test_a_rank_zero_that_has_ended_well_is_no_failure(minutes: int, worst: str) -> None:
    scene = Scene()
    state = {"terminated": {"exitCode": 0, "finishedAt": ago(minutes=minutes)}}
    scene.master["status"] = {"phase": "Succeeded", "containerStatuses": [{"name": "pytorch", "state": state}]}
    found = first(scene)
    assert (found.level if found.level == "ok" else f"{found.level} {found.subject}: {found.message}") == worst


def test_a_member_that_waits_for_a_rank_zero_that_has_ended_waits_in_vain() -> None:
    scene = Scene()
    scene.master["status"]["phase"] = "Succeeded"
    scene.wait(scene.workers[0], ago(minutes=5))
    assert first(scene).message == "rank 0 is Succeeded, and its members still run"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            "export NCCL_SOCKET_IFNAME=eth0; torchrun train.py",
            "NCCL_SOCKET_IFNAME=eth0 rules out net1, on which the ranks meet",
        ),
        (
            "GLOO_SOCKET_IFNAME='bond0' torchrun train.py",
            "GLOO_SOCKET_IFNAME=bond0 rules out net1, on which the ranks meet",
        ),
        ("export NCCL_SOCKET_IFNAME=net1; torchrun train.py", ""),
        ("export NCCL_SOCKET_IFNAME=$NIC MY_NCCL_SOCKET_IFNAME=eth0; torchrun train.py", ""),
    ],
)
def test_a_variable_that_the_command_sets_is_the_one_that_counts(command: str, told: str) -> None:
    scene = Scene()
    for pod in scene.pods.values():
        pod["spec"]["containers"][0]["command"] = ["sh", "-c", command]
    found = first(scene)
    assert (found.message if found.level == "warn" else "") == told
    assert not told or found.action == "remove the variable from its command, then restart the job"


def test_a_pod_that_has_begun_without_multus() -> None:
    scene = Scene(1)
    pod = scene.workers[0]
    scene.bind(pod, ago(seconds=5))
    del pod["metadata"]["annotations"][names.NETWORK_STATUS]
    scene.wait(pod, ago(seconds=3))
    assert {each.level for each in explain(scene.reading).findings if each.topic == "networks"} == {"ok"}
    scene.bind(pod, ago(seconds=25))
    scene.wait(pod, ago(seconds=23))
    scene.events = [event("Pod", "bert-worker-0", "NoSecondaryAddress", "of the same", source="fabric-injector")]
    found = [each.message for each in explain(scene.reading).findings if each.topic in ("networks", "events")]
    assert found == [f"has begun, and Multus has written no annotation {names.NETWORK_STATUS}"]


@pytest.mark.parametrize(
    ("gate", "action"),
    [
        ("kueue.x-k8s.io/admission", "look at its Workload and LocalQueue: Kueue has not admitted it"),
        ("example.com/licence", "whoever set the gate must remove it"),
    ],
)
def test_a_gate_of_which_nothing_is_told(gate: str, action: str) -> None:
    scene = Scene(1)
    for pod in scene.pods.values():
        scene.unschedule(pod, "")
        pod["spec"]["schedulingGates"] = [{"name": gate}]
    assert first(scene).action == action
