"""What `explain` finds of each thing that can be wrong: a job that trains well, with one thing broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta

import pytest

from tests.scenes import NOW, Scene, ago, event, node
from tests.worlds import network
from webhook import __version__, names
from webhook.explain.events import concerns
from webhook.explain.explanation import Explanation, explain
from webhook.explain.reading import Unread
from webhook.finding import Finding
from webhook.model import Object
from webhook.profiles import parse_profiles

Break = Callable[[Scene], object]


def findings(scene: Scene, *topics: str) -> list[Finding]:
    """Give what is wrong, of these topics alone if any are named."""
    found = explain(scene.reading).findings
    return [each for each in found if each.level != "ok" and (not topics or each.topic in topics)]


def texts(found: Iterable[Finding]) -> list[str]:
    return [f"{each.level} {each.subject}: {each.message}" for each in found]


def one(scene: Scene, *topics: str) -> str:
    [found] = texts(findings(scene, *topics))
    return found


def test_finds_nothing_wrong_with_a_job_that_trains() -> None:
    explanation: Explanation = explain(Scene().reading)
    assert {each.level for each in explanation.findings} == {"ok"}
    assert [row.role for row in explanation.rows] == ["rank 0", "worker", "worker", "worker"]


# injection


def test_a_pod_of_an_unlabelled_namespace() -> None:
    scene = Scene()
    scene.labels.clear()
    scene.pods = {"bert-worker-0": scene.created(1)}
    found = findings(scene, "injection")
    assert texts(found) == [
        "fail pod bert-worker-0: not injected: neither the pod nor namespace research carries the label fabric-injector.io/profile"
    ]
    assert (
        found[0].action == "kubectl label namespace research fabric-injector.io/profile=PROFILE, then restart the job"
    )


def test_a_pod_of_no_training_system() -> None:
    scene = Scene(0)
    pod = scene.created(1)
    pod["metadata"] |= {"labels": {}, "ownerReferences": []}
    scene.pods = {"bert-worker-0": pod}
    assert one(scene, "injection").startswith(
        "fail pod bert-worker-0: not injected: a plain pod, of no training system that is known; label the pod"
    )


def test_a_job_that_opted_out_is_as_it_should_be() -> None:
    scene = Scene(1)
    for number, pod in enumerate((scene.created(0), scene.created(1))):
        pod["metadata"]["labels"][names.PROFILE] = "none"
        scene.bind(pod)
        scene.pods[f"bert-worker-{number - 1}" if number else "bert-master-0"] = pod
    assert findings(scene) == []


def test_one_pod_that_opted_out_of_a_job_cannot_reach_the_others() -> None:
    scene = Scene(2)
    pod = scene.created(1)
    pod["metadata"]["labels"][names.PROFILE] = "none"
    scene.bind(pod)
    scene.pods["bert-worker-0"] = pod
    assert one(scene) == (
        "fail pod bert-worker-0: is left out, and others of its job are not: they meet on another network; "
        "label fabric-injector.io/profile is none"
    )


def test_a_namespace_that_only_observes() -> None:
    scene = Scene()
    scene.labels[names.MODE] = "observe"
    scene.pods = {"bert-worker-0": scene.created(1)}
    assert one(scene, "injection") == (
        "warn pod bert-worker-0: nothing was injected: label fabric-injector.io/mode of namespace research only observes"
    )


def test_workers_from_before_the_label() -> None:
    scene = Scene()
    scene.pods["bert-worker-1"] = scene.created(2)
    assert one(scene, "injection") == (
        "fail pod bert-worker-1: was created without injection, before its namespace was labelled, or while the webhook was not "
        "called: today it would get profile shared"
    )


def test_a_network_without_addresses_leaves_the_rendezvous_out() -> None:
    scene = Scene(0)
    scene.networks["default", "rdma-net"] = network("default/rdma-net", ipam={})
    scene.pods = {"bert-worker-0": scene.admitted(scene.created(1))}
    found = texts(findings(scene, "injection"))
    assert (
        "warn pod bert-worker-0: not injected: rendezvous: network default/rdma-net has no IPAM, so its interface gets no address"
        in found
    )


def test_profiles_that_are_not_known() -> None:
    scene = Scene()
    scene.changes = {"profiles": None, "unread": (Unread("profiles", "cannot be read"),)}
    assert texts(findings(scene)) == ["warn profiles: cannot be read"]
    scene.pods["bert-worker-1"] = scene.created(2)
    assert texts(findings(scene, "injection")) == ["warn pod bert-worker-1: nothing was injected; why cannot be told"]


def test_a_status_that_was_changed_by_hand() -> None:
    scene = Scene(0)
    scene.master["metadata"]["annotations"][names.STATUS] = "{profile: shared}"
    told = [each.message for each in explain(scene.reading).findings if each.topic == "injection"]
    assert told == ["annotation fabric-injector.io/status, which says what was injected, cannot be read"]


def test_what_admission_warns_of() -> None:
    def mount_devices(pod: Object) -> None:
        pod["spec"]["volumes"] = [{"name": "ib", "hostPath": {"path": "/dev/infiniband"}}]
        pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "ib", "mountPath": "/dev/infiniband"}]

    scene = Scene(0, before=mount_devices)
    del scene.master["spec"]["containers"][0]["resources"]["limits"]["rdma/hca"]
    scene.profiles = parse_profiles("profiles: {shared: {networks: [{network: default/rdma-net}]}}")
    assert one(scene, "injection").startswith(
        "warn pod bert-master-0 (rank 0): host-devices: container pytorch mounts /dev/infiniband of the node, but may open nothing"
    )


PROFILE = """
profiles:
  shared:
    networks: [{network: default/rdma-net, resource: rdma/hca}]
    sharedMemory: {sizeLimit: 16Gi}
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            PROFILE.replace("shared:", "other:"),
            "denied: namespace research: label fabric-injector.io/profile: no profile is named 'shared'",
        ),
        (PROFILE + "    ipcLock: false", "without ipc-lock, which was injected: profile shared has ipcLock: false"),
        (PROFILE + "    env: {NCCL_SOCKET_IFNAME: eth9}", "NCCL_SOCKET_IFNAME=eth9 in place of =net1"),
        (PROFILE + "    env: {NCCL_IB_HCA: mlx5}", "environment: container pytorch gets NCCL_IB_HCA"),
        (PROFILE + "    rendezvous: {timeout: 5m}", "rendezvous: another timeout of the wait step"),
        (
            PROFILE + "    rendezvous: {enabled: false}",
            "no address would be published to it: profile shared says rendezvous: {enabled: false}",
        ),
        (
            PROFILE + "    rendezvous: {ipFamily: IPv4}",
            "the ranks would meet on default/rdma-net@net1/IPv4 in place of default/rdma-net@net1/any",
        ),
        (PROFILE + "    resources: {example.com/nic: 2}", "devices: container pytorch asks for example.com/nic: 2"),
        (PROFILE.replace("{sizeLimit: 16Gi}", "{}"), "/dev/shm of no size in place of 16Gi"),
    ],
    ids=[
        "unknown",
        "ipc-lock",
        "another-value",
        "new-variable",
        "timeout",
        "no-rendezvous",
        "family",
        "resources",
        "shm",
    ],
)
def test_what_changed_since(text: str, told: str) -> None:
    scene = Scene(0)
    scene.profiles = parse_profiles(text)
    assert f"would get another result today: {told}" in one(scene, "drift")


