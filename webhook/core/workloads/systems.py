"""Tell by its labels which job a pod is of: one function for each training system.

It answers None (not mine), NotTraining or TrainingPod (settled by labels), or a Job, by which
`members.py` finds out how its ranks meet.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from webhook.core import podspec
from webhook.core.accelerators import find_pod_accelerator, find_tpu
from webhook.core.model import Object, Reason
from webhook.core.qualified_name import is_dns_subdomain
from webhook.core.workloads import torchx, words
from webhook.core.workloads.addresses import find_addresses
from webhook.core.workloads.endpoint import first_label
from webhook.core.workloads.members import describe
from webhook.core.workloads.nodes import Nodes, as_told, of_number, told
from webhook.core.workloads.training_pod import Job, NotTraining, TrainingPod

BATCH: Final = "batch.kubernetes.io/"
GROVE: Final = "grove.io/"
JOBSET: Final = "jobset.sigs.k8s.io/"
KUBEDL: Final = "training.kubedl.io"
KUBEFLOW: Final = "training.kubeflow.org/"
KUEUE: Final = "kueue.x-k8s.io/"
LWS: Final = "leaderworkerset.sigs.k8s.io/"
RAY: Final = "ray.io/"
STORM: Final = "stormservice.orchestration.aibrix.ai/"
VOLCANO: Final = torchx.VOLCANO

COMPLETION_INDEX: Final = BATCH + "job-completion-index"
GROUP_NAME: Final = "group-name"
"""Label of the training operator before 1.6, KubeDL and torch-on-k8s: names the operator."""
PODCLIQUESET: Final = "app.kubernetes.io/part-of"
STATEFUL_POD: Final = "statefulset.kubernetes.io/pod-name"
VOLCANO_GROUP: Final = "scheduling.k8s.io/group-name"
SIBLING_LABELS: Final = words.plain("siblings")
"""Labels by which a training system finds the pods of one job, the most telling first."""
_GANGS: Final = (
    ("coscheduling", "scheduling.x-k8s.io/pod-group", ""),
    ("kai", "pod-group-name", ""),
    *(
        ("koordinator", f"{domain}/name", f"{domain}/min-available")
        for domain in ("gang.scheduling.koordinator.sh", "pod-group.scheduling.sigs.k8s.io")
    ),
)
"""Schedulers, with the label or annotation that names a gang, and the one of its least size."""
_BY_GROUP_NAME: Final = {
    KUBEDL: ("kubedl", "replica-type", "pytorch"),
    "train.distributed.io": ("torch-on-k8s", "task-type", "torch"),
}
"""System, label of the role and training container."""
_TRAINER_VARIABLES = ("PET_NODE_RANK", "JAX_PROCESS_ID", "DMLC_TASK_ID")
_MPI = ("MPIJob", "mpi-operator", "mpijob-controller")
_SLINKY = "slinky.slurm.net/"
_HELPERS = {
    "ps": "the parameter server",
    "server": "the parameter server",
    "scheduler": "the scheduler",
    "launcher": "the MPI launcher",
}
"""Replica types that store weights or start others."""


class PodFacts:
    """Hold a pod, and what every system looks at first; *uid*: of the pod's controller."""

    def __init__(self, pod: Object) -> None:
        self.pod = pod
        self.labels: Mapping[str, str] = podspec.labels(pod)
        self.annotations: Mapping[str, str] = podspec.annotations(pod)
        self.owner: Mapping[str, Any] = podspec.controller(pod)
        self.uid: str = self.owner.get("uid") or ""
        self.name = podspec.own_name(pod)

    def helps(self, system: str, message: str) -> NotTraining | None:
        """Skip a role that trains only with an accelerator of its own."""
        if find_pod_accelerator(self.pod):
            return None
        return NotTraining(Reason.ROLE, message, system)


Found = Job | TrainingPod | NotTraining | None


def numbered(prefix: str, between: str = "") -> Callable[[str], bool]:
    """Return a test for the names ``<prefix>-<number>``; *between*: a pattern before the number."""
    pattern = re.compile(re.escape(prefix) + "-" + between + r"[0-9]+\Z")
    return lambda name: pattern.match(name) is not None


