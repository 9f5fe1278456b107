"""A pod is reviewed again whenever another webhook changes it: what is forged too comes out as it went in, or is denied by us."""

import json
from collections import Counter
from random import Random
from typing import Any

import jsonpatch
import pytest

from tests import hostile, pods
from tests.hostile import forged, large
from tests.profiles import profiles
from tests.worlds import namespace
from webhook.core import names, podspec
from webhook.core.errors import MalformedReview
from webhook.core.injection import wait
from webhook.core.model import NetworkDefinition, Object, Reason
from webhook.core.pod_check import check_pod
from webhook.core.profiles import Profiles
from webhook.core.review import Verdict, decide
from webhook.world.objects import ObjectsWorld

PROFILES = hostile.PROFILES
WORLD = hostile.world()
WORKER = "pods/kubeflow-pytorchjob-1.yaml"


def twice(pod: Object, space: str = "plain", using: Profiles = PROFILES) -> Verdict:
    """Decide about a pod, and about what becomes of it, which is to stay so."""
    before = json.dumps(pod)
    verdict = decide(pod, space, using, WORLD)
    assert json.dumps(pod) == before
    assert jsonpatch.apply_patch(pod, json.loads(json.dumps(verdict.operations))) == verdict.pod
    if verdict.allowed:
        again = decide(json.loads(json.dumps(verdict.pod)), space, using, WORLD)
        assert (again.allowed, again.operations, again.message) == (True, [], "")
        assert (again.job, again.role) == (verdict.job, verdict.role)
    return verdict


def worker(**container: Any) -> Object:
    """Return a pod that waits for rank 0, with further fields of its container."""
    pod = pods.load(WORKER)
    pod["spec"]["containers"][0].update(container)
    return pod


def told(verdict: Verdict) -> str:
    assert not verdict.allowed
    assert verdict.reason == Reason.INVALID_POD
    return verdict.message


@pytest.mark.parametrize("seed", range(4))
def test_no_forged_pod_comes_out_otherwise_the_second_time(seed: int) -> None:
    random = Random(seed)
    samples = [pods.load(name) for name in pods.all_names()]
    samples += [
        large.rich(name)
        for name in (WORKER, "pods/kubeflow-pytorchjob-0.yaml", "pods/jobset-1.yaml")
    ]
    spaces = list(hostile.SPACES)
    kinds: Counter[str] = Counter()
    for _ in range(300):
        pod = random.choice(samples)
        if (
            random.random() < 0.2
        ):  # a manifest saved from a pod that was injected, perhaps elsewhere
            pod = decide(pod, random.choice(spaces), PROFILES, WORLD).pod
        pod = forged.forged(pod, random, random.randint(1, 5))
        try:
            check_pod(pod)
        except MalformedReview:
            kinds["malformed"] += 1
        else:
            verdict = twice(pod, random.choice(spaces))
            kinds[
                "denied" if not verdict.allowed else "changed" if verdict.operations else "same"
            ] += 1
    assert min(kinds[kind] for kind in ("changed", "same", "denied")) > 3, kinds


@pytest.mark.parametrize(
    ("kind", "what"),
    [("containers", "containers"), ("initContainers", "containers"), ("volumes", "volumes")],
)
def test_a_name_twice_is_denied_where_there_is_something_to_inject(kind: str, what: str) -> None:
    pod = large.rich(WORKER)
    pod["spec"][kind].append({**pod["spec"][kind][0]})
    name = pod["spec"][kind][0]["name"]
    found = (
        f"two {what} are named {name!r}; Kubernetes takes a name once in a pod: give each its own"
    )
    assert told(twice(pod)) == f"pod bert-worker-0: {found}"
    pod["metadata"]["labels"][names.PROFILE] = names.PROFILE_NONE
    assert twice(pod).allowed, "a pod that is left alone is Kubernetes' to judge"


