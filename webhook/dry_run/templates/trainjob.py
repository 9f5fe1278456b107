"""Complete the pods of Kubeflow Trainer's TrainJobs: the JobSet of its runtime, with what the TrainJob says.

Source: kubeflow/trainer pkg/runtime/framework/plugins/{torch,jobset}, manifests/base/runtimes/torch_distributed.yaml.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from webhook.core.model import Object
from webhook.core.workloads.indexed_job import COMPLETION_INDEX
from webhook.dry_run.templates.jobset import expand_spec
from webhook.dry_run.templates.pod_parts import copied, field_variable, variable
from webhook.dry_run.templates.section import Section
from webhook.dry_run.templates.workload import Expand, Found, Ignored, Workload

_ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
_NODE = "node"
_TORCHTUNE = ["tune", "run"]
_INDEX_PATH = f"metadata.annotations['{COMPLETION_INDEX}']"
_TORCH_DISTRIBUTED: Object = {
    "mlPolicy": {"numNodes": 1, "torch": {}},
    "template": {
        "spec": {
            "replicatedJobs": [
                {
                    "name": _NODE,
                    "template": {
                        "metadata": {"labels": {_ANCESTOR: "trainer"}},
                        "spec": {"template": {"spec": {"containers": [{"name": _NODE, "image": "pytorch/pytorch"}]}}},
                    },
                }
            ]
        }
    },
}


def expand(workload: Workload) -> Found:
    """Complete the pods of a TrainJob, using its runtime where the input holds it, else Trainer's torch-distributed."""
    reference = workload.spec.node("runtimeRef")
    kind, name = reference.text("kind", "ClusterTrainingRuntime"), reference.text("name", "torch-distributed")
    runtime = _find_runtime(workload, kind, name)
    if runtime is None:
        runtime = Section(copied(_TORCH_DISTRIBUTED), "runtime")
        if name != "torch-distributed":
            yield Ignored(f"{kind}/{name}", f"is not in the input: {workload.source} is shown with torch-distributed")
    policy = runtime.node("mlPolicy")
    nodes = workload.spec.node("trainer").number("numNodes", policy.number("numNodes", 1))
    jobset = runtime.node("template").node("spec")
    for job in jobset.nodes("replicatedJobs"):
        spec = job.node("template").node("spec")
        if (
            job.node("template").node("metadata").node("labels").text(_ANCESTOR) == "trainer"
            or job.text("name") == _NODE
        ):
            job.value["replicas"] = 1
            if job.text("name") == _NODE or not policy.has("mpi"):
                spec.value |= {"completions": nodes, "parallelism": nodes}
            _apply_trainer(workload, spec.node("template"), nodes, is_torch=policy.has("torch"))
        for patch in _patches(workload, job.text("name")):
            _merge_pod_template(spec, patch)
    yield from expand_spec(workload, jobset)


def expand_runtime(workload: Workload) -> Found:
    """Yield that a runtime makes no pods itself."""
    yield workload.ignore("", "makes no pod itself: it is used by the TrainJobs that name it")


def _find_runtime(workload: Workload, kind: str, name: str) -> Section | None:
    for peer in workload.peers:
        metadata = peer.get("metadata")
        if peer.get("kind") != kind or not isinstance(metadata, dict) or metadata.get("name") != name:
            continue
        namespace = metadata.get("namespace")
        if kind == "ClusterTrainingRuntime" or namespace in (None, workload.namespace):
            return Section(copied(Section(peer).node("spec").value), f"{kind}/{name} spec")
    return None