def _without_ranks(system: str, message: str, container: str | None = None) -> TrainingPod:
    return TrainingPod(system, container, None, Reason.NO_PROCESS_GROUP, message)


def _replicas(
    it: PodFacts, system: str, job: str, *, container: str, leads: bool, sizes: tuple[str, ...]
) -> Job:
    """Describe a job whose pods are named ``<job>-master-0`` and ``<job>-worker-<n>``.

    *sizes*: the variables by which the operator tells all of them how many nodes there are.
    """
    found = Job(system, job, it.uid or job, numbered(job, "[a-z]+-"), container=container)
    found.rank_zero, found.is_rank_zero, found.by_operator = f"{job}-master-0", leads, True
    found.nodes = as_told(it.pod, *sizes, otherwise=Nodes.SEVERAL)
    return found


def leaderworkerset(it: PodFacts) -> Found:
    """Take each group for a job, its leader for rank 0.

    Half of the labels come from its own pod webhook, which runs before ours. Source:
    kubernetes-sigs/lws pkg/webhooks/pod_webhook.go, pkg/utils/pod/pod_utils.go.
    """
    name = it.labels.get(LWS + "name")
    if name is None:
        return None
    group = it.labels.get(LWS + "group-index", "")
    leader = f"{name}-{group}"
    return Job(
        "leaderworkerset",
        leader,
        f"{name}/{group}",
        numbered(name),
        rank_zero=leader,
        is_rank_zero=it.labels.get(LWS + "worker-index") == "0",
        kind=f"LeaderWorkerSet {name}",
        nodes=of_number(it.annotations.get(LWS + "size")),
    )


def trainjob(it: PodFacts) -> Found:
    """Recognise a JobSet that Kubeflow Trainer v2 made: none of its own labels reaches the pods.

    Users name the Jobs and containers of their own JobSets ``node`` too. Source: kubeflow/trainer
    pkg/constants/constants.go, pkg/runtime/framework/plugins/{torch,jax,xgboost,mpi}.
    """
    role = it.labels.get(JOBSET + "replicatedjob-name")
    if JOBSET + "jobset-name" not in it.labels:
        return None
    containers = podspec.containers(it.pod)
    present = [container.get("name") for container in containers]
    if role in ("dataset-initializer", "model-initializer") and role in present:
        message = f"the {role} prepares files and is not a rank of the job"
        return NotTraining(Reason.ROLE, message, "trainjob")
    if role not in ("node", "launcher") or not _made_by_trainer(it.pod):
        return None
    # with runLauncherAsNode the launcher trains too, in a container named as those of the nodes
    container = "node" if "node" in present else role
    if container not in present:
        return None
    message = "the MPI launcher asks for no accelerator: it only starts the nodes"
    if container == "launcher" and (helper := it.helps("trainjob", message)):
        return helper
    job = _of_jobset(it, "trainjob")
    job.container, job.by_operator, job.kind, job.unsized = "node", True, "", ""
    job.nodes = as_told(it.pod, "PET_NNODES", "JAX_NUM_PROCESSES", otherwise=Nodes.MARKS)
    if job.nodes is Nodes.ONE or find_addresses(it.pod):
        return job
    is_of_torch = any(podspec.has_env(each, "PET_NNODES") for each in containers)  # torchtune
    reason = Reason.NO_MASTER if is_of_torch else Reason.NO_PROCESS_GROUP
    message = "the TrainJob's runtime names no torch address of rank 0"
    return TrainingPod("trainjob", container, None, reason, message)


def _made_by_trainer(pod: Object) -> bool:
    """Tell what only Trainer writes: the variable of a node's index, the volume of MPI's keys."""
    index = f"metadata.annotations['{COMPLETION_INDEX}']"
    return bool(podspec.volume_named(pod, "mpi-ssh-auth")) or any(
        entry.get("name") in _TRAINER_VARIABLES and podspec.field_path(entry) == index
        for container in podspec.containers(pod)
        for entry in podspec.env(container)
    )