def test_another_profile_since() -> None:
    scene = Scene(0)
    scene.profiles = parse_profiles(
        PROFILE
        + "  other: {networks: [{network: default/rdma-net, resource: rdma/hca}], sharedMemory: {sizeLimit: 16Gi}}"
    )
    scene.labels[names.PROFILE] = "other"
    assert one(scene, "drift").endswith("would get another result today: profile other in place of shared")
    scene.labels.clear()
    assert "nothing would be injected: neither the pod" in one(scene, "drift")
    scene.labels |= {names.PROFILE: "shared", names.MODE: "observe"}
    assert one(scene, "drift").endswith("label fabric-injector.io/mode of its namespace says to observe only")


def test_another_wait_script_since_the_webhook_was_upgraded_is_no_matter() -> None:
    scene = Scene(0)
    scene.master["spec"]["initContainers"][0]["command"][2] += "\n# of an earlier version"
    assert one(scene, "drift").endswith("today: rendezvous: other variables or another wait step")
    annotations = scene.master["metadata"]["annotations"]
    annotations[names.STATUS] = annotations[names.STATUS].replace(f'"version":"{__version__}"', '"version":"0.0.1"')
    assert findings(scene, "drift") == []


# members


def test_two_live_ranks_zero() -> None:
    scene = Scene()
    twin = scene.created(0)
    twin["metadata"] |= {"name": "bert-master-1", "uid": "uid-9", "creationTimestamp": ago(minutes=1)}
    twin = scene.admitted(twin)
    twin["metadata"]["labels"] |= {names.JOB: scene.master["metadata"]["labels"][names.JOB], names.RENDEZVOUS: "master"}
    scene.bind(twin, ago(seconds=20))
    scene.pods["bert-master-1"] = twin
    [found] = findings(scene, "members")
    assert (
        "has 2 live rank-0 pods (bert-master-0, bert-master-1): all are told of bert-master-1, the newest"
        in found.message
    )
    assert found.action == "delete the others: kubectl delete pod -n research bert-master-0"