def _apply_trainer(workload: Workload, template: Section, nodes: int, *, is_torch: bool) -> None:
    if not workload.spec.has("trainer"):
        return
    trainer = workload.spec.node("trainer")
    for container in template.node("spec").nodes("containers"):
        if container.text("name") != _NODE:
            continue
        for key in ("image", "command", "args"):
            if trainer.has(key):
                container.value[key] = copied(trainer.value[key])
        if trainer.has("resourcesPerNode"):
            container.value["resources"] = copied(trainer.value["resourcesPerNode"])
        env = [node.value for node in container.nodes("env")]
        _upsert(env, (node.value for node in trainer.nodes("env")))
        if is_torch:
            _apply_torch(workload, trainer, container, env, nodes)
        container.value["env"] = env


def _apply_torch(workload: Workload, trainer: Section, container: Section, env: list[Object], nodes: int) -> None:
    master = f"{workload.name}-{_NODE}-0-0.{workload.name}"
    processes = str(trainer.number("numProcPerNode", 0) or "auto")
    _upsert(
        env,
        (
            variable("PET_NNODES", str(nodes)),
            variable("PET_NPROC_PER_NODE", processes),
            field_variable("PET_NODE_RANK", _INDEX_PATH),
        ),
    )
    if trainer.words("command") == _TORCHTUNE:
        if nodes > 1:
            container.value["command"] = [*_TORCHTUNE, f"--rdzv_endpoint={master}:29500"]
    else:
        _upsert(env, (variable("PET_MASTER_ADDR", master), variable("PET_MASTER_PORT", "29500")))


def _patches(workload: Workload, job: str) -> Iterator[Section]:
    """Yield what the TrainJob lays over the pod template of a replicated Job, in all forms since v2.0."""
    for override in workload.spec.nodes("podSpecOverrides"):
        if _targets(override, job):
            spec = {key: value for key, value in override.value.items() if key != "targetJobs"}
            yield Section({"spec": spec}, override.path)
    for override in workload.spec.nodes("podTemplateOverrides"):
        if _targets(override, job):
            yield override
    for patch in workload.spec.nodes("runtimePatches"):
        spec_patch = patch.node("trainingRuntimeSpec").node("template").node("spec")
        for replicated in spec_patch.nodes("replicatedJobs"):
            if replicated.text("name") == job:
                yield replicated.node("template").node("spec").node("template")


def _targets(override: Section, job: str) -> bool:
    return any(target.text("name") == job for target in override.nodes("targetJobs"))


def _merge_pod_template(job_spec: Section, patch: Section) -> None:
    template = _own(job_spec, "template")
    metadata, spec = _own(template, "metadata"), _own(template, "spec")
    for key in ("labels", "annotations"):
        _own(metadata, key).value.update(patch.node("metadata").texts(key))
    for key, value in patch.node("spec").value.items():
        if key in ("containers", "initContainers"):
            for change in patch.node("spec").nodes(key):
                for container in spec.nodes(key):
                    if container.text("name") == change.text("name"):
                        _merge(container.value, change.value)
        else:
            _merge(spec.value, {key: value})


def _own(holder: Section, key: str) -> Section:
    """Return the map at *key*, making it where it is missing."""
    node = holder.node(key)
    holder.value[key] = node.value
    return node


def _merge(target: Object, change: Mapping[str, Any]) -> None:
    for key, value in change.items():
        current = target.get(key)
        if isinstance(current, dict) and isinstance(value, dict):
            _merge(current, value)
        elif isinstance(current, list) and isinstance(value, list) and _is_named([*current, *value]):
            _upsert(current, copied(value))
        else:
            target[key] = copied(value)


def _is_named(items: Iterable[Any]) -> bool:
    return all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in items)


def _upsert(items: list[Object], added: Iterable[Object]) -> None:
    """Replace entries of the same name, append the others."""
    for entry in added:
        for index, item in enumerate(items):
            if item.get("name") == entry.get("name"):
                items[index] = entry
                break
        else:
            items.append(entry)


KINDS: Mapping[tuple[str, str], Expand] = {
    ("trainer.kubeflow.org", "TrainJob"): expand,
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): expand_runtime,
    ("trainer.kubeflow.org", "TrainingRuntime"): expand_runtime,
}
