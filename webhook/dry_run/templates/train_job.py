"""Make the JobSet of a TrainJob: that of its runtime, with what the TrainJob says.

The runtime is the input's, else what Trainer ships under that name. Source: kubeflow/trainer
pkg/runtime/core/trainingruntime.go, pkg/runtime/framework/plugins/{torch,jax,xgboost,mpi}.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from webhook.core.model import Object
from webhook.dry_run.templates.pods import Ignored, Workload, copied, fill, read_data, variables
from webhook.dry_run.templates.section import Section

_ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
_DEFAULT = "torch-distributed"
_NODE = "node"
_TORCHTUNE = ["tune", "run"]


def find_runtime(workload: Workload) -> tuple[Section, list[Ignored]]:
    """Return the spec of the JobSet, and which runtime is missing in the input."""
    reference, missing = workload.spec.node("runtimeRef"), []
    kind, name = reference.get("kind", "ClusterTrainingRuntime"), reference.get("name", _DEFAULT)
    source = f"{kind}/{name}"
    if found := workload.runtimes.get(source):
        runtime = Section(copied(Section(found).node("spec").value), f"{source} spec")
    else:
        shipped = read_data("trainer_runtimes.yaml")
        is_shipped = kind == "ClusterTrainingRuntime" and name in shipped
        runtime = Section(copied(shipped[name if is_shipped else _DEFAULT]), "runtime")
        other = f"Trainer's {_DEFAULT} in its place; add it to the input"
        other = "the one that Trainer ships" if is_shipped else other
        message = f"is not in the input: {workload.source} is shown with {other}"
        missing.append(Ignored(source, message))
    jobset = runtime.node("template", "spec")
    for job in jobset.nodes("replicatedJobs"):
        _apply(workload, job, runtime.node("mlPolicy"))
        for patch in _patches(workload.spec, job.get("name", "")):
            _merge(job.node("template", "spec").value, {"template": patch})
    return jobset, missing


def _apply(workload: Workload, job: Section, policy: Section) -> None:
    """Write into a replicated Job what the TrainJob says of its nodes and their containers."""
    name, is_mpi = job.get("name", ""), policy.has("mpi")
    step = job.node("template", "metadata", "labels").get(_ANCESTOR, "")
    is_trainer = step == "trainer" or (name == _NODE and not is_mpi)
    spec = job.node("template", "spec")
    pod = spec.node("template", "spec")
    if is_trainer or name == _NODE:
        job.value["replicas"] = 1
        nodes = workload.spec.node("trainer").get("numNodes", policy.get("numNodes", 1))
        if policy.node("mpi").get("runLauncherAsNode", False):  # the launcher is one of the nodes
            nodes = max(nodes - 1, 1)
        if name == _NODE or not is_mpi:
            spec.value |= {"completions": nodes, "parallelism": nodes}
        for container in pod.nodes("containers"):
            if container.get("name", "") == _NODE:
                _apply_trainer(workload, container, policy, nodes, runs_command=is_trainer)
    if is_mpi and name in (_NODE, "launcher"):  # both get the keys by which they reach each other
        secret = {"secretName": f"{workload.name}-mpi-ssh-auth"}
        _merge(pod.value, {"volumes": [{"name": "mpi-ssh-auth", "secret": secret}]})


def _apply_trainer(
    workload: Workload, container: Section, policy: Section, nodes: int, *, runs_command: bool
) -> None:
    trainer, master = workload.spec.node("trainer"), f"{workload.name}-{_NODE}-0-0.{workload.name}"
    written = {"resources": "resourcesPerNode"}
    if runs_command:
        written |= {key: key for key in ("image", "command", "args")}
    for key, own in written.items():
        if trainer.has(own):
            container.value[key] = copied(trainer.value[own])
    shapes, is_torchtune = "", trainer.words("command") == _TORCHTUNE
    if policy.has("jax"):
        shapes = "jax"
    elif workload.spec.has("trainer") and policy.has("torch"):
        shapes = "torch" if is_torchtune else "torch torch-address"
        if is_torchtune and nodes > 1:
            container.value["command"] = [*_TORCHTUNE, f"--rdzv_endpoint={master}:29500"]
    elif workload.spec.has("trainer") and policy.has("xgboost"):
        shapes = "xgboost"
    given = fill(shapes, {"nodes": nodes, "master": master}).get("env", {})
    own_env = [each.value for each in trainer.nodes("env")]
    _merge(container.value, {"env": [*own_env, *variables(given)]})


def _patches(spec: Section, job: str) -> Iterator[Object]:
    """Yield what the TrainJob lays over the pod template of a replicated Job."""
    for key in ("podSpecOverrides", "podTemplateOverrides"):  # of v2.0 and v2.1
        for override in spec.nodes(key):
            patch = {one: value for one, value in override.value.items() if one != "targetJobs"}
            if any(target.get("name", "") == job for target in override.nodes("targetJobs")):
                yield {"spec": patch} if key == "podSpecOverrides" else patch
    for patch_of_runtime in spec.nodes("runtimePatches"):
        jobset = patch_of_runtime.node("trainingRuntimeSpec", "template", "spec")
        for replicated in jobset.nodes("replicatedJobs"):
            if replicated.get("name", "") == job:
                yield replicated.node("template", "spec", "template").value


def _merge(target: Object, change: Mapping[str, Any]) -> None:
    """Lay *change* over *target*: objects and containers key by key, other items by their names."""
    for key, value in change.items():
        old: Any = target.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            _merge(old, value)
        elif _is_named(old) and _is_named(value):
            items = {item["name"]: item for item in old}
            for name, item in ((item["name"], item) for item in value):
                if key in ("containers", "initContainers"):  # only those that the runtime has
                    _merge(items.get(name, {}), item)
                else:
                    items[name] = copied(item)
            target[key] = [*items.values()]
        else:
            target[key] = copied(value)


def _is_named(items: Any) -> bool:
    return isinstance(items, list) and all(
        isinstance(item, dict) and isinstance(item.get("name"), str) for item in items
    )