def test_a_rank_zero_that_has_failed() -> None:
    scene = Scene()
    scene.master["status"] |= {
        "phase": "Failed",
        "containerStatuses": [{"name": "pytorch", "state": {"terminated": {"exitCode": 137}}}],
    }
    assert one(scene, "members") == (
        "fail pod bert-master-0 (rank 0): rank 0 is Failed (container pytorch exited with 137), and its members still run"
    )


def test_no_rank_zero_at_all() -> None:
    scene = Scene()
    del scene.pods["bert-master-0"]
    first, second = findings(scene, "members")
    assert (first.level, first.message) == ("fail", "has no rank-0 pod")
    assert (second.level, second.message) == ("warn", "has 3 of 4 members")


@pytest.mark.parametrize("how", ["flag", "variable"])
def test_members_that_are_missing(how: str) -> None:
    def say(pod: Object) -> None:
        container = pod["spec"]["containers"][0]
        if how == "flag":
            container["command"] = ["torchrun", "--nnodes=6", "train.py"]
        else:
            next(entry for entry in container["env"] if entry["name"] == "PET_NNODES")["value"] = "6"

    scene = Scene(before=say)
    assert "has 4 of 6 members" in one(scene, "members")


# scheduling


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        ([], "asks for 8 nvidia.com/gpu, and none of 0 nodes offers it"),
        ([node("a", {})], "asks for 1 rdma/hca, and none of 1 nodes offers it"),
        (
            [node("a", {"rdma/hca": "0"}), node("b", {"rdma/hca": "x"})],
            "asks for 1 rdma/hca, and none of 2 nodes offers it",
        ),
    ],
    ids=["none", "other", "spent"],
)
def test_devices_that_no_node_offers(nodes: list[Object], told: str) -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "0/1 nodes are available: 1 Insufficient rdma/hca.")
    scene.nodes = nodes
    assert told in " ".join(texts(findings(scene, "devices")))


def test_more_devices_than_any_node_has() -> None:
    scene = Scene(0)
    scene.master["spec"]["containers"][0]["resources"]["limits"]["rdma/hca"] = "65"
    scene.master["spec"]["containers"][0]["resources"]["requests"]["rdma/hca"] = "65"
    scene.unschedule(scene.master, "")
    assert "asks for 65 rdma/hca, and no node offers more than 64" in one(scene, "devices")


def test_a_node_selector_that_no_node_with_devices_fits() -> None:
    scene = Scene(0)
    scene.master["spec"]["nodeSelector"] = {"rail": "fast"}
    scene.unschedule(scene.master, "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.")
    assert "asks for 1 rdma/hca, and of the 2 nodes that offer it none carries rail=fast" in " ".join(
        texts(findings(scene, "devices"))
    )


def test_devices_that_are_all_taken() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "0/2 nodes are available: 2 Insufficient rdma/hca.")
    [found] = findings(scene, "scheduling")
    assert found.message == "is on no node yet: 0/2 nodes are available: 2 Insufficient rdma/hca."
    assert found.action == "wait, or free rdma/hca on the nodes"