def jobset(it: PodFacts) -> Found:
    """Recognise a JobSet, which sets no rendezvous variable itself."""
    # Source: kubernetes-sigs/jobset pkg/controllers/jobset_controller.go.
    return _of_jobset(it, "jobset") if JOBSET + "jobset-name" in it.labels else None


def _of_jobset(it: PodFacts, system: str) -> Job:
    """Take for rank 0 the coordinator, else the first pod of the only role.

    Of several roles the first pod of each is a candidate.
    """
    labels, name = it.labels, it.labels[JOBSET + "jobset-name"]
    coordinator = first_label(labels.get(JOBSET + "coordinator", ""))
    is_first = labels.get(JOBSET + "job-index") == "0" == it.annotations.get(COMPLETION_INDEX)
    everywhere = labels.get(JOBSET + "global-replicas")
    here = labels.get(JOBSET + "replicatedjob-replicas")
    has_one_role = system == "trainjob" or (everywhere is not None and everywhere == here)
    return Job(
        system,
        name,
        labels.get(JOBSET + "jobset-uid") or name,
        numbered(name, ".+-[0-9]+-"),
        attempt=labels.get(JOBSET + "restart-attempt", ""),
        rank_zero=coordinator,
        is_rank_zero=coordinator == it.name if coordinator else is_first and has_one_role,
        is_candidate=is_first and not coordinator,
        kind=f"JobSet {name}",
        nodes=Nodes.TEXT if has_one_role or everywhere is None else Nodes.SEVERAL,
        unsized="" if everywhere else f"it has no label {JOBSET}global-replicas",
    )


def kubeflow(it: PodFacts) -> Found:
    """Recognise jobs of the training operator v1, by the labels of all its versions, and MPIJobs.

    ``job-role=master`` is on the Master, else on Worker 0; MPI launchers carry it too. Source:
    kubeflow/trainer release-1.9 pkg/apis/kubeflow.org/v1, pkg/controller.v1/{pytorch,mpi};
    kubeflow/mpi-operator pkg/controller/mpi_job_controller.go.
    """
    labels = it.labels
    job = labels.get(KUBEFLOW + "job-name") or labels.get("pytorch-job-name")
    if job is None and labels.get(GROUP_NAME) == "kubeflow.org":
        job = labels.get("job-name")
    if job is None:
        return None
    roles = (labels.get(prefix + "replica-type", "") for prefix in (KUBEFLOW, "", "pytorch-"))
    role = next(filter(None, roles), labels.get(KUBEFLOW + "job-role", "")).lower()
    kind, operator = it.owner.get("kind") or "", labels.get(KUBEFLOW + "operator-name") or ""
    if kind not in ("", "PyTorchJob") or operator not in ("", "pytorchjob-controller"):
        framework = operator if operator in _MPI else kind or operator
        return _other_framework(it, "kubeflow", role, framework)
    calls_itself_master = "master" in (labels.get(KUBEFLOW + "job-role"), labels.get("job-role"))
    leads = role == "master" or (role == "worker" and calls_itself_master)
    sizes = ("PET_NNODES", "WORLD_SIZE")  # the second counts processes where nprocPerNode is set
    found = _replicas(it, "pytorchjob", job, container="pytorch", leads=leads, sizes=sizes)
    found.rank_zero = f"{job}-worker-0"  # a job with a Master has its address on every pod
    return found


def _other_framework(
    it: PodFacts, system: str, role: str, framework: str
) -> TrainingPod | NotTraining:
    message = f"{_HELPERS.get(role)} asks for no accelerator: it is not a rank of the job"
    is_mpi = framework in _MPI
    system = "mpijob" if is_mpi and system == "kubeflow" else system
    if role in _HELPERS and (helper := it.helps(system, message)):
        return helper
    message = f"{framework} forms no torch process group"
    if is_mpi:
        message = "MPI ranks find each other by the hostfile; give them variables with mpirun -x"
    return _without_ranks(system, message)


