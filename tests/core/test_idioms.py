"""What people write: idioms of jobs and services, each run through a dry run, with what becomes of its pods.

The files in ``idioms/`` hold them. An idiom is a kind of workload and its roles; of a role, ``run`` is a text for ``bash -c``, ``argv``
a command without a shell, ``gpus`` their number, 8 unless given; ``beside`` holds containers that stand in front. ``pods`` says what
becomes of each pod that the dry run shows:

- *is*: ``rank 0``; ``candidate``, the first pod of a role, which may be it; ``worker``; ``node``, injected without a rendezvous;
  ``alone``, left as it is; ``warned``, the same with a warning that names the label.
- *moves*: variables that take a published address. *waits*: what the wait step waits for. Both are left out where there is nothing.

The workload and its namespace are called ``train``.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.core.test_jobs import gains, needs, nobody_waits_in_vain, published
from tests.worlds import PROFILES
from webhook.core import names, podspec
from webhook.core.accelerators import find_pod_accelerator
from webhook.core.model import Namespace, NetworkDefinition, Object, Outcome
from webhook.core.workloads import TrainingPod, recognise
from webhook.dry_run.judge import PodResult, dry_run

FILES = sorted((Path(__file__).parent / "idioms").glob("*.yaml"))
IDIOMS = {
    f"{file.stem}: {idiom['idiom']}": idiom
    for file in FILES
    for idiom in yaml.safe_load(file.read_text("utf-8"))
}


class EveryNetwork:
    """A cluster in which each namespace has the profile, and each network exists."""

    def namespace(self, name: str) -> Namespace:
        return Namespace(name, {names.PROFILE: "shared"})

    fresh_namespace = namespace

    def network(self, namespace: str, name: str) -> NetworkDefinition:
        return NetworkDefinition(namespace, name, has_ipam=True)

    def has_profile(self, _name: str) -> bool:
        return False


def container(name: str, role: Object) -> Object:
    made: Object = {"name": name, "image": "registry.example.com/image:1", "env": []}
    if "run" in role:
        made["command"] = ["bash", "-c", role["run"]]
    elif "argv" in role:
        made["command"] = role["argv"]
    for key, value in role.get("env", {}).items():
        if isinstance(value, str):
            made["env"].append({"name": key, "value": value})
        elif "field" in value:
            made["env"].append(
                {"name": key, "valueFrom": {"fieldRef": {"fieldPath": value["field"]}}}
            )
        else:
            made["env"].append(
                {
                    "name": key,
                    "valueFrom": {"configMapKeyRef": {"name": value["config"], "key": key}},
                }
            )
    if gpus := role.get("gpus", 8):
        made["resources"] = {"limits": {role.get("resource", "nvidia.com/gpu"): str(gpus)}}
    return made


def template(idiom: Object, role: str, *, name: str = "main") -> Object:
    beside = [container(other, said) for other, said in idiom.get("beside", {}).items()]
    return {
        "spec": {
            "containers": [*beside, container(name, idiom["roles"][role])],
            **idiom.get("spec", {}),
        }
    }


def templates(idiom: Object, name: str = "main") -> list[tuple[str, int, Object]]:
    """Return of each role its name, number of pods and template."""
    return [
        (role, said.get("replicas", 1), template(idiom, role, name=name))
        for role, said in idiom["roles"].items()
    ]


def spec_of(idiom: Object) -> tuple[str, Object]:
    """Return the API version and the spec of the idiom's workload."""
    kind, roles = idiom["kind"], idiom["roles"]
    if kind in ("Job", "StatefulSet", "Deployment", "DaemonSet", "Pod"):
        containers = [container(name, role) for name, role in roles.items()]
        pod = {"spec": {"containers": containers, **idiom.get("spec", {})}}
        size = idiom.get("size", 2)
        if kind == "Job":
            mode = "Indexed" if idiom.get("indexed", True) else "NonIndexed"
            return "batch/v1", {
                "completionMode": mode,
                "completions": size,
                "parallelism": size,
                "template": pod,
            }
        return (
            ("v1", pod["spec"])
            if kind == "Pod"
            else ("apps/v1", {"replicas": size, "serviceName": "train", "template": pod})
        )
    if kind == "JobSet":
        jobs = []
        for role, count, pod in templates(idiom):
            job = {"parallelism": count, "completions": count, "template": pod}
            jobs.append({"name": role, "replicas": idiom.get("jobs", 1), "template": {"spec": job}})
        spec: Object = {"replicatedJobs": jobs}
        if "coordinator" in idiom:
            spec["coordinator"] = {"replicatedJob": idiom["coordinator"]}
        return "jobset.x-k8s.io/v1alpha2", spec
    if kind == "LeaderWorkerSet":
        both = {f"{role}Template": pod for role, _, pod in templates(idiom)}
        return "leaderworkerset.x-k8s.io/v1", {"leaderWorkerTemplate": {"size": 2, **both}}
    if kind == "VolcanoJob":
        tasks = [
            {"name": role, "replicas": count, "template": pod}
            for role, count, pod in templates(idiom)
        ]
        return "batch.volcano.sh/v1alpha1", {"tasks": tasks, "plugins": idiom.get("plugins", {})}
    if kind in ("PyTorchJob", "MPIJob", "TFJob"):
        prefix = {"PyTorchJob": "pytorch", "MPIJob": "mpi", "TFJob": "tf"}[kind]
        specs = {
            role: {"replicas": count, "template": pod}
            for role, count, pod in templates(idiom, prefix)
        }
        more = {"elasticPolicy": idiom["elastic"]} if "elastic" in idiom else {}
        version = "kubeflow.org/v2beta1" if kind == "MPIJob" else "kubeflow.org/v1"
        return version, {f"{prefix}ReplicaSpecs": specs, **more}
    if kind == "TrainJob":
        [said] = roles.values()
        trainer = {
            "numNodes": said["replicas"],
            "command": said["argv"],
            "image": "registry.example.com/image:1",
        }
        resources = {"resourcesPerNode": {"limits": {"nvidia.com/gpu": "8"}}}
        return "trainer.kubeflow.org/v1alpha1", {
            "runtimeRef": {"name": "torch-distributed"},
            "trainer": {**trainer, **resources},
        }
    if kind == "RayCluster":
        (_, _, head), (name, count, worker) = templates(idiom)
        group = {"groupName": name, "replicas": count, "rayStartParams": {}, "template": worker}
        return "ray.io/v1", {
            "headGroupSpec": {"rayStartParams": {}, "template": head},
            "workerGroupSpecs": [group],
        }
    if kind == "PodCliqueSet":
        cliques = [
            {"name": role, "spec": {"replicas": count, "podSpec": pod["spec"]}}
            for role, count, pod in templates(idiom)
        ]
        groups = [{"name": "model", "cliqueNames": [*roles]}] if idiom.get("group") else []
        return "grove.io/v1alpha1", {
            "template": {"cliques": cliques, "podCliqueScalingGroups": groups}
        }
    assert kind == "StormService"
    shared = {key: idiom[key] for key in ("podGroupSize", "stateful") if key in idiom}
    listed = [
        {"name": role, "replicas": count, "template": pod, **shared}
        for role, count, pod in templates(idiom)
    ]
    return "orchestration.aibrix.ai/v1alpha1", {"template": {"spec": {"roles": listed}}}


