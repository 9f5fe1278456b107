"""What is decided once about pods that are alike is what would be decided of each: compared with that, wherever pods may differ."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from tests.diagnose.clusters import KINDS, job
from tests.diagnose.hostile import Place, broken, places
from tests.diagnose.scenes import SPACE, ClaimScene, Scene, ago, event, node
from tests.served import as_served
from webhook.core import names, podspec
from webhook.core.model import Object
from webhook.core.profiles import parse_profiles
from webhook.core.review import decide
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.explanation import Judged, Looked, judge, shown_address, shown_phase
from webhook.diagnose.explain.judgement import ReadWorld, judge_today
from webhook.diagnose.explain.members import expected_members
from webhook.diagnose.explain.part import Part
from webhook.diagnose.explain.reading import Reading
from webhook.diagnose.explain.waiting import seconds_waited
from webhook.diagnose.status import alike, likeness
from webhook.diagnose.status.jobs import KeptPod, PodKeeper
from webhook.kube.pod_list import read_pods

PROFILES = """
profiles:
  shared:
    networks: [{network: default/rdma-net, resource: rdma/hca}]
    sharedMemory: {sizeLimit: 16Gi}
    nodeSelector: {rail: fast}
    annotations: {example.com/fabric: "yes"}
    env: {NCCL_DEBUG: WARN, OMP_NUM_THREADS: "8"}
    ipcLock: true
  chosen: {podLabels: {team: "7"}, networks: [{network: default/other, resource: rdma/other}]}
"""


class Fabric(Scene):
    """A job whose profile gives most of what a profile can."""

    written = PROFILES


def as_listed(pods: Iterable[Object]) -> list[KeptPod]:
    """Return pods as `status` keeps them of a list."""
    keeper = PodKeeper()
    listed = list(pods)
    page = read_pods(json.dumps({"items": listed}).encode())
    return [keeper.keep(pod) for pod in (page["items"] if page else listed)]


class Counts(NamedTuple):
    """Say of how many pods it was decided what they would get today, and how many were looked at."""

    decided: int
    looked_at: int


def same(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> Counts:
    """Compare what is found with and without sharing; say how often it was looked."""
    asked: list[str] = []
    looked_at: list[Part] = []

    def counted(pod: Object, *rest: Any) -> Any:
        asked.append(pod["metadata"]["name"])
        return judge_today(pod, *rest)

    def watched(reading: Reading, looked: Looked) -> Judged:
        looked_at[:] = looked.looked_at
        return judge(reading, looked)

    monkeypatch.setattr(alike, "judge_today", counted)
    monkeypatch.setattr(alike, "judge", watched)
    kept = as_listed(reading.pods)
    shared = alike.judge_alike(replace(reading, pods=tuple(pod.read_rest() for pod in kept)), kept)
    alone = judge(reading)
    assert [each for each in shared.findings if each.level != "ok"] == [
        each for each in alone.findings if each.level != "ok"
    ]
    for one, other in zip(shared.parts, alone.parts, strict=True):
        assert shown(reading, one) == shown(reading, other)
    assert shared.masters == alone.masters
    return Counts(len(asked), len(looked_at))


def shown(reading: Reading, part: Part) -> tuple[object, ...]:
    """Return what `status` asks of each pod of a job."""
    return (
        part.name,
        part.job,
        part.is_live,
        part.is_master,
        part.phase,
        part.node,
        part.created,
        shown_phase(part),
        shown_address(part),
        expected_members(part),
        seconds_waited(reading, part),
    )


def served(scene: Scene) -> Scene:
    """Let the pods be as a real cluster gives them."""
    for number, pod in enumerate(scene.pods.values()):
        as_served(pod, number)
    return scene


def not_injected(scene: Scene) -> Scene:
    scene.pods = {name: scene.created(number) for number, name in enumerate(scene.pods)}
    for pod in scene.pods.values():
        scene.bind(pod)
    return scene


def observed(scene: Scene) -> Scene:
    scene.labels[names.MODE] = names.MODE_OBSERVE
    return not_injected(scene)


NUMBERED = ("replica-index", "completion-index", "worker-index", "pod-index", "task-index", "/replica-id")
STATES: list[Callable[[Scene], Scene]] = [lambda scene: scene, not_injected, observed]


@pytest.mark.parametrize("state", STATES, ids=["injected", "not injected", "observed"])
def test_pods_of_a_real_cluster_are_judged_once(
    state: Callable[[Scene], Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = served(state(Scene(40)))
    counts = same(scene.reading, monkeypatch)
    assert max(counts) <= 4, "rank 0, a worker, and perhaps one whose own number is told"


def numbered(pod: Object, number: int) -> Object:
    """Write its rank wherever its system does."""
    for texts in (pod["metadata"]["labels"], pod["metadata"]["annotations"]):
        texts |= {key: str(number) for key, text in texts.items() if text.isdigit() and key.endswith(NUMBERED)}
    for entry in pod["spec"]["containers"][0].get("env", ()):
        if entry["name"].endswith(("RANK", "INDEX", "REPLICA_ID")) and entry.get("value", "").isdigit():
            entry["value"] = str(number)
    return pod


@pytest.mark.parametrize("kind", KINDS)
def test_members_of_each_system_are_alike(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene, pods = Scene(0), {}
    for number, pod in enumerate(job(kind, "gpt", SPACE, pods=40)):
        verdict = decide(pod, SPACE, scene.profiles, ReadWorld(scene.reading))
        assert verdict.allowed, verdict.message
        admitted = as_served(numbered(copy.deepcopy(verdict.pod), number), number)
        admitted["metadata"]["creationTimestamp"] = ago(minutes=20)
        pods[admitted["metadata"]["name"]] = admitted
    scene.pods = pods
    assert max(same(scene.reading, monkeypatch)) <= 6


MOST_VALUES = 4


def leaves(pod: Object) -> Iterator[Place]:
    """Yield the places of texts, numbers and lists that are read of a pod."""
    for at in places({key: pod[key] for key in ("metadata", "spec", "status")}):
        if len(at) > 1 and at[:2] not in (("metadata", "name"), ("metadata", "namespace"), ("metadata", "uid")):
            yield at


def found_at(pod: Any, at: Place) -> Any:
    for key in at:
        pod = pod[key]
    return pod


def told(value: Any, number: int, name: str) -> Iterator[Any]:
    """Yield other values for a place, which tell the pod's own number or name."""
    if isinstance(value, str):
        yield from (
            str(number),
            f"x-{number}",
            f"{number}Gi",
            name,
            f"default/{name}",
            f"{value}{number}",
            f"--nnodes={number}",
        )
    elif isinstance(value, bool):
        yield number % 2 == 0
    elif isinstance(value, int):
        yield number
    elif isinstance(value, list):
        yield value[: number % 2]


