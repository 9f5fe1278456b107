"""What is answered, to the letter, of the pods that meet nobody: it is what log, metric, dry run and explain tell of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests import pods
from tests.pods import add_env, drop_env, plain, set_command
from webhook.core.model import Object
from webhook.core.workloads import TrainingPod, recognise

ALONE = "its ranks need no network to meet"
REPLICA_TYPE = "training.kubeflow.org/replica-type"
GROUPLESS = "no-process-group: "
LEADERLESS = "no-master: no variable names the job's rank 0: the job meets on the pod network and trains on the secondary one"
SHOWS_NOTHING = (
    "asks for an accelerator, but shows no launcher and no variable that says where ranks meet"
)


def labelled(pod: Object, **labels: str) -> Object:
    pod["metadata"]["labels"].update(labels)
    return pod


def silent(name: str) -> Object:
    """Load a pod without variables, with a command that says nothing; its accelerators stay."""
    pod = pods.load(name)
    for container in pod["spec"]["containers"]:
        container["env"] = []
    return set_command(pod, "sleep", "infinity")


def bare(name: str) -> Object:
    """Load a pod without variables, accelerators and command."""
    pod = silent(name)
    for container in pod["spec"]["containers"]:
        container["resources"] = {}
    return pod


def asking(pod: Object, resource: str) -> Object:
    pod["spec"]["containers"][0]["resources"] = {"limits": {resource: "4"}}
    return pod


def running(name: str, *command: str) -> Object:
    return set_command(pods.load(name), *command)


def fielded(pod: Object, variable: str, path: str) -> Object:
    field = {"fieldPath": path}
    pod["spec"]["containers"][0]["env"].append({"name": variable, "valueFrom": {"fieldRef": field}})
    return pod


def indexed(pod: Object, variable: str) -> Object:
    """Give the pod its index in a variable, as Trainer writes it."""
    return fielded(
        pod, variable, "metadata.annotations['batch.kubernetes.io/job-completion-index']"
    )


def addressed(name: str, host: str) -> Object:
    """Load a pod whose only address is this."""
    return add_env(bare(name), "MASTER_ADDR", host)


def owned(pod: Object, kind: str) -> Object:
    pod["metadata"]["ownerReferences"] = [
        {"kind": kind, "name": "x", "uid": "u", "controller": True}
    ]
    return pod


def of_no_pod_set(pod: Object) -> Object:
    del pod["metadata"]["labels"]["stormservice.orchestration.aibrix.ai/podset-name"]
    return pod


def of_trainjob(role: str) -> Object:
    pod = bare("pods/kubeflow-trainer-1.yaml")
    pod["spec"]["containers"][0].update(name=role, resources={})
    pod["spec"]["volumes"] = [
        {"name": "mpi-ssh-auth", "secret": {"secretName": "llama-mpi-ssh-auth"}}
    ]
    return labelled(pod, **{"jobset.sigs.k8s.io/replicatedjob-name": role})


def of_size(pod: Object, size: str) -> Object:
    pod["metadata"]["annotations"]["leaderworkerset.sigs.k8s.io/size"] = size
    return pod


MEMBERS: dict[str, tuple[Callable[[], Object], str]] = {
    "kubeflow None": (
        lambda: owned(pods.load("pods/kubeflow-pytorchjob-1.yaml"), "TFJob"),
        GROUPLESS + "TFJob forms no torch process group",
    ),
    "kubeflow None, of no owner": (
        lambda: plain(
            {
                f"training.kubeflow.org/{key}-name": "jaxjob-controller"
                for key in ("job", "operator")
            }
        ),
        GROUPLESS + "jaxjob-controller forms no torch process group",
    ),
    "kubedl None": (
        lambda: owned(pods.load("pods/kubedl-pytorchjob-1.yaml"), "MarsJob"),
        GROUPLESS + "MarsJob forms no torch process group",
    ),
    "mpijob None": (
        lambda: pods.load("pods/mpijob-worker-0.yaml"),
        GROUPLESS + "MPI ranks find each other by the hostfile; give them variables with mpirun -x",
    ),
    "raycluster ray-head": (
        lambda: pods.load("pods/raycluster-head.yaml"),
        GROUPLESS
        + "Ray chooses MASTER_ADDR at run time from the node addresses that it registered",
    ),
    "slurm slurmd": (
        lambda: plain(
            {"app.kubernetes.io/name": "slurmd", "nodeset.slinky.slurm.net/pod-name": "gpu-0"}
        ),
        GROUPLESS + "Slurm sets MASTER_ADDR for each of its jobs",
    ),
    "kubedl pytorch": (
        lambda: addressed("pods/kubedl-pytorchjob-1.yaml", "localhost"),
        "user-value: MASTER_ADDR is localhost: the pod is a process group of its own",
    ),
    "pytorchjob pytorch, at its own address": (
        lambda: fielded(bare("pods/kubeflow-pytorchjob-1.yaml"), "MASTER_ADDR", "status.podIP"),
        "user-value: MASTER_ADDR is status.podIP: the pod is a process group of its own",
    ),
    "pytorchjob pytorch": (
        lambda: addressed("pods/kubeflow-pytorchjob-1.yaml", "10.0.0.9"),
        "user-value: MASTER_ADDR names 10.0.0.9, which is not a pod of this job: the user's own address is kept",
    ),
    "trainjob node, without torch": (
        lambda: indexed(bare("pods/kubeflow-trainer-1.yaml"), "DMLC_TASK_ID"),
        GROUPLESS + "the TrainJob's runtime names no torch address of rank 0",
    ),
    "trainjob node, without address": (
        lambda: drop_env(pods.load("pods/kubeflow-trainer-1.yaml"), "PET_MASTER_ADDR"),
        LEADERLESS,
    ),
    "trainjob node, torchrun without variables": (
        lambda: set_command(
            indexed(bare("pods/kubeflow-trainer-1.yaml"), "PET_NODE_RANK"), "torchrun", "train.py"
        ),
        GROUPLESS + "the TrainJob's runtime names no torch address of rank 0",
    ),
    "torchx train-0, on one node": (
        lambda: running("pods/volcano-pod-0.yaml", "torchrun", "--nnodes", "1", "train.py"),
        f"single-node: the app runs on one node: {ALONE}",
    ),
    "torchx train-1": (
        lambda: running("pods/volcano-pod-1.yaml", "echo", "hello"),
        GROUPLESS + "the command of role 'train' does not name the address of rank 0",
    ),
    "torchx plain, of no role": (
        lambda: plain({"torchx.pytorch.org/version": "0.7.0"}),
        GROUPLESS + "the command of role '' does not name the address of rank 0",
    ),
}


@pytest.mark.parametrize("case", MEMBERS)
def test_says_of_a_member_why_it_meets_nobody(case: str) -> None:
    make, answer = MEMBERS[case]
    found = recognise(make())
    assert isinstance(found, TrainingPod)
    assert found.rendezvous is None
    assert f"{found.system} {found.container}" == case.partition(",")[0]
    assert f"{found.reason}: {found.message}" == answer


OTHERS: dict[str, tuple[Callable[[], Object], str]] = {
    "mpijob": (
        lambda: pods.load("pods/mpijob-launcher.yaml"),
        "role: the MPI launcher asks for no accelerator: it only starts the workers",
    ),
    "trainjob": (
        lambda: of_trainjob("launcher"),
        "role: the MPI launcher asks for no accelerator: it only starts the nodes",
    ),
    "trainjob, initializer": (
        lambda: of_trainjob("dataset-initializer"),
        "role: the dataset-initializer prepares files and is not a rank of the job",
    ),
    "torch-on-k8s": (
        lambda: labelled(pods.load("pods/torch-on-k8s-1.yaml"), **{"task-type": "AIMaster"}),
        "role: the AIMaster is not a rank of the job",
    ),
    "kubedl": (
        lambda: labelled(
            pods.load("pods/kubedl-pytorchjob-1.yaml"), **{"replica-type": "aimaster"}
        ),
        "role: the AIMaster is not a rank of the job",
    ),
    "raycluster": (
        lambda: plain({"ray.io/cluster": "rc"}),
        "role: the Ray submitter runs no rank of the job",
    ),
    "kubeflow": (
        lambda: owned(
            labelled(bare("pods/kubeflow-pytorchjob-1.yaml"), **{REPLICA_TYPE: "ps"}), "TFJob"
        ),
        "role: the parameter server asks for no accelerator: it is not a rank of the job",
    ),
    "kubedl, of an MPIJob": (
        lambda: owned(
            labelled(bare("pods/kubedl-pytorchjob-1.yaml"), **{"replica-type": "Launcher"}),
            "MPIJob",
        ),
        "role: the MPI launcher asks for no accelerator: it is not a rank of the job",
    ),
    "raycluster, its head": (
        lambda: bare("pods/raycluster-head.yaml"),
        "role: the Ray head asks for no accelerator: it only manages the workers",
    ),
    "raycluster, a worker on processors": (
        lambda: bare("pods/raycluster-worker.yaml"),
        "role: the Ray worker asks for no accelerator: nothing says that what Ray runs on it trains",
    ),
    "pytorchjob, on TPUs": (
        lambda: asking(pods.load("pods/kubeflow-pytorchjob-1.yaml"), "google.com/tpu"),
        "tpu: the pod asks for google.com/tpu: TPUs have a network of their own",
    ),
    ", on TPUs": (
        lambda: asking(plain(), "cloud-tpus.google.com/v3"),
        "tpu: the pod asks for cloud-tpus.google.com/v3: TPUs have a network of their own",
    ),
    "jobset, whose role and container are both node": (
        lambda: bare("pods/kubeflow-trainer-1.yaml"),
        "not-training: this pod of JobSet llama asks for no accelerator and starts no torch launcher",
    ),
    "jobset": (
        lambda: silent("pods/jobset-1.yaml"),
        f"not-training: this pod of JobSet ddp {SHOWS_NOTHING}",
    ),
    "job": (
        lambda: silent("pods/indexed-job-1.yaml"),
        f"not-training: this pod of Job ddp {SHOWS_NOTHING}",
    ),
    "job, without accelerator": (
        lambda: bare("pods/indexed-job-1.yaml"),
        "not-training: this pod of Job ddp asks for no accelerator and starts no torch launcher",
    ),
    "job, without accelerator and address": (
        lambda: set_command(bare("pods/indexed-job-1.yaml"), "torchrun", "train.py"),
        "not-training: this pod of Job ddp asks for no accelerator, and no variable names a pod of the job as rank 0",
    ),
    "job, not indexed": (
        lambda: plain({"batch.kubernetes.io/job-name": "ddp"}),
        "not-training: Job ddp is not indexed: its pods have no rank",
    ),
    "statefulset": (
        lambda: silent("pods/statefulset-1.yaml"),
        f"not-training: this pod of StatefulSet ddp {SHOWS_NOTHING}",
    ),
    "leaderworkerset, of one pod": (
        lambda: of_size(pods.load("pods/lws-0.yaml"), "1"),
        f"single-node: the job runs on one node: {ALONE}",
    ),
    "torch-on-k8s, of one pod": (
        lambda: add_env(pods.load("pods/torch-on-k8s-0.yaml"), "WORLD_SIZE", "1"),
        f"single-node: the job runs on one node: {ALONE}",
    ),
    "leaderworkerset": (
        lambda: of_size(silent("pods/lws-1.yaml"), "unknown"),
        f"not-training: this pod of LeaderWorkerSet mnmt {SHOWS_NOTHING}",
    ),
    "stormservice": (
        lambda: silent("pods/stormservice-1.yaml"),
        f"not-training: this pod of StormService llm {SHOWS_NOTHING}",
    ),
    "stormservice, of no pod set": (
        lambda: of_no_pod_set(silent("pods/stormservice-1.yaml")),
        f"not-training: this pod of StormService llm {SHOWS_NOTHING}",
    ),
    "volcano": (
        lambda: silent("pods/volcano-pytorch-1.yaml"),
        f"not-training: this pod of Volcano Job bert {SHOWS_NOTHING}",
    ),
    "kueue-pod-group": (
        lambda: asking(plain({"kueue.x-k8s.io/pod-group-name": "ddp"}), "nvidia.com/gpu"),
        f"not-training: this pod of pod group ddp {SHOWS_NOTHING}",
    ),
    "jobset, of no template": (
        lambda: asking(plain({"jobset.sigs.k8s.io/jobset-name": "ddp"}), "amd.com/gpu"),
        f"not-training: this pod of JobSet ddp {SHOWS_NOTHING}",
    ),
    ", of a JobSet's template alone": (
        lambda: plain(
            {"jobset.sigs.k8s.io/replicatedjob-name": "node"},
            containers=[{"name": "node", "env": [{"name": "PET_MASTER_ADDR", "value": "x"}]}],
        ),
        "unknown-system: a plain pod, of no training system that is known",
    ),
    "": (plain, "unknown-system: a plain pod, of no training system that is known"),
    ", of a Deployment": (
        lambda: owned(plain(), "ReplicaSet"),
        "unknown-system: a pod of a ReplicaSet, of no training system that is known",
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_says_of_another_pod_why_it_is_left_alone(case: str) -> None:
    make, answer = OTHERS[case]
    found = recognise(make())
    assert not isinstance(found, TrainingPod)
    assert found.system == case.partition(",")[0]
    assert f"{found.reason}: {found.message}" == answer
