"""Write a workload's manifest from a row: its kind and its roles.

Of a role, ``run`` is a text for ``bash -c``, ``argv`` a command without a shell, ``env`` its
variables (``{field: PATH}`` and ``{config: NAME}`` are references), ``replicas`` the number of
its pods, ``gpus`` how many accelerators each has, 8 unless given, and ``resource`` their name.
``beside`` holds containers that stand in front, ``spec`` more fields of the pods. Fields of some
kinds: ``size``, ``indexed``, ``completions``, ``jobs``, ``coordinator``, ``plugins``, ``elastic``,
``group``, ``podGroupSize``, ``stateful``, ``runtime``; ``saved`` names fixtures of pods that an
operator made. The workload and its namespace are called ``train``.
"""

import json
from collections.abc import Iterable

import yaml

from tests import pods
from tests.worlds import PROFILES, world
from webhook.core import names, podspec
from webhook.core.accelerators import find_pod_accelerator
from webhook.core.injection import wait
from webhook.core.model import Object
from webhook.dry_run.judge import PodResult, dry_run

WORLD = world()
IMAGE = "registry.example.com/image:1"
PREFIXES = {"PyTorchJob": "pytorch", "MPIJob": "mpi", "TFJob": "tf"}
"""Of Kubeflow's kinds, the name of their container and of their field."""


def workload(kind: str, roles: Object, **more: object) -> Object:
    """Return a row; a role may be the text that it runs."""
    whole = {name: {"run": role} if isinstance(role, str) else role for name, role in roles.items()}
    return {"kind": kind, "roles": whole, **more}


def judge(row: Object) -> tuple[PodResult, ...]:
    """Return what the dry run of the row's manifest says of each pod."""
    return judge_text(manifest(row))


def judge_text(text: str) -> tuple[PodResult, ...]:
    """Return what the dry run of a manifest says of each pod."""
    run = dry_run(text, namespace="train", profile=None, profiles=PROFILES, world=WORLD)
    assert not any(part.broken for part in run.ignored), run.ignored
    return run.pods


def manifest(row: Object) -> str:
    """Return the row's manifest, as a user writes it."""
    if "saved" in row:
        return yaml.safe_dump_all(_saved(row))
    if row["kind"] == "PodGroup":
        return yaml.safe_dump_all(_grouped_pods(row))
    version, spec = _spec(row)
    kind = row["kind"].removeprefix("Volcano")
    return yaml.safe_dump(
        {"apiVersion": version, "kind": kind, "metadata": {"name": "train"}, "spec": spec}
    )


def container(name: str, role: Object) -> Object:
    """Return the container of a role."""
    made: Object = {"name": name, "image": IMAGE, "env": []}
    if "run" in role or "argv" in role:
        made["command"] = role.get("argv") or ["bash", "-c", role["run"]]
    made["env"] = [_variable(key, value) for key, value in role.get("env", {}).items()]
    if gpus := role.get("gpus", 8):
        made["resources"] = {"limits": {role.get("resource", "nvidia.com/gpu"): str(gpus)}}
    return made


def _variable(name: str, value: str | Object) -> Object:
    if isinstance(value, str):
        return {"name": name, "value": value}
    if "field" in value:
        return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": value["field"]}}}
    return {"name": name, "valueFrom": {"configMapKeyRef": {"name": value["config"], "key": name}}}


def _templates(row: Object, name: str = "main") -> list[tuple[str, int, Object]]:
    """Return of each role its name, number of pods and template."""
    beside = [container(other, said) for other, said in row.get("beside", {}).items()]
    more = row.get("spec", {})
    return [
        (
            role,
            said.get("replicas", 1),
            {"spec": {"containers": [*beside, container(name, said)], **more}},
        )
        for role, said in row["roles"].items()
    ]


def _spec(row: Object) -> tuple[str, Object]:
    """Return the API version and the spec of the row's workload."""
    kind = row["kind"]
    if kind in ("Job", "StatefulSet", "Deployment", "DaemonSet", "Pod"):
        return _of_one_template(row)
    if kind in PREFIXES:
        return _of_kubeflow(row)
    if kind == "JobSet":
        return _jobset(row)
    templates = _templates(row)
    if kind == "LeaderWorkerSet":
        both = {f"{role}Template": pod for role, _, pod in templates}
        template = {"size": row.get("size", 2), **both}
        return "leaderworkerset.x-k8s.io/v1", {"leaderWorkerTemplate": template}
    if kind == "VolcanoJob":
        tasks = [{"name": role, "replicas": n, "template": pod} for role, n, pod in templates]
        return "batch.volcano.sh/v1alpha1", {"tasks": tasks, "plugins": row.get("plugins", {})}
    if kind == "TrainJob":
        return _trainjob(row)
    if kind == "RayCluster":
        (_, _, head), (name, count, worker) = templates
        group = {"groupName": name, "replicas": count, "rayStartParams": {}, "template": worker}
        head_group = {"rayStartParams": {}, "template": head}
        return "ray.io/v1", {"headGroupSpec": head_group, "workerGroupSpecs": [group]}
    if kind == "PodCliqueSet":
        cliques = [
            {"name": role, "spec": {"replicas": n, "podSpec": pod["spec"]}}
            for role, n, pod in templates
        ]
        groups = [{"name": "model", "cliqueNames": [*row["roles"]]}] if row.get("group") else []
        template = {"cliques": cliques, "podCliqueScalingGroups": groups}
        return "grove.io/v1alpha1", {"template": template}
    assert kind == "StormService"
    shared = {key: row[key] for key in ("podGroupSize", "stateful") if key in row}
    roles = [{"name": role, "replicas": n, "template": pod, **shared} for role, n, pod in templates]
    return "orchestration.aibrix.ai/v1alpha1", {"template": {"spec": {"roles": roles}}}