def test_a_scheduler_that_says_it_by_an_event() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "")
    scene.events.append(event("Pod", "bert-master-0", "FailedScheduling", "queue team has no quota of rdma/hca"))
    [found] = findings(scene, "scheduling")
    assert found.message == "is on no node yet: queue team has no quota of rdma/hca"
    assert found.action.startswith("give the queue or quota")


def test_a_scheduler_that_says_nothing() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "")
    scene.master["spec"]["schedulerName"] = "volcano"
    [found] = findings(scene, "scheduling")
    assert (found.level, found.action) == ("warn", "is scheduler volcano running?")


def test_a_queue_that_says_it_before_the_scheduler() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "")
    text = "queue resource quota insufficient: insufficient rdma/hca"
    scene.events.append(event("PodGroup", "bert", "Unschedulable", text, source="volcano"))
    [found] = findings(scene, "scheduling")
    assert found.message == f"is on no node yet: {text}"
    assert found.action.startswith("give the queue or quota the resources")


def test_a_gate_of_another_hand() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "")
    scene.master["spec"]["schedulingGates"] = [{"name": "example.com/hold"}]
    assert (
        one(scene, "scheduling") == "warn pod bert-master-0 (rank 0): is held back by scheduling gate example.com/hold"
    )


def not_ready(scene: Scene) -> None:
    scene.nodes[0]["status"]["conditions"] = [
        {"type": "Ready", "status": "Unknown", "message": "Kubelet stopped posting node status."}
    ]


def plugin_gone(scene: Scene) -> None:
    scene.nodes[0]["status"]["allocatable"]["rdma/hca"] = "0"


@pytest.mark.parametrize(
    ("break_", "told"),
    [
        (
            not_ready,
            "fail pod bert-master-0 (rank 0): is on node node-1, which is not Ready: Kubelet stopped posting node status.",
        ),
        (plugin_gone, "warn pod bert-master-0 (rank 0): takes 1 rdma/hca, and node node-1 offers 0 now"),
        (
            lambda scene: scene.nodes.pop(0),
            "fail pod bert-master-0 (rank 0): is bound to node node-1, which does not exist any more",
        ),
    ],
    ids=["not-ready", "plugin-gone", "gone"],
)
def test_what_became_of_its_node(break_: Break, told: str) -> None:
    scene = Scene(0)
    break_(scene)
    assert one(scene, "scheduling", "devices") == told


# networks


def test_no_status_after_a_minute_but_not_before() -> None:
    scene = Scene(0)
    del scene.master["metadata"]["annotations"][names.NETWORK_STATUS]
    assert "Multus has written no annotation" in one(scene, "networks")
    scene.bind(scene.master, ago(seconds=20))
    assert findings(scene, "networks") == []


def test_a_status_that_is_no_list() -> None:
    scene = Scene(0)
    scene.master["metadata"]["annotations"][names.NETWORK_STATUS] = "[oops"
    assert "annotation k8s.v1.cni.cncf.io/network-status is no list of networks" in one(scene, "networks")


def test_an_annotation_that_multus_refuses_is_told_as_admission_says_it() -> None:
    scene = Scene(0)
    scene.master["metadata"]["annotations"][names.NETWORKS] = "default/rdma-net/more"
    assert "has more than one '/'; Multus refuses it: correct or remove it" in one(scene, "drift", "networks")


def test_a_pod_that_asks_for_a_network_by_itself() -> None:
    scene = Scene(0)
    pod = scene.created(1)
    pod["metadata"]["labels"][names.PROFILE] = "none"
    pod["metadata"]["annotations"] = {names.NETWORKS: "default/rdma-net"}
    scene.bind(pod)
    scene.attach(pod)
    scene.pods = {"bert-worker-0": pod}
    assert findings(scene, "networks") == [], "where the ranks do not meet on it, it may be without addresses"


def test_a_network_whose_plugin_fails() -> None:
    scene = Scene(0)
    scene.bind(scene.master)
    del scene.master["metadata"]["annotations"][names.NETWORK_STATUS]
    said = 'Failed to create pod sandbox: rpc error: code = Unknown desc = plugin "macvlan" failed:\n\tno such device: ens9'
    scene.events = [event("Pod", "bert-master-0", "FailedCreatePodSandBox", said, source="kubelet")]
    [found] = findings(scene, "networks")
    assert found.message == 'its network could not be made: plugin "macvlan" failed: no such device: ens9'
    assert found.action.startswith("correct the NetworkAttachmentDefinition, or look at its CNI plugin")