def by_group_name(it: PodFacts) -> Found:
    """Recognise KubeDL's PyTorchJobs, whose master calls itself ``localhost``, and TorchJobs.

    Workers of a TorchJob may carry ``task-role=master`` too. Source: kubedl-io/kubedl
    pkg/job_controller/api/v1/constants.go, controllers/pytorch; hliangzhao/torch-on-k8s
    apis/train/v1alpha1/constants.go, controllers/train.
    """
    group, job = it.labels.get(GROUP_NAME, ""), it.labels.get("job-name")
    if group not in _BY_GROUP_NAME or job is None:
        return None
    system, label, container = _BY_GROUP_NAME[group]
    kind, role = it.owner.get("kind"), it.labels.get(label, "").lower()
    if system == "kubedl" and kind not in (None, "PyTorchJob"):
        return _other_framework(it, system, role, kind)
    if role == "aimaster":
        return NotTraining(Reason.ROLE, "the AIMaster is not a rank of the job", system)
    leads, sizes = role == "master", ("WORLD_SIZE", "PET_NNODES")
    return _replicas(it, system, job, container=container, leads=leads, sizes=sizes)


def volcano(it: PodFacts) -> Found:
    """Recognise plain Volcano Jobs; pods that merely use its gang scheduling lack the label."""
    # Source: volcano pkg/controllers/job/job_controller_util.go,
    # plugins/distributed-framework/pytorch.
    job = it.labels.get(VOLCANO + "job-name")
    if job is None:
        return None
    task = it.labels.get(VOLCANO + "task-spec") or it.annotations.get(VOLCANO + "task-spec")
    index = it.labels.get(VOLCANO + "task-index") or it.name.rpartition("-")[2]
    plugin = list(filter(_has_pytorch_plugin, podspec.containers(it.pod)))
    is_rank = any(podspec.env_value(container, "RANK") for container in plugin)
    tasks = {  # which the svc plugin names to every container
        entry["name"]
        for container in podspec.containers(it.pod)
        for entry in podspec.env(container)
        if entry["name"].startswith("VC_") and entry["name"].endswith("_HOSTS")
    }
    by_tasks = Nodes.SEVERAL if len(tasks) > 1 else Nodes.TEXT
    return Job(
        "volcano",
        job,
        it.annotations.get(VOLCANO_GROUP) or it.uid or job,
        numbered(job, ".+-"),
        attempt=it.annotations.get(VOLCANO + "job-version", ""),
        service=job,
        container=task or None,
        is_candidate=index == "0",
        by_operator=is_rank,
        kind="" if is_rank else f"Volcano Job {job}",
        nodes=as_told(it.pod, "WORLD_SIZE", otherwise=by_tasks) if plugin else by_tasks,
        unsized="" if tasks else "its Volcano Job has no svc plugin",
    )


def _has_pytorch_plugin(container: Object) -> bool:
    """Tell the plugin by the variables that it gives every container.

    All are literals; an earlier pass may have made MASTER_ADDR a fieldRef.
    """
    return podspec.has_env(container, "MASTER_ADDR") and all(
        podspec.env_value(container, name) for name in ("MASTER_PORT", "WORLD_SIZE")
    )


def hyperpod(it: PodFacts) -> Found:
    """Recognise SageMaker HyperPod's jobs; its operator places the ranks."""
    # Source: aws/sagemaker-hyperpod-cli 011ca92, src/sagemaker/hyperpod/training.
    if "HPJob" not in it.labels and it.owner.get("kind") != "HyperPodPyTorchJob":
        return None
    message = "HyperPod's operator tells the ranks at run time where they meet"
    return _without_ranks("hyperpod", message)


def ray(it: PodFacts) -> Found:
    """Recognise the nodes of Ray clusters."""
    # Source: ray-project/kuberay ray-operator/controllers/ray/utils/constant.go, common/pod.go.
    node = it.labels.get(RAY + "node-type")
    if node not in ("head", "worker"):
        if RAY + "originated-from-cr-name" in it.labels or RAY + "cluster" in it.labels:
            message = "the Ray submitter runs no rank of the job"
            return NotTraining(Reason.ROLE, message, "raycluster")
        return None
    does = "it only manages the workers"
    if node == "worker":
        does = "nothing says that what Ray runs on it trains"
    message = f"the Ray {node} asks for no accelerator: {does}"
    claims = node == "worker" and any(map(podspec.claims, podspec.containers(it.pod)))
    if not claims and (helper := it.helps("raycluster", message)):
        return helper
    message = "Ray chooses MASTER_ADDR at run time from the node addresses that it registered"
    return _without_ranks("raycluster", message, f"ray-{node}")