def _of_one_template(row: Object) -> tuple[str, Object]:
    containers = [container(name, role) for name, role in row["roles"].items()]
    pod = {"spec": {"containers": containers, **row.get("spec", {})}}
    size = row.get("size", 2)
    if row["kind"] == "Pod":
        return "v1", pod["spec"]
    if row["kind"] != "Job":
        return "apps/v1", {"replicas": size, "serviceName": "train", "template": pod}
    mode = "Indexed" if row.get("indexed", True) else "NonIndexed"
    counts = {"completions": row.get("completions", size), "parallelism": size}
    return "batch/v1", {"completionMode": mode, **counts, "template": pod}


def _of_kubeflow(row: Object) -> tuple[str, Object]:
    prefix = PREFIXES[row["kind"]]
    specs = {role: {"replicas": n, "template": pod} for role, n, pod in _templates(row, prefix)}
    more = {"elasticPolicy": row["elastic"]} if "elastic" in row else {}
    version = "kubeflow.org/v2beta1" if row["kind"] == "MPIJob" else "kubeflow.org/v1"
    return version, {f"{prefix}ReplicaSpecs": specs, **more}


def _jobset(row: Object) -> tuple[str, Object]:
    jobs = []
    for role, count, pod in _templates(row):
        job = {"parallelism": count, "completions": count, "template": pod}
        jobs.append({"name": role, "replicas": row.get("jobs", 1), "template": {"spec": job}})
    spec: Object = {"replicatedJobs": jobs}
    if "coordinator" in row:
        spec["coordinator"] = {"replicatedJob": row["coordinator"]}
    return "jobset.x-k8s.io/v1alpha2", spec


def _trainjob(row: Object) -> tuple[str, Object]:
    [said] = row["roles"].values()
    resources = {"limits": {"nvidia.com/gpu": "8"}}
    trainer = {"numNodes": said["replicas"], "command": said["argv"], "image": IMAGE}
    runtime = {"name": row.get("runtime", "torch-distributed")}
    return "trainer.kubeflow.org/v1alpha1", {
        "runtimeRef": runtime,
        "trainer": {**trainer, "resourcesPerNode": resources},
    }


def _grouped_pods(row: Object) -> Iterable[Object]:
    """Yield the pods of a group of Kueue's, which no controller makes."""
    roles = [(role, pod) for role, count, pod in _templates(row) for _ in range(count)]
    size = {"kueue.x-k8s.io/pod-group-total-count": str(len(roles))}
    for index, (_, pod) in enumerate(roles):
        labels = {
            "kueue.x-k8s.io/pod-group-name": "train",
            "kueue.x-k8s.io/pod-group-pod-index": str(index),
        }
        metadata = {"name": f"train-{index}", "labels": labels, "annotations": size}
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, **pod}


def _saved(row: Object) -> Iterable[Object]:
    """Yield pods that an operator made, which run the containers of the row."""
    for number, (name, role) in enumerate(row["roles"].items()):
        pod = pods.load(f"pods/{row['saved']}-{number}.yaml")
        one = container(name, role)
        one["env"] += pod["spec"]["containers"][0]["env"]
        pod["spec"]["containers"] = [one | {"name": "pytorch"}]
        yield pods.add_env(pod, "WORLD_SIZE", str(len(row["roles"])))


def needs(pod: Object) -> set[str]:
    """Return what the wait step of an injected pod waits for."""
    return set(wait.needs(pod))


def published(pod: Object) -> set[str]:
    """Return the variables of an injected pod that take an address which is published."""
    path = f"metadata.annotations['{names.PREFIX}"
    entries = [entry for container in podspec.containers(pod) for entry in podspec.env(container)]
    return {
        one["name"]
        for one in entries
        if str(one.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")).startswith(path)
    }


def gains(before: Object, after: Object) -> str:
    """Return what a pod got of devices, networks and memory, as one text."""
    resources = [one.get("resources") for one in podspec.containers(after)]
    volumes = [one for one in podspec.volumes(after) if one["name"] == names.SHM_VOLUME]
    networks = podspec.annotations(after).get(names.NETWORKS)
    return json.dumps([find_pod_accelerator(before), resources, volumes, networks], sort_keys=True)


def nobody_waits_in_vain(found: Iterable[tuple[str, str, Object]]) -> None:
    """Check that whoever waits for rank 0 has one: *found* gives key, role and injected pod."""
    members = list(found)
    published_by = {key for key, role, _ in members if role == "master"}
    assert {key for key, _, pod in members if "master-addr" in needs(pod)} <= published_by