def manifest(idiom: Object) -> str:
    """Return the idiom's manifest, as a user writes it."""
    if idiom["kind"] == "PodGroup":
        [said] = idiom["roles"].values()
        pods = []
        for index in range(said["replicas"]):
            labels = {
                "kueue.x-k8s.io/pod-group-name": "train",
                "kueue.x-k8s.io/pod-group-pod-index": str(index),
            }
            pod = {
                "metadata": {"name": f"train-{index}", "labels": labels},
                **template(idiom, "main"),
            }
            pods.append({"apiVersion": "v1", "kind": "Pod", **pod})
        return yaml.safe_dump_all(pods)
    version, spec = spec_of(idiom)
    kind = idiom["kind"].removeprefix("Volcano")
    return yaml.safe_dump(
        {"apiVersion": version, "kind": kind, "metadata": {"name": "train"}, "spec": spec}
    )


def outcome(result: PodResult) -> Object:
    """Return what became of a pod, as the files write it."""
    found: Object = {"is": _what(result)}
    if moves := sorted(published(result.after)):
        found["moves"] = moves
    if waits := sorted(needs(result.after)):
        found["waits"] = waits
    return found


def _what(result: PodResult) -> str:
    if names.STATUS not in podspec.annotations(result.after):
        assert result.before == result.after
        return (
            "warned" if any(one.outcome is Outcome.WARNED for one in result.decisions) else "alone"
        )
    member = recognise(result.before)
    assert isinstance(member, TrainingPod)
    if not result.rendezvous or member.rendezvous is None:
        return "node"
    if result.rendezvous == "worker":
        return "worker"
    return "rank 0" if member.rendezvous.is_certain else "candidate"


def judged(idiom: Object) -> tuple[PodResult, ...]:
    run = dry_run(
        manifest(idiom), namespace="train", profile=None, profiles=PROFILES, world=EveryNetwork()
    )
    assert not run.is_broken, run.ignored
    return run.pods


@pytest.mark.parametrize("name", IDIOMS)
def test_an_idiom_comes_out_as_its_author_would_want(name: str) -> None:
    idiom = IDIOMS[name]
    found = judged(idiom)
    assert all(pod.allowed for pod in found), [pod.message for pod in found]
    for pod in found:
        for before, after in zip(
            podspec.containers(pod.before), podspec.containers(pod.after), strict=True
        ):
            assert podspec.argv(before) == podspec.argv(after), "no text is ever changed"
    equals: dict[Any, set[Any]] = {}
    for pod in found:
        if accelerator := find_pod_accelerator(pod.before):
            equals.setdefault(accelerator, set()).add((pod.system, gains(pod.before, pod.after)))
    assert all(len(each) == 1 for each in equals.values()), (
        "pods with the same accelerators are treated alike"
    )
    nobody_waits_in_vain((pod.job, pod.rendezvous, pod.after) for pod in found)
    assert [outcome(pod) for pod in found] == idiom["pods"], [pod.decisions for pod in found]
    assert {pod.system for pod in found} == {idiom["system"]}