@pytest.mark.parametrize("state", STATES, ids=["injected", "not injected", "observed"])
def test_pods_that_differ_anywhere_are_judged_by_themselves(
    state: Callable[[Scene], Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = served(state(Fabric(2)))
    scene.networks["default", "other"] = None
    before = copy.deepcopy(scene.pods)
    example = before["bert-worker-1"]  # what is set on both
    for at in leaves(example):
        for way in range(MOST_VALUES):
            for name, pod in before.items():
                if name == "bert-master-0":
                    continue
                try:
                    values = list(told(found_at(pod, at), int(name[-1]) + 1, name))
                except (KeyError, IndexError):
                    continue
                if way < len(values):
                    scene.pods[name] = broken(pod, at, values[way])
            if way == 0 or way < len(list(told(found_at(example, at), 1, ""))):
                same(scene.reading, monkeypatch)
        scene.pods.update(before)


def change_label(pod: Object, number: int) -> None:
    pod["metadata"]["labels"][names.PROFILE] = f"fabric-{number}"


def choose_by_label(pod: Object, number: int) -> None:
    pod["metadata"]["labels"]["team"] = str(number)


def ask_for_networks(pod: Object, number: int) -> None:
    pod["metadata"]["annotations"][names.NETWORKS] = f"default/rail-{number}"


def ask_for_its_own(pod: Object, number: int) -> None:
    pod["metadata"]["annotations"][names.NETWORKS] = f"default/{pod['metadata']['name']}"


def mount_memory(pod: Object, number: int) -> None:
    pod["spec"]["volumes"] = [
        {"name": "kube-api-access-abcd" + str(number), "emptyDir": {"medium": "Memory", "sizeLimit": f"{number}Gi"}}
    ]
    pod["spec"]["containers"][0]["volumeMounts"] = [
        {"name": "kube-api-access-abcd" + str(number), "mountPath": "/dev/shm"}
    ]


def name_a_container(pod: Object, number: int) -> None:
    pod["metadata"]["annotations"][names.CONTAINER] = f"trainer-{number}"


def select_nodes(pod: Object, number: int) -> None:
    pod["spec"]["nodeSelector"] = {"rail": f"slow-{number}", "kubernetes.io/hostname": f"node-{number}"}


def take_the_node(pod: Object, number: int) -> None:
    pod["spec"]["nodeSelector"] = {"kubernetes.io/hostname": f"node-{number}"}


def name_a_node_elsewhere(pod: Object, number: int) -> None:
    pod["spec"] |= {"nodeName": "", "elsewhere": {"nodeName": f"node-{number}"}}


def be_large(pod: Object, number: int) -> None:
    pod["metadata"]["annotations"]["note"] = "x" * (131_000 * number)


def annotate(pod: Object, number: int) -> None:
    pod["metadata"]["annotations"]["example.com/fabric"] = str(number)


def be_called(pod: Object, number: int) -> None:
    pod["metadata"]["name"] = str(number)
    pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = str(number)


@pytest.mark.parametrize(
    "change",
    [
        *(change_label, choose_by_label, ask_for_networks, ask_for_its_own, mount_memory, name_a_container),
        *(select_nodes, take_the_node, be_large, annotate, be_called),
        name_a_node_elsewhere,
    ],
)
@pytest.mark.parametrize("state", STATES, ids=["injected", "not injected", "observed"])
@pytest.mark.parametrize("hidden", [False, True])
def test_what_seems_alike_and_is_not(
    change: Callable[[Object, int], None],
    state: Callable[[Scene], Scene],
    hidden: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = state(Fabric(5))
    scene.profiles = parse_profiles(PROFILES + "  fabric-2: {networks: [{network: default/rail-2}]}\n  fabric-3: {}\n")
    scene.networks |= {("default", f"rail-{number}"): None for number in range(0, 9, 2)}
    scene.networks |= {
        ("default", f"rail-{number}"): scene.networks["default", "rdma-net"] for number in range(1, 9, 2)
    }
    scene.networks |= {("default", f"bert-worker-{number}"): None for number in range(5)}
    scene.networks["default", "bert-worker-2"] = scene.networks["default", "rdma-net"]
    scene.networks["default", "other"] = None
    for number, pod in enumerate(scene.workers):
        pod["metadata"].setdefault("annotations", {})
        change(pod, number + 2)
        if not hidden:
            as_served(pod, number)
    same(scene.reading, monkeypatch)


def fresh(scene: Scene, pod: Object) -> None:
    scene.bind(pod, ago(seconds=5))
    pod["metadata"]["annotations"].pop(names.NETWORK_STATUS)


def bound_for_long(scene: Scene, pod: Object) -> None:
    scene.bind(pod)
    pod["metadata"]["annotations"].pop(names.NETWORK_STATUS)


def tell(scene: Scene, pod: Object, reason: str, message: str, source: str = "") -> None:
    scene.events.append(event("Pod", pod["metadata"]["name"], reason, message, source=source))


def fails_its_sandbox(scene: Scene, pod: Object) -> None:
    bound_for_long(scene, pod)
    tell(scene, pod, "FailedCreatePodSandBox", f"rpc error: desc = [{SPACE}/{pod['metadata']['name']}]: no card")


def fails_its_sandbox_otherwise(scene: Scene, pod: Object) -> None:
    bound_for_long(scene, pod)
    tell(scene, pod, "FailedCreatePodSandBox", f"rpc error: desc = address of {pod['metadata']['name']} exhausted")


def lacks_a_volume(scene: Scene, pod: Object) -> None:
    bound_for_long(scene, pod)
    tell(scene, pod, "FailedMount", 'MountVolume.SetUp failed for volume "data": secret "x" not found')


def runs_without_a_volume(scene: Scene, pod: Object) -> None:
    lacks_a_volume(scene, pod)
    pod["status"]["phase"] = "Running"


def is_complained_of(scene: Scene, pod: Object) -> None:
    tell(scene, pod, "UnexpectedInterface", f"{pod['metadata']['name']} is elsewhere", "fabric-injector")


def state(pod: Object, key: str, **of: Any) -> None:
    pod["status"]["containerStatuses"][0]["state"] = {key: of}


def crashes(scene: Scene, pod: Object) -> None:
    name = pod["metadata"]["name"]
    state(pod, "waiting", reason="CrashLoopBackOff", message=f"back-off 5m0s restarting pod={name}_{SPACE}(x)")


def crashes_for_memory(scene: Scene, pod: Object) -> None:
    state(pod, "waiting", reason="CrashLoopBackOff")
    pod["status"]["containerStatuses"][0]["lastState"] = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}


def crashes_otherwise(scene: Scene, pod: Object) -> None:
    state(pod, "waiting", reason="CrashLoopBackOff")
    pod["status"]["containerStatuses"][0]["lastState"] = {"terminated": {"exitCode": 1, "message": "no file"}}


def meets_nobody(scene: Scene, pod: Object) -> None:
    bound_for_long(scene, pod)
    del pod["metadata"]["annotations"][names.RENDEZVOUS_NETWORK]


def meets_nobody_and_has_no_list(scene: Scene, pod: Object) -> None:
    meets_nobody(scene, pod)
    pod["metadata"]["annotations"][names.NETWORK_STATUS] = "{"


def has_one_network_of_two(scene: Scene, pod: Object) -> None:
    pod["metadata"]["annotations"][names.NETWORKS] = "default/rdma-net,default/rail"


def has_two_networks(scene: Scene, pod: Object) -> None:
    has_one_network_of_two(scene, pod)
    told = json.loads(pod["metadata"]["annotations"][names.NETWORK_STATUS])
    told.append({"name": "default/rail", "interface": "net2", "ips": ["10.9.0.1"]})
    pod["metadata"]["annotations"][names.NETWORK_STATUS] = json.dumps(told)


def cannot_pull(scene: Scene, pod: Object) -> None:
    state(pod, "waiting", reason="ImagePullBackOff", message='Back-off pulling image "x"')


def runs_out_of_memory(scene: Scene, pod: Object) -> None:
    pod["status"]["containerStatuses"][0]["lastState"] = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    state(pod, "terminated", exitCode=137, reason="OOMKilled", finishedAt=ago(minutes=1))


def is_deleted(scene: Scene, pod: Object) -> None:
    pod["metadata"]["deletionTimestamp"] = ago(seconds=3)


def has_ended(scene: Scene, pod: Object) -> None:
    pod["status"]["phase"] = "Succeeded"


def is_evicted(scene: Scene, pod: Object) -> None:
    pod["status"] |= {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory"}


def is_attached_elsewhere(scene: Scene, pod: Object) -> None:
    scene.attach(pod, "192.168.9.9", interface="net7")


def has_no_usable_address(scene: Scene, pod: Object) -> None:
    scene.attach(pod, "169.254.0.1")


def has_no_address(scene: Scene, pod: Object) -> None:
    scene.attach(pod)


def is_told_another(scene: Scene, pod: Object) -> None:
    scene.tell(pod, "192.168.200.1")


def is_told_nothing(scene: Scene, pod: Object) -> None:
    pod["metadata"]["annotations"].pop(names.MASTER_ADDR)


def has_waited(scene: Scene, pod: Object) -> None:
    scene.wait(pod, ago(minutes=3))


def gave_up(scene: Scene, pod: Object) -> None:
    pod["status"]["phase"] = "Failed"
    words = (
        "fabric-injector: no address. Look at the Events of its rank-0 pod bert-worker-1, at that pod's network-status"
    )
    pod["status"]["initContainerStatuses"][0]["state"] = {"terminated": {"exitCode": 75, "message": words}}


def is_on_no_node(scene: Scene, pod: Object) -> None:
    scene.unschedule(pod, "0/2 nodes are available: 2 Insufficient rdma/hca.")


def is_held_back(scene: Scene, pod: Object) -> None:
    scene.unschedule(pod, "")
    pod["spec"]["schedulingGates"] = [{"name": f"example.com/{pod['metadata']['name']}"}]


def lost_its_node(scene: Scene, pod: Object) -> None:
    pod["spec"]["nodeName"] = "node-9"


def is_on_a_node_without_devices(scene: Scene, pod: Object) -> None:
    scene.nodes.append(node("node-3", {"rdma/hca": "0"}))
    pod["spec"]["nodeName"] = "node-3"


def is_older_than_rank_0(scene: Scene, pod: Object) -> None:
    pod["metadata"]["creationTimestamp"] = ago(minutes=50)
    scene.start(pod, ago(minutes=45))


def was_missed(scene: Scene, pod: Object) -> None:
    for texts in (pod["metadata"]["labels"], pod["metadata"]["annotations"]):
        for key in [each for each in texts if each.startswith(names.PREFIX)]:
            del texts[key]


def names_another_interface(scene: Scene, pod: Object) -> None:
    for entry in pod["spec"]["containers"][0]["env"]:
        if entry["name"] == names.ENV_NCCL_SOCKET_IFNAME:
            entry["value"] = "eth7"


def fixes_devices(scene: Scene, pod: Object) -> None:
    told = json.loads(pod["metadata"]["annotations"][names.NETWORK_STATUS])
    number = pod["metadata"]["name"][-1]
    told[1]["device-info"] = {"type": "pci", "pci": {"rdma-device": f"mlx5_{number}"}}
    pod["metadata"]["annotations"][names.NETWORK_STATUS] = json.dumps(told)
    pod["spec"]["containers"][0]["env"].append({"name": names.ENV_NCCL_IB_HCA, "value": "mlx5_1"})


def names_itself_as_device(scene: Scene, pod: Object) -> None:
    fixes_devices(scene, pod)
    pod["spec"]["containers"][0]["env"][-1]["value"] = pod["metadata"]["name"]


def has_little_shared_memory(scene: Scene, pod: Object) -> None:
    pod["spec"]["containers"][0]["volumeMounts"] = []


def was_injected_before(scene: Scene, pod: Object) -> None:
    text = pod["metadata"]["annotations"][names.STATUS]
    pod["metadata"]["annotations"][names.STATUS] = text.replace('"shared"', '"former"')


TROUBLES = (
    *(fresh, bound_for_long, fails_its_sandbox, fails_its_sandbox_otherwise, lacks_a_volume, runs_without_a_volume),
    *(is_complained_of, crashes, crashes_for_memory, crashes_otherwise, meets_nobody, meets_nobody_and_has_no_list),
    *(has_one_network_of_two, has_two_networks),
    *(cannot_pull, runs_out_of_memory, is_deleted, has_ended, is_evicted, is_attached_elsewhere, has_no_usable_address),
    *(has_no_address, is_told_another, is_told_nothing, has_waited, gave_up, is_on_no_node, is_held_back),
    *(lost_its_node, is_on_a_node_without_devices, is_older_than_rank_0, was_missed, names_another_interface),
    *(fixes_devices, names_itself_as_device, has_little_shared_memory, was_injected_before),
)


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: str(trouble.__name__))
def test_what_is_wrong_with_some_is_found_of_these(
    trouble: Callable[[Scene, Object], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in (None, *TROUBLES[TROUBLES.index(trouble) + 1 :: 4]):
        scene = Scene(7)
        pods = [as_served(pod, number) for number, pod in enumerate(scene.pods.values())]
        for number, pod in enumerate(pods):
            if number % 2:
                trouble(scene, pod)
            elif other is not None and number:
                other(scene, pod)
        same(scene.reading, monkeypatch)


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: str(trouble.__name__))
def test_what_is_wrong_with_all_is_found_of_each(
    trouble: Callable[[Scene, Object], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(5)
    for number, pod in enumerate(scene.pods.values()):
        trouble(scene, as_served(pod, number))
    same(scene.reading, monkeypatch)
    assert any(each.level != "ok" for each in judge(scene.reading).findings) or trouble in (
        *(
            fresh,
            is_deleted,
            has_ended,
            has_two_networks,
            is_complained_of,
            is_older_than_rank_0,
            fixes_devices,
            runs_without_a_volume,
        ),
    )


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: str(trouble.__name__))
def test_no_more_is_decided_than_that_many_are_not_alike(
    trouble: Callable[[Scene, Object], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(30)
    for number, pod in enumerate(scene.pods.values()):
        numbered(as_served(pod, number), number)
        if number:
            trouble(scene, pod)
    counts = same(scene.reading, monkeypatch)
    assert counts.decided <= 4
    assert counts.looked_at <= 4 or trouble in (
        names_itself_as_device,
        fresh,
        crashes,
        is_deleted,
        has_ended,
        is_evicted,
        gave_up,
        is_held_back,
    )


@pytest.mark.parametrize(
    "told", [r'"\ud800"', "9" * 400, "[" * 300 + "]" * 300, "{}", "1e999", '{"a": [null]}', r'"\u0000"']
)
@pytest.mark.parametrize("key", ["name", "interface", "ips", "device-info"])
def test_network_status_may_hold_anything(key: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(4)
    for pod in scene.workers:
        entry = '{"name": "default/rdma-net", "interface": "net1", "ips": ["192.168.0.9"], "KEY": TOLD}'
        told_here = f"[{entry.replace('KEY', key).replace('TOLD', told)}]"
        pod["metadata"]["annotations"][names.NETWORK_STATUS] = told_here
    same(scene.reading, monkeypatch)


@pytest.mark.parametrize("is_rails", [False, True], ids=["beside the card", "the card"])
def test_each_pods_own_claim_is_looked_at(is_rails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = ClaimScene(6)
    for number, pod in enumerate(scene.pods.values()):
        as_served(pod, number)
        name = f"{pod['metadata']['name']}-rails-x"
        own = {"name": "rails" if is_rails else "other", "resourceClaimName": name}
        pod["spec"]["resourceClaims"] = [own] if is_rails else [*pod["spec"]["resourceClaims"], own]
        del pod["status"]["resourceClaimStatuses"]
        scene.claims[name]["status"]["devices"] = []
        if number % 2:
            del scene.claims[name]["status"]["allocation"]
    same(scene.reading, monkeypatch)
    failing = [each.code for each in judge(scene.reading).findings if each.level == "fail"]
    assert {Code.CLAIM_UNALLOCATED, Code.CLAIM_ADDRESS_MISSING} <= set(failing)


@pytest.mark.parametrize("spec", [None, {}, {"containers": []}, {"containers": None, "nodeName": "node-1"}])
@pytest.mark.parametrize("status", [None, {}, {"phase": "Running"}])
def test_a_pod_may_lack_anything(spec: Object | None, status: Object | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for state in (lambda scene: scene, not_injected):
        scene = state(Scene(4))
        for pod in scene.workers:
            pod |= {"spec": spec, "status": status}
        same(scene.reading, monkeypatch)


def test_a_decision_reads_no_annotation_that_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    read: set[str] = set()

    class Recording(dict[str, str]):
        def get(self, key: str, default: Any = None) -> Any:
            read.add(key)
            return super().get(key, default)

        def __getitem__(self, key: str) -> str:
            read.add(key)
            return super().__getitem__(key)

    for scene in (Fabric(1), Scene(1)):
        for pod in (*scene.pods.values(), *(pod for kind in KINDS for pod in job(kind, "gpt", SPACE))):
            annotations = Recording(podspec.annotations(pod))
            assert decide(
                {**pod, "metadata": {**pod["metadata"], "namespace": SPACE, "annotations": annotations}},
                SPACE,
                scene.profiles,
                ReadWorld(scene.reading),
            )
    compared = {
        key
        for key in read
        if key.startswith(likeness._READ) or key in likeness.LOOKED_UP or key == "example.com/fabric"
    }
    of_systems = {
        key
        for key in read - compared
        if not key.startswith(
            ("batch.kubernetes.io/", "volcano.sh/", "scheduling.k8s.io/", "leaderworkerset.", "kueue.")
        )
    }
    assert names.NETWORKS in compared
    assert not of_systems, "what a system is recognised by is compared as what was recognised"


def test_a_state_that_nobody_declares_is_not_looked_at() -> None:
    scene = Scene(3)
    for worker in scene.workers:
        worker["status"]["containerStatuses"][0]["state"]["other"] = "x"
    keeper = PodKeeper()
    kept = [keeper.keep(pod) for pod in scene.reading.pods]  # as a page is kept on which another pod is broken
    shared = alike.judge_alike(replace(scene.reading, pods=tuple(pod.read_rest() for pod in kept)), kept)
    assert not [each for each in shared.findings if each.level != "ok"]