def slurm(it: PodFacts) -> Found:
    """Recognise the slurmd nodes of Slinky's Slurm."""
    # Source: SlinkyProject/slurm-operator api/v1beta1/well_known.go.
    if it.labels.get("app.kubernetes.io/name") != "slurmd":
        return None
    if not any(key.startswith((_SLINKY, "nodeset." + _SLINKY)) for key in it.labels):
        return None
    return _without_ranks("slurm", "Slurm sets MASTER_ADDR for each of its jobs", "slurmd")


def grove(it: PodFacts) -> Found:
    """Take a replica of a PodCliqueSet for a job; users compose rank 0's name of its variables."""
    # Source: ai-dynamo/grove operator/internal/controller/podclique/components/pod/pod.go.
    clique = it.labels.get(GROVE + "podclique")
    if clique is None:
        return None
    owner = it.labels.get(PODCLIQUESET) or clique
    replica = f"{owner}-{it.labels.get(GROVE + 'podcliqueset-replica-index')}"
    job = Job("grove", replica, replica, numbered(replica, ".+-"), kind=f"PodCliqueSet {owner}")
    job.is_candidate = it.name == f"{clique}-0"
    return _sized(job, it.pod, "GROVE_PCSG_TEMPLATE_NUM_PODS")


def _sized(job: Job, pod: Object, variable: str) -> Job:
    """Add how many pods a group has; one of a single pod may still pass data to other groups."""
    values = told(pod, variable)
    job.nodes = Nodes.SEVERAL if any(value != "1" for value in values) else Nodes.MARKS
    job.unsized = "" if values else f"it has no variable {variable}"
    return job


def stormservice(it: PodFacts) -> Found:
    """Take for a job a PodSet of a StormService, or a RoleSet where a replica is one pod."""
    # Source: vllm-project/aibrix pkg/controller/constants/stormservice.go, pkg/controller/podset.
    labels, name = it.labels, it.labels.get("storm-service-name")
    if name is None or "roleset-name" not in labels:
        return None
    podset = labels.get(STORM + "podset-name")
    group = podset or labels["roleset-name"]
    belongs = numbered(group, "" if podset else ".+-")
    job = Job("stormservice", group, group, belongs, kind=f"StormService {name}")
    if podset:
        job.rank_zero = f"{podset}-0"
        job.is_rank_zero = labels.get(STORM + "pod-group-index") == "0"
    else:
        job.is_candidate = bool(it.name) and labels.get(STORM + "role-replica-index") == "0"
    return _sized(job, it.pod, "POD_GROUP_SIZE")


def indexed_job(it: PodFacts) -> Found:
    """Recognise indexed Jobs, whose pods have a host name ``<job>-<index>`` and no name yet."""
    # Source: kubernetes pkg/controller/job/indexed_job_utils.go.
    job = it.labels.get(BATCH + "job-name")
    if job is None and it.owner.get("kind") == "Job":
        is_of_batch = (it.owner.get("apiVersion") or "").startswith("batch/")
        job = it.owner.get("name") if is_of_batch else None
    if job is None:
        return None
    # always an annotation, since Kubernetes 1.28 a label too
    index = it.labels.get(COMPLETION_INDEX, it.annotations.get(COMPLETION_INDEX))
    if index is None:
        message = f"Job {job} is not indexed: its pods have no rank"
        return gang(it) or NotTraining(Reason.NOT_TRAINING, message, "job")
    is_first = index == "0"
    return Job("job", job, it.uid or job, numbered(job), is_rank_zero=is_first, kind=f"Job {job}")