def test_a_container_and_an_init_container_of_one_name_are_two_of_it() -> None:
    pod = worker()
    pod["spec"]["initContainers"] = [pods.minimal_container(pod["spec"]["containers"][0]["name"])]
    assert "two containers are named" in told(twice(pod))


def test_a_variable_twice_is_kubernetes_own_way_of_replacing_one() -> None:
    pod = worker()
    env = pod["spec"]["containers"][0]["env"]
    env += [{"name": "EPOCHS", "value": "3"}, {"name": "EPOCHS", "value": "4"}, dict(env[0])]
    assert twice(pod).allowed


@pytest.mark.parametrize("space", ["plain", "full"])
@pytest.mark.parametrize(
    ("volume", "path"),
    [
        (names.WAIT_VOLUME, "/data"),
        (names.NCCL_CONF_VOLUME, "/data"),
        (names.NCCL_CONF_VOLUME, "/dev/shm"),
    ],
)
def test_a_volume_of_the_users_own_keeps_its_content_or_the_pod_is_denied(
    space: str, volume: str, path: str
) -> None:
    pod = worker(volumeMounts=[{"name": volume, "mountPath": path}])
    pod["spec"]["volumes"] = [{"name": volume, "configMap": {"name": "a"}}]
    verdict = twice(pod, space)
    if volume == names.NCCL_CONF_VOLUME and space == "plain":
        assert podspec.volume_named(verdict.pod, volume) == pod["spec"]["volumes"][0]
        assert {"name": volume, "mountPath": path} in podspec.mounts(
            verdict.pod["spec"]["containers"][0]
        )
    else:
        assert f"volume {volume} has the name of" in told(verdict)
        assert verdict.message.endswith("; give it another name")


def test_a_volume_of_the_name_that_nobody_mounts_gives_way() -> None:
    pod = worker()
    pod["spec"]["volumes"] = [{"name": names.WAIT_VOLUME, "emptyDir": {}}]
    volume = podspec.volume_named(twice(pod).pod, names.WAIT_VOLUME)
    assert volume is not None
    assert {item["path"] for item in volume["downwardAPI"]["items"]} == wait.FILES.keys()


def test_our_own_variable_keeps_the_name_whatever_a_command_does_with_it() -> None:
    pod = worker(
        command=["torchrun", f"--rdzv-endpoint=$({names.ENV_MASTER_NAME}):29500", "train.py"]
    )
    container = twice(pod).pod["spec"]["containers"][0]
    assert podspec.env_value(container, names.ENV_MASTER_NAME) == "bert-master-0"


@pytest.mark.parametrize(
    "name", [names.ENV_NCCL_SOCKET_IFNAME, names.ENV_MASTER_NAME, "PET_LOCAL_ADDR"]
)
def test_a_variable_that_refers_to_one_that_is_added_behind_it_holds_what_it_held(
    name: str,
) -> None:
    """A reference reaches only what stands before it. Source: kubernetes pkg/kubelet/kubelet_pods.go makeEnvironmentVariables."""
    pod = pods.load("pods/indexed-job-1.yaml")
    env = pod["spec"]["containers"][0]["env"]
    env.insert(0, {"name": "MASTER_ADDR", "value": f"$({name})"})
    twice(pod)


def test_a_variable_that_takes_an_annotation_which_is_written_is_unknown_before_too() -> None:
    pod = pods.load("pods/indexed-job-1.yaml")
    path = f"metadata.annotations['{names.NETWORKS}']"
    pod["spec"]["containers"][0]["env"] = [
        {"name": "MASTER_ADDR", "valueFrom": {"fieldRef": {"fieldPath": path}}}
    ]
    twice(pod)


def test_the_variables_of_volcanos_plugin_are_known_beside_another_training_container() -> None:
    pod = pods.load("pods/volcano-pytorch-1.yaml")
    pod["metadata"]["labels"][names.PROFILE] = "installed"
    accelerator = {"limits": {"nvidia.com/gpu": "1"}}
    pod["spec"]["containers"].insert(0, pods.minimal_container("side", resources=accelerator))
    assert "local-addr" in twice(pod).pod["metadata"]["annotations"][names.WAITS_FOR]