def test_a_network_that_was_not_attached() -> None:
    scene = Scene(0)
    scene.networks["default", "more"] = network("default/more")
    scene.master["metadata"]["annotations"][names.NETWORKS] += ",default/more"
    assert (
        "asks for network default/more once, and annotation k8s.v1.cni.cncf.io/network-status lists it 0 times"
        in one(scene, "networks")
    )


@pytest.mark.parametrize(
    ("addresses", "told"),
    [
        ((), "has no address on default/rdma-net@net1"),
        (("fe80::1",), "gave no address that can be used: holds fe80::1, at which no other pod can reach this one"),
    ],
    ids=["none", "link-local"],
)
def test_a_network_that_gave_no_address(addresses: tuple[str, ...], told: str) -> None:
    scene = Scene(0)
    scene.attach(scene.master, *addresses)
    assert told in one(scene, "networks")


def test_a_network_on_another_interface() -> None:
    scene = Scene(0)
    scene.attach(scene.master, "192.168.0.1", interface="net2")
    assert "came up on interface net2" in one(scene, "interfaces")


# containers


@pytest.mark.parametrize(
    ("reason", "message", "told"),
    [
        (
            "ImagePullBackOff",
            'Back-off pulling image "a:1"',
            'the wait step does not start: ImagePullBackOff: Back-off pulling image "a:1"',
        ),
        (
            "RunContainerError",
            'exec: "sh": not found',
            'the wait step does not start: RunContainerError: exec: "sh": not found',
        ),
        (
            "CreateContainerConfigError",
            "secret x not found",
            "the wait step does not start: CreateContainerConfigError: secret x not found",
        ),
    ],
)
def test_a_wait_step_that_does_not_start(reason: str, message: str, told: str) -> None:
    scene = Scene(0)
    scene.wait(scene.master, ago(minutes=5))
    scene.tell(scene.master, "192.168.0.1")
    scene.master["status"]["initContainerStatuses"][0]["state"] = {"waiting": {"reason": reason, "message": message}}
    [found] = findings(scene, "containers")
    assert found.message == told
    assert found.action


def test_a_wait_step_that_gave_up() -> None:
    scene = Scene(1)
    worker = scene.pods["bert-worker-0"]
    words = "fabric-injector: master-addr of job bert was not published after 1800 s."
    ended = {"terminated": {"exitCode": 75, "message": words}}
    scene.wait(worker, ago(minutes=1))
    worker["status"]["initContainerStatuses"][0]["lastState"] = ended
    assert f"the wait step gave up and waits again: {words}" in " ".join(texts(findings(scene, "wait")))
    worker["status"] |= {"phase": "Failed", "initContainerStatuses": [{"name": names.WAIT_CONTAINER, "state": ended}]}
    assert f"fail pod bert-worker-0: the wait step gave up: {words}" in texts(findings(scene, "wait"))


def test_a_container_that_crashes_over_and_over() -> None:
    scene = Scene(0)
    status = scene.master["status"]["containerStatuses"][0]
    status["state"] = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}
    status["lastState"] = {"terminated": {"exitCode": 1, "message": "NCCL error"}}
    assert one(scene, "containers") == (
        "fail pod bert-master-0 (rank 0): container pytorch does not start: CrashLoopBackOff: status 1: NCCL error"
    )


def test_a_container_that_was_killed() -> None:
    scene = Scene(1)
    worker = scene.pods["bert-worker-0"]
    worker["status"] |= {"phase": "Failed"}
    worker["status"]["containerStatuses"][0]["state"] = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    assert one(scene, "containers") == "fail pod bert-worker-0: container pytorch exited with 137 (OOMKilled)"


