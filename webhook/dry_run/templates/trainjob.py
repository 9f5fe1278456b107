"""Complete the pods of Kubeflow Trainer's TrainJobs: the JobSet of its runtime, with what the TrainJob says.

Source: kubeflow/trainer pkg/runtime/core/trainingruntime.go, pkg/runtime/framework/plugins/{torch,jax,xgboost,mpi,jobset}.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from webhook.core.model import Object
from webhook.core.workloads.systems import COMPLETION_INDEX
from webhook.dry_run.templates.documents import parse_documents
from webhook.dry_run.templates.jobset import expand_spec
from webhook.dry_run.templates.pod_parts import copied, field_variable, variable
from webhook.dry_run.templates.section import Section
from webhook.dry_run.templates.workload import Expand, Found, Ignored, Workload

_ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
_DEFAULT = "torch-distributed"
_NODE = "node"
_TORCHTUNE = ["tune", "run"]
_INDEX_PATH = f"metadata.annotations['{COMPLETION_INDEX}']"
_PORT = "29500"
_MPI_KEYS = "mpi-ssh-auth"


def expand(workload: Workload) -> Found:
    """Complete the pods of a TrainJob, using its runtime where the input holds it, else what Trainer ships under that name."""
    reference = workload.spec.node("runtimeRef")
    kind, name = reference.text("kind", "ClusterTrainingRuntime"), reference.text("name", _DEFAULT)
    runtime = _find_runtime(workload, kind, name)
    if runtime is None:
        known = name if kind == "ClusterTrainingRuntime" and name in _shipped() else _DEFAULT
        runtime = Section(copied(_shipped()[known]), "runtime")
        other = (
            "the one that Trainer ships"
            if known == name
            else f"Trainer's {known} in its place; add it to the input"
        )
        yield Ignored(
            f"{kind}/{name}", f"is not in the input: {workload.source} is shown with {other}"
        )
    policy = runtime.node("mlPolicy")
    jobset = runtime.node("template").node("spec")
    for job in jobset.nodes("replicatedJobs"):
        spec = job.node("template").node("spec")
        is_mpi, is_node = policy.has("mpi"), job.text("name") == _NODE
        labels = job.node("template").node("metadata").node("labels")
        is_trainer = labels.text(_ANCESTOR) == "trainer" or (is_node and not is_mpi)
        if is_trainer or is_node:
            job.value["replicas"] = 1
            nodes = _nodes(workload, policy)
            if is_node or not is_mpi:
                spec.value |= {"completions": nodes, "parallelism": nodes}
            _apply_trainer(workload, spec.node("template"), policy, nodes, runs_command=is_trainer)
        if is_mpi and job.text("name") in (_NODE, "launcher"):
            _apply_mpi(workload, _own(_own(spec, "template"), "spec"), is_launcher=not is_node)
        for patch in _patches(workload, job.text("name")):
            _merge_pod_template(spec, patch)
    yield from expand_spec(workload, jobset)


def _nodes(workload: Workload, policy: Section) -> int:
    """Return how many pods named ``node`` there are; with runLauncherAsNode the launcher is one of the nodes asked for."""
    nodes = workload.spec.node("trainer").number("numNodes", policy.number("numNodes", 1))
    return max(nodes - 1, 1) if policy.node("mpi").flag("runLauncherAsNode") else nodes


@cache
def _shipped() -> Mapping[str, Object]:
    """Return the specs of the ClusterTrainingRuntimes that Trainer ships, by name."""
    text = (
        files("webhook.dry_run.templates")
        .joinpath("trainer_runtimes.yaml")
        .read_text(encoding="utf-8")
    )
    [runtimes] = parse_documents(text)
    return runtimes  # type: ignore[no-any-return]  # our own file


def expand_runtime(workload: Workload) -> Found:
    """Yield that a runtime makes no pods itself."""
    yield workload.ignore("", "makes no pod itself: it is used by the TrainJobs that name it")


def _find_runtime(workload: Workload, kind: str, name: str) -> Section | None:
    known = workload.peers.get((kind, name), {})
    found = known.get(workload.namespace) or known.get(None)
    if found is None and kind == "ClusterTrainingRuntime":
        found = next(iter(known.values()), None)
    return (
        Section(copied(Section(found).node("spec").value), f"{kind}/{name} spec") if found else None
    )


def _apply_trainer(
    workload: Workload, template: Section, policy: Section, nodes: int, *, runs_command: bool
) -> None:
    has_trainer, trainer = workload.spec.has("trainer"), workload.spec.node("trainer")
    for container in template.node("spec").nodes("containers"):
        if container.text("name") != _NODE:
            continue
        if runs_command:
            for key in ("image", "command", "args"):
                if trainer.has(key):
                    container.value[key] = copied(trainer.value[key])
        if trainer.has("resourcesPerNode"):
            container.value["resources"] = copied(trainer.value["resourcesPerNode"])
        env = [node.value for node in container.nodes("env")]
        _upsert(env, (node.value for node in trainer.nodes("env")))
        if policy.has("jax"):
            _upsert(env, _jax_variables(_rank_zero(workload), nodes))
        elif has_trainer and policy.has("torch"):
            _apply_torch(workload, trainer, container, env, nodes)
        elif has_trainer and policy.has("xgboost"):
            _upsert(env, _xgboost_variables(_rank_zero(workload)))
        if env:
            container.value["env"] = env


def _rank_zero(workload: Workload) -> str:
    return f"{workload.name}-{_NODE}-0-0.{workload.name}"


def _apply_torch(
    workload: Workload, trainer: Section, container: Section, env: list[Object], nodes: int
) -> None:
    master = _rank_zero(workload)
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
            container.value["command"] = [*_TORCHTUNE, f"--rdzv_endpoint={master}:{_PORT}"]
    else:
        _upsert(env, (variable("PET_MASTER_ADDR", master), variable("PET_MASTER_PORT", _PORT)))


def _jax_variables(coordinator: str, nodes: int) -> Iterator[Object]:
    yield variable("JAX_NUM_PROCESSES", str(nodes))
    yield field_variable("JAX_PROCESS_ID", _INDEX_PATH)
    yield variable("JAX_COORDINATOR_ADDRESS", f"{coordinator}:{_PORT}")
    yield variable("JAX_COORDINATOR_PORT", _PORT)


def _xgboost_variables(tracker: str) -> Iterator[Object]:
    yield variable("DMLC_TRACKER_URI", tracker)
    yield variable("DMLC_TRACKER_PORT", _PORT)
    yield field_variable("DMLC_TASK_ID", _INDEX_PATH)


def _apply_mpi(workload: Workload, spec: Section, *, is_launcher: bool) -> None:
    """Give the pod of an MPI runtime the keys by which the launcher reaches the nodes, and the launcher the list of nodes."""
    keys = {"name": _MPI_KEYS, "secret": {"secretName": f"{workload.name}-{_MPI_KEYS}"}}
    spec.value["volumes"] = [*(node.value for node in spec.nodes("volumes")), keys]
    for container in spec.nodes("containers"):
        if is_launcher and container.text("name") in (_NODE, "launcher"):
            env = [node.value for node in container.nodes("env")]
            _upsert(env, (variable("OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"),))
            container.value["env"] = env


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
        elif (
            isinstance(current, list) and isinstance(value, list) and _is_named([*current, *value])
        ):
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