def statefulset(it: PodFacts) -> Found:
    """Recognise StatefulSets, whose pods are named ``<statefulset>-<ordinal>``."""
    # Source: kubernetes pkg/controller/statefulset.
    own = it.labels.get(STATEFUL_POD)
    if it.owner.get("kind") != "StatefulSet" and own is None:
        return None
    name = it.owner.get("name") or (own or "").rpartition("-")[0]
    job = Job("statefulset", name, it.uid or name, numbered(name), kind=f"StatefulSet {name}")
    job.is_rank_zero, job.names_own_pods = it.name == f"{name}-0", True
    return job


def kueue_pod_group(it: PodFacts) -> Found:
    """Recognise Kueue's groups of plain pods."""
    # Source: kubernetes-sigs/kueue pkg/controller/jobs/pod/constants/constants.go.
    group = it.labels.get(KUEUE + "pod-group-name")
    if group is None or it.owner:
        return None
    index = it.labels.get(KUEUE + "pod-group-pod-index")
    return Job(
        "kueue-pod-group",
        group,
        group,
        lambda name: f"{name}-".startswith(f"{group}-"),
        is_rank_zero=index == "0",
        is_candidate=index is None,
        kind=f"pod group {group}",
        nodes=of_number(it.annotations.get(KUEUE + "pod-group-total-count")),
    )


def gang(it: PodFacts) -> Found:
    """Take for a job the pods that a scheduler starts together, where nothing else says more.

    Users name plain pods after their gang; other names are their maker's.
    """
    # Source: kubernetes/api 10b39a3 core/v1 PodSchedulingGroup, koordinator apis/extension,
    # scheduler-plugins apis/scheduling/v1alpha1, KAI-Scheduler 72de64f pkg/common/constants.
    marks = {**it.annotations, **it.labels}
    spec = it.pod.get("spec") or {}
    native = (spec.get("schedulingGroup") or {}).get("podGroupName")
    named = [(name, marks.get(key), marks.get(size)) for name, key, size in _GANGS]
    for system, group, least in (("kubernetes", native, None), *named):
        if group and is_dns_subdomain(group):
            is_several = of_number(least) is Nodes.SEVERAL
            return Job(
                f"{system}-gang",
                group,
                group,
                numbered(group, "(.+-)?") if not it.owner else lambda _: False,
                is_candidate=True,
                kind=f"gang {group}",
                nodes=Nodes.SEVERAL if is_several else Nodes.MARKS,
                unsized="" if is_several else "the gang's size is not on the pod",
            )
    return None


SYSTEMS: Final[tuple[Callable[[PodFacts], Found], ...]] = (
    lambda it: torchx.recognise(it.pod, it.labels),  # its replicas are Volcano tasks
    leaderworkerset,  # its pods are StatefulSets' pods
    trainjob,  # its pods are JobSets' pods
    jobset,  # its pods are Jobs' pods
    kubeflow,  # MPI launchers are Jobs' pods; with gang scheduling pods carry Volcano's marks
    by_group_name,  # shares the unprefixed job-name with Jobs
    volcano,
    hyperpod,
    ray,
    slurm,
    grove,
    stormservice,
    indexed_job,
    statefulset,
    kueue_pod_group,  # only for pods that no controller owns
    gang,  # what makes jobs says more of them than what schedules them
)
"""Precedence where one pod carries the labels of several systems."""


def recognise(pod: Object) -> TrainingPod | NotTraining:
    """Say what part the pod plays in which training system, or why it plays none."""
    it = PodFacts(pod)
    answers = (system(it) for system in SYSTEMS)
    found = next((answer for answer in answers if answer is not None), None)
    if tpu := find_tpu(pod):
        message = f"the pod asks for {tpu}: TPUs have a network of their own"
        return NotTraining(Reason.TPU, message, found.system if found is not None else "")
    if isinstance(found, Job):
        return describe(pod, found)
    if found is not None:
        return found
    of = f"a pod of a {it.owner['kind']}" if it.owner.get("kind") else "a plain pod"
    message = f"{of}, of no training system that is known"
    return NotTraining(Reason.UNKNOWN_SYSTEM, message)