def test_a_pod_that_its_node_refused() -> None:
    scene = Scene(1)
    worker = scene.pods["bert-worker-0"]
    words = "Allocate failed due to requested number of devices unavailable for rdma/hca. Requested: 1, Available: 0"
    worker["status"] = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": words}
    assert (
        one(scene, "containers") == f"fail pod bert-worker-0: was ended by its node: UnexpectedAdmissionError: {words}"
    )
    again = scene.created(1)
    again["metadata"] |= {"name": "bert-worker-0b", "creationTimestamp": ago(minutes=3)}
    scene.pods["bert-worker-0b"] = scene.admitted(again)
    scene.run(scene.pods["bert-worker-0b"], "192.168.0.9")
    assert one(scene, "containers").startswith("warn pod bert-worker-0: was ended"), "another pod has taken its place"


def test_a_job_that_has_ended() -> None:
    scene = Scene(1)
    for pod in scene.pods.values():
        pod["status"]["phase"] = "Succeeded"
    [found] = explain(scene.reading).findings
    assert (found.level, found.message) == ("ok", "has no live pod: 2 Succeeded")


# addresses, controller, wait


def test_a_controller_that_lives_and_does_not_tell() -> None:
    scene = Scene()
    scene.wait(scene.pods["bert-worker-1"], ago(minutes=4))
    first, second = findings(scene)
    assert first.message == "controller c-1 holds it, and has not told 1 pod of this job of rank 0's address"
    assert second.message == "waits for rank 0's address, for 4 min"
    assert second.level == "warn"


@pytest.mark.parametrize(
    ("lease", "told"),
    [
        ({}, "does not exist: nobody tells 1 pod"),
        ({"spec": {"holderIdentity": ""}}, "is held by no controller: nobody tells 1 pod"),
        (
            {"spec": {"holderIdentity": "c-1", "renewTime": "soon"}},
            "was renewed last at no time that can be read, by c-1, which is gone",
        ),
        (None, "1 pod of this job is not told of rank 0's address"),
    ],
    ids=["absent", "released", "unreadable", "unknown"],
)
def test_a_controller_that_is_gone(lease: Object | None, told: str) -> None:
    scene = Scene()
    scene.wait(scene.pods["bert-worker-1"], ago(minutes=4))
    scene.lease = lease
    assert told in one(scene, "controller")


def test_a_controller_that_is_gone_while_all_is_told() -> None:
    scene = Scene()
    scene.lease = {}
    [found] = findings(scene)
    assert (found.level, found.message) == ("warn", "does not exist: no address that changes now is told to anybody")


def test_a_member_that_is_told_another_address() -> None:
    scene = Scene()
    scene.tell(scene.pods["bert-worker-2"], "10.66.6.6")
    assert "fail pod bert-worker-2: is told that rank 0 is at 10.66.6.6, and bert-master-0 is at 192.168.0.1" in texts(
        findings(scene)
    )


def test_a_member_that_is_told_nothing_any_more() -> None:
    scene = Scene()
    del scene.pods["bert-worker-2"]["metadata"]["annotations"][names.MASTER_ADDR]
    assert one(scene, "addresses") == "warn pod bert-worker-2: is not told that rank 0 is at 192.168.0.1"


def test_a_rank_zero_that_has_just_got_its_address_is_yet_to_be_told_of() -> None:
    scene = Scene(1)
    scene.bind(scene.master, ago(seconds=5))
    for pod in scene.pods.values():
        scene.wait(pod, ago(seconds=3))
    found = explain(scene.reading).findings
    assert {each.level for each in found} == {"ok"}
    assert not [each for each in found if each.topic == "addresses"]


def test_a_rank_zero_that_is_not_told_its_own_address() -> None:
    scene = Scene()
    del scene.master["metadata"]["annotations"][names.LOCAL_ADDR]
    assert "warn pod bert-master-0 (rank 0): is not told its own address" in texts(findings(scene, "addresses"))


def test_a_wait_that_nothing_explains() -> None:
    scene = Scene(1)
    scene.wait(scene.pods["bert-worker-0"], ago(minutes=4))
    scene.tell(scene.pods["bert-worker-0"], "192.168.0.1")
    assert "has waited for 4 min, and all that it needs is in its annotations" in one(scene)


def test_a_wait_of_seconds_is_no_fault() -> None:
    scene = Scene(1)
    scene.wait(scene.pods["bert-worker-0"], ago(seconds=4))
    scene.tell(scene.pods["bert-worker-0"], "192.168.0.1")
    assert findings(scene) == []


