"""What is decided once about pods that are alike is what would be decided of each: compared with that, wherever pods may differ."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.diagnose.hostile import Place, broken, places
from tests.diagnose.scenes import SPACE, Scene
from tests.diagnose.survey.clusters import KINDS, job
from tests.served import as_served
from webhook.core import names, podspec
from webhook.core.model import Object
from webhook.core.profiles import parse_profiles
from webhook.core.review import decide
from webhook.diagnose.explain.explanation import judge
from webhook.diagnose.explain.judgement import ReadWorld, judge_today
from webhook.diagnose.explain.reading import Reading
from webhook.diagnose.status import alike

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


def same(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> int:
    """Compare what is found with and without sharing; return how many pods were judged."""
    asked: list[str] = []

    def counted(pod: Object, *rest: Any) -> Any:
        asked.append(pod["metadata"]["name"])
        return judge_today(pod, *rest)

    monkeypatch.setattr(alike, "judge_today", counted)
    shared = judge(reading, alike.judge_alike(reading))
    assert list(shared.findings) == list(judge(reading).findings)
    return len(asked)


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
    assert same(scene.reading, monkeypatch) <= 4, "rank 0, a worker, and perhaps one whose own number is told"


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
        pods[admitted["metadata"]["name"]] = admitted
    scene.pods = pods
    assert same(scene.reading, monkeypatch) <= 6


MOST_VALUES = 4


def leaves(pod: Object) -> Iterator[Place]:
    """Yield the places of texts, numbers and lists that are read of a pod."""
    for at in places({key: pod[key] for key in ("metadata", "spec")}):
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
        key for key in read if key.startswith(alike._READ) or key in alike._LOOKED_UP or key == "example.com/fabric"
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