def test_a_users_own_reference_is_taken_for_the_plugins_variable_before_it_is_moved_too() -> None:
    pod = pods.load("pods/volcano-pytorch-0.yaml")
    pods.set_command(pod, "bash", "-c", "python3 train.py")
    env = pods.drop_env(pod, "MASTER_ADDR")["spec"]["containers"][0]["env"]
    env.insert(
        0, {"name": "MASTER_ADDR", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    )
    twice(pod)


def test_a_mount_of_the_users_own_beside_ours_is_seen_at_once() -> None:
    pod = decide(worker(), "own", PROFILES, WORLD).pod
    pod = decide(pod, "full", PROFILES, WORLD).pod
    pod["spec"]["containers"][0]["volumeMounts"].append(
        {"name": "data", "mountPath": names.NCCL_CONF_PATH}
    )
    decisions = [each for each in twice(pod, "full").decisions if each.step == "nccl-conf"]
    assert [each.reason for each in decisions] == [Reason.USER_VALUE]


def test_a_first_pod_that_is_called_localhost_and_by_name_keeps_both() -> None:
    pod = pods.load("pods/jobset-0.yaml")
    for marks in (
        pod["metadata"]["labels"],
        pod["metadata"]["annotations"],
    ):  # of two roles, none of which is said to lead
        marks["jobset.sigs.k8s.io/global-replicas"] = "5"
        del marks["jobset.sigs.k8s.io/coordinator"]
    env = pods.drop_env(pod, "MASTER_ADDR")["spec"]["containers"][0]["env"]
    env += [
        {"name": "MASTER_ADDR", "value": "ddp-workers-0-0.ddp"},
        {"name": "PET_MASTER_ADDR", "value": "localhost"},
    ]
    verdict = twice(pod)
    assert verdict.pod["spec"]["containers"][0]["env"][: len(env)] == env


def test_a_copy_is_judged_a_few_times_where_the_cluster_changes_with_each_look() -> None:
    looks: list[str] = []

    def changing(namespace: str, name: str) -> NetworkDefinition:
        looks.append(f"example.com/card-{len(looks) + 1}")
        return NetworkDefinition(namespace, name, (looks[-1],), has_ipam=True)

    pod = pods.load("pods/indexed-job-1.yaml")
    source = {"fieldRef": {"fieldPath": f"metadata.annotations['{names.WAIT_ENDS}']"}}
    pod["spec"]["containers"][0]["env"].append({"name": "MASTER_ADDR", "valueFrom": source})
    world = ObjectsWorld([namespace("train", "shared")])
    world.network = changing
    verdict = decide(
        pod,
        "train",
        profiles("{shared: {networks: [{network: default/rdma-net}]}}"),
        world,
    )
    assert verdict.allowed
    assert len(looks) == 4
    limits = verdict.pod["spec"]["containers"][0]["resources"]["limits"]
    assert [name for name in limits if name.startswith("example.com/")] == looks


def test_a_copy_is_judged_as_what_it_is_without_what_it_carried() -> None:
    """A second MASTER_ADDR, which hid the first, is published to nobody: without it the first one names rank 0."""
    pod = pods.load("pods/indexed-job-1.yaml")
    source = {"fieldRef": {"fieldPath": f"metadata.annotations['{names.WAIT_ENDS}']"}}
    pod["spec"]["containers"][0]["env"].append({"name": "MASTER_ADDR", "valueFrom": source})
    verdict = twice(pod)
    assert verdict.role == "worker"
    assert Reason.STALE_MANIFEST in {each.reason for each in verdict.decisions}
    pod = pods.load("pods/indexed-job-0.yaml")
    pod["spec"]["containers"][0]["env"] = [{"name": "PET_MASTER_ADDR", "valueFrom": source}]
    for space in hostile.SPACES:
        twice(pod, space)