def test_a_rank_zero_whose_node_was_restarted() -> None:
    scene = Scene(0)
    scene.wait(scene.master, ago(minutes=4))
    scene.tell(scene.master, "192.168.0.250")
    assert "waits for its own address, for 4 min" in " ".join(texts(findings(scene, "wait")))


# memory, interfaces, events


def test_a_container_that_may_not_lock_memory() -> None:
    scene = Scene(0)
    scene.master["spec"]["containers"][0]["securityContext"] = {}
    [found] = findings(scene, "memlock")
    assert found.message.startswith("container pytorch has no IPC_LOCK; RDMA can then register little memory")
    scene.labels[names.POD_SECURITY_ENFORCE] = "baseline"
    [found] = findings(scene, "memlock")
    assert "label pod-security.kubernetes.io/enforce: baseline of namespace research refuses it" in found.message


def test_memory_that_is_not_locked_by_choice() -> None:
    scene = Scene(0)
    scene.profiles = parse_profiles(PROFILE + "    ipcLock: false")
    scene.pods = {"bert-master-0": scene.admitted(scene.created(0))}
    assert findings(scene, "memlock") == []


@pytest.mark.parametrize(
    "of_the_user", [{"persistentVolumeClaim": {"claimName": "fast"}}, {"emptyDir": {"medium": "Memory"}}, None], ids=str
)
def test_a_shared_memory_of_the_users_own_is_no_fault(of_the_user: Object | None) -> None:
    def bring(pod: Object) -> None:
        if of_the_user is None:
            pod["spec"]["hostIPC"] = True
        else:
            pod["spec"]["volumes"] = [{"name": "shm", **of_the_user}]
            pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]

    assert findings(Scene(0, before=bring), "shared-memory") == []


def test_a_user_namespace() -> None:
    scene = Scene(0)
    scene.master["spec"]["hostUsers"] = False
    assert "the pod has hostUsers: false, where IPC_LOCK is inert" in one(scene, "memlock")


@pytest.mark.parametrize(
    ("volume", "told"),
    [
        (
            {"name": "fabric-injector-shm", "emptyDir": {}},
            "/dev/shm is volume fabric-injector-shm on the node's disk, not in memory",
        ),
        (None, "container pytorch has the runtime's own /dev/shm of 64 MiB"),
    ],
    ids=["disk", "runtime"],
)
def test_a_small_or_slow_shared_memory(volume: Object | None, told: str) -> None:
    scene = Scene(0)
    spec = scene.master["spec"]
    spec["volumes"] = [each for each in spec["volumes"] if each["name"] != names.SHM_VOLUME] + (
        [volume] if volume else []
    )
    if volume is None:
        for container in spec["containers"]:
            container["volumeMounts"] = [each for each in container["volumeMounts"] if each["name"] != names.SHM_VOLUME]
    assert told in one(scene, "shared-memory")


def test_members_that_disagree_on_their_sockets() -> None:
    scene = Scene(2)
    for entry in scene.pods["bert-worker-1"]["spec"]["containers"][0]["env"]:
        if entry["name"] == names.ENV_NCCL_SOCKET_IFNAME:
            entry["value"] = "eth0"
    found = texts(findings(scene, "interfaces"))
    assert "warn pod bert-worker-1: NCCL_SOCKET_IFNAME=eth0 rules out net1, on which the ranks meet" in found
    assert found[1].endswith(
        "its members disagree on NCCL_SOCKET_IFNAME: =net1 in 2 (bert-master-0, bert-worker-0); eth0 in 1 (bert-worker-1)"
    )


def test_a_socket_variable_that_cannot_be_read_is_in_no_disagreement() -> None:
    scene = Scene(1)
    source = {"configMapKeyRef": {"name": "fabric", "key": "interface"}}
    entries = scene.pods["bert-worker-0"]["spec"]["containers"][0]["env"]
    [entry] = [each for each in entries if each["name"] == names.ENV_NCCL_SOCKET_IFNAME]
    entry.pop("value")
    entry["valueFrom"] = source
    assert findings(scene, "interfaces") == []


def test_our_own_events_of_live_pods_are_told() -> None:
    scene = Scene(1)
    scene.events = [
        event("Pod", "bert-worker-0", "UnexpectedInterface", "the network is on net2", source="fabric-injector"),
        event("Pod", "bert-worker-0", "BackOff", "of another component", source="kubelet"),
        event("Pod", "bert-worker-0", "NoSecondaryAddress", "over by now", source="fabric-injector"),
        event("Pod", "gone", "NoSecondaryAddress", "of a pod that is gone", source="fabric-injector"),
    ]
    assert one(scene) == "warn pod bert-worker-0: Event UnexpectedInterface: the network is on net2"


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            'Internal error occurred: failed calling webhook "pods.fabric-injector.io": Post "https://x": connection refused',
            'cannot be created, because the webhook does not answer: Post "https://x": connection refused',
        ),
        (
            'pods "bert-worker-3" is forbidden: violates PodSecurity "baseline:latest": non-default capabilities',
            'was refused: violates PodSecurity "baseline:latest": non-default capabilities',
        ),
        ('pods "bert-worker-3" is forbidden: no such service account', "was refused: no such service account"),
        (
            'Internal error occurred: failed calling webhook "validate.example.com": Post "https://x": connection refused',
            "cannot be created, because another program's webhook does not answer: "
            '"validate.example.com": Post "https://x": connection refused',
        ),
        (
            'admission webhook "validate.example.com" denied the request: label team is missing',
            'was refused: webhook "validate.example.com" denied the request: label team is missing',
        ),
        (
            "Error creating: Timeout: request did not complete",
            "could not be created: Timeout: request did not complete",
        ),
    ],
    ids=["webhook-down", "pod-security", "other", "other-webhook-down", "other-webhook-denies", "unknown"],
)
def test_what_kept_the_owner_from_creating_pods(message: str, told: str) -> None:
    scene = Scene(1)
    scene.events = [event("PyTorchJob", "bert", "FailedCreatePod", message)]
    assert one(scene, "admission") == f"fail PyTorchJob bert: a pod of it {told}"


def test_refusals_before_the_newest_pod_are_over() -> None:
    scene = Scene(1)
    old = (NOW - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    scene.events = [event("PyTorchJob", "bert", "FailedCreatePod", "pods is forbidden: x", at=old)]
    assert findings(scene) == []


@pytest.mark.parametrize(
    ("name", "is_ours"),
    [
        ("bert", True),
        ("bert-worker-0", True),
        ("bert-1", True),
        ("pytorchjob-bert-a1b2c", True),
        ("bert-7d3f9ce1-1c1f-4a6e-9c3a-0f0e2f1b2c3d", True),
        ("child", True),
        ("bert-large", False),
        ("big-bert", False),
        ("pytorchjob-bert-large-a1b2c", False),
    ],
)
def test_whose_event_it_is(name: str, is_ours: bool) -> None:
    assert concerns(event("Job", name, "FailedCreate", "x"), "bert", {"bert", "child"}) is is_ours


def test_a_pod_that_was_asked_for_comes_with_rank_zero_alone() -> None:
    scene = Scene(3)
    scene.changes = {"focus": "bert-worker-1"}
    scene.tell(scene.pods["bert-worker-2"], "10.66.6.6")
    plugin_gone(scene)
    found = texts(findings(scene))
    assert not [each for each in found if each.startswith("fail pod bert-worker-2")]
    assert [row.pod for row in explain(scene.reading).rows] == ["bert-master-0", "bert-worker-1"]


def test_two_jobs_of_one_selector_are_told_apart() -> None:
    one_job, other = Scene(1), Scene(1)
    for pod in other.pods.values():
        pod["metadata"]["name"] = f"again-{pod['metadata']['name']}"
        pod["metadata"]["labels"][names.JOB] = "again-0123456789"
    other.tell(next(iter(other.workers)), "10.66.6.6")
    both = (*one_job.pods.values(), *other.pods.values())
    one_job.changes = {"pods": both}
    explanation = explain(one_job.reading)
    assert len(explanation.jobs) == 2
    assert [row.pod for row in explanation.rows if row.role == "rank 0"] == ["again-bert-master-0", "bert-master-0"]
    assert {row.job for row in explanation.rows} == set(explanation.jobs)
    told = texts(explanation.findings)
    assert (
        "fail pod again-bert-worker-0: is told that rank 0 is at 10.66.6.6, and again-bert-master-0 is at 192.168.0.1"
        in told
    )
