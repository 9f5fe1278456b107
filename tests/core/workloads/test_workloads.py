"""Recognition: each training system's pods, as its controller writes them, and the pods that only look alike."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests import pods
from tests.core.workloads.recognised import member, rendezvous
from tests.pods import add_env, drop_env, plain, set_command
from webhook.core.model import Object, Reason
from webhook.core.workloads import NotTraining, recognise

PAIRS = [
    ("pods/grove-{}.yaml", "grove", "train-0-model-0-leader-0", "train-0"),
    ("pods/indexed-job-{}.yaml", "job", "ddp-0", "ddp"),
    ("pods/jobset-{}.yaml", "jobset", "ddp-workers-0-0", "ddp"),
    ("pods/kubedl-pytorchjob-{}.yaml", "kubedl", "bert-master-0", "bert"),
    ("pods/kubeflow-pytorchjob-{}.yaml", "pytorchjob", "bert-master-0", "bert"),
    ("pods/kubeflow-trainer-{}.yaml", "trainjob", "llama-node-0-0", "llama"),
    ("pods/lws-{}.yaml", "leaderworkerset", "mnmt-0", "mnmt-0"),
    ("pods/statefulset-{}.yaml", "statefulset", "ddp-0", "ddp"),
    (
        "pods/stormservice-{}.yaml",
        "stormservice",
        "llm-roleset-x2k7p-prefill-7c9d6f5b4-0-0",
        "llm-roleset-x2k7p-prefill-7c9d6f5b4-0",
    ),
    ("pods/torch-on-k8s-{}.yaml", "torch-on-k8s", "bert-master-0", "bert"),
    ("pods/torchx-volcano-{}.yaml", "torchx", "role 0 replica 0", "trainer-d4q9zxk1tw"),
    ("pods/volcano-pod-{}.yaml", "torchx", "role 0 replica 0", "train-t4rcs9x6sv1m"),
    ("pods/volcano-pytorch-{}.yaml", "volcano", "bert-master-0", "bert"),
    ("live/statefulset/ddp-{}.review.json", "statefulset", "ddp-0", "ddp"),
]


def labelled(pod: Object, **labels: str | None) -> Object:
    for key, value in labels.items():
        pod["metadata"]["labels"].pop(key, None)
        if value is not None:
            pod["metadata"]["labels"][key] = value
    return pod


@pytest.mark.parametrize(
    ("pattern", "system", "rank_zero", "name"), PAIRS, ids=[pair[0] for pair in PAIRS]
)
def test_recognises_both_ranks_of_one_job(
    pattern: str, system: str, rank_zero: str, name: str
) -> None:
    master, worker = (pods.load(pattern.format(index)) for index in (0, 1))
    assert (member(master).system, member(worker).system) == (system, system)
    assert (rendezvous(master).role, rendezvous(worker).role) == ("master", "worker")
    assert rendezvous(master).job == rendezvous(worker).job
    assert rendezvous(master).job.rpartition("-")[0] == name, "as people know it"
    assert rendezvous(master).rank_zero == rendezvous(worker).rank_zero == rank_zero


def test_recognises_the_live_pytorchjob_and_its_second_worker() -> None:
    found = [
        rendezvous(pods.load(f"live/pytorchjob/bert-{name}.review.json"))
        for name in ("master-0", "worker-0", "worker-1")
    ]
    assert [each.role for each in found] == ["master", "worker", "worker"]
    assert len({each.job for each in found}) == 1


def of_another_owner(pod: Object) -> None:
    pod["metadata"]["ownerReferences"][0]["uid"] = "other"


def started_again(pod: Object) -> None:
    pod["metadata"]["annotations"]["volcano.sh/job-version"] = "1"


OTHER_JOB: dict[str, Callable[[Object], object]] = {
    "pods/kubeflow-pytorchjob-1.yaml": of_another_owner,
    "pods/jobset-1.yaml": lambda pod: labelled(pod, **{"jobset.sigs.k8s.io/restart-attempt": "1"}),
    "pods/kubeflow-trainer-1.yaml": lambda pod: labelled(
        pod, **{"jobset.sigs.k8s.io/jobset-uid": "other"}
    ),
    "pods/torchx-volcano-1.yaml": started_again,
    "pods/volcano-pod-1.yaml": lambda pod: labelled(pod, **{"app.kubernetes.io/instance": "other"}),
    "pods/volcano-pytorch-1.yaml": started_again,
    "pods/indexed-job-1.yaml": of_another_owner,
    "pods/statefulset-1.yaml": of_another_owner,
}


@pytest.mark.parametrize("name", OTHER_JOB)
def test_keeps_another_job_or_attempt_apart(name: str) -> None:
    pod = pods.load(name)
    before = rendezvous(pod).job
    OTHER_JOB[name](pod)
    assert rendezvous(pod).job != before


def test_jobs_whose_pods_tell_no_owner_are_kept_apart_by_their_uid() -> None:
    zero, one = pods.load("pods/indexed-job-0.yaml"), pods.load("pods/indexed-job-1.yaml")
    for pod in (zero, one):
        del pod["metadata"]["ownerReferences"]
    assert rendezvous(zero).job == rendezvous(one).job
    assert (
        rendezvous(labelled(zero, **{"batch.kubernetes.io/controller-uid": "other"})).job
        != rendezvous(one).job
    )


def test_pods_of_a_jobset_that_tell_no_attempt_are_of_one_job() -> None:
    untold = {"jobset.sigs.k8s.io/restart-attempt": None}
    zero, one = (labelled(pods.load(f"pods/jobset-{index}.yaml"), **untold) for index in (0, 1))
    assert rendezvous(zero).job == rendezvous(one).job


def test_restarting_one_task_of_a_volcano_job_is_no_new_attempt() -> None:
    pod = pods.load("pods/volcano-pytorch-1.yaml")
    before = rendezvous(pod).job
    pod["metadata"]["annotations"]["volcano.sh/job-retry-count"] = "3"
    assert rendezvous(pod).job == before


def test_two_groups_of_one_leaderworkerset_are_two_jobs() -> None:
    other = pods.load("pods/lws-0.yaml")
    other["metadata"]["name"] = other["spec"]["hostname"] = "mnmt-1"
    labelled(other, **{"leaderworkerset.sigs.k8s.io/group-index": "1"})
    drop_env(other, "LWS_LEADER_ADDRESS")
    add_env(other, "LWS_LEADER_ADDRESS", "mnmt-1.mnmt.train")
    assert rendezvous(other).role == "master"
    assert rendezvous(other).job != rendezvous(pods.load("pods/lws-0.yaml")).job


def elastic(name: str, role: str | None, *, master: bool) -> Object:
    pod = pods.load("pods/kubeflow-pytorchjob-1.yaml")
    pod["metadata"]["name"] = name
    labelled(pod, **{"training.kubeflow.org/job-role": role})
    if not master:
        drop_env(pod, "MASTER_ADDR", "PET_MASTER_ADDR", "RANK", "WORLD_SIZE", "PET_NODE_RANK")
    drop_env(pod, "PET_NNODES")
    add_env(pod, "PET_NNODES", "1:3")
    add_env(pod, "PET_RDZV_BACKEND", "c10d")
    return add_env(pod, "PET_RDZV_ENDPOINT", "bert-worker-0:29400")


@pytest.mark.parametrize("master", [False, True], ids=["workers-only", "with-a-master"])
def test_the_rendezvous_endpoint_decides_in_an_elastic_pytorchjob(master: bool) -> None:
    zero, one = (
        elastic("bert-worker-0", "master", master=master),
        elastic("bert-worker-1", None, master=master),
    )
    assert (rendezvous(zero).role, rendezvous(one).role) == ("master", "worker")
    assert rendezvous(zero).job == rendezvous(one).job
    assert rendezvous(one).hosts == {"bert-worker-0"}


OLD_LABELS = {
    "training-operator-1.3": {
        "group-name": "kubeflow.org",
        "job-name": "bert",
        "replica-type": "{}",
        "replica-index": "0",
    },
    "pytorch-operator": {
        "pytorch-job-name": "bert",
        "pytorch-replica-type": "{}",
        "pytorch-replica-index": "0",
    },
}


@pytest.mark.parametrize("labels", OLD_LABELS.values(), ids=OLD_LABELS)
def test_recognises_the_labels_of_older_operators_whose_master_says_localhost(
    labels: dict[str, str],
) -> None:
    master, worker = (
        pods.load("pods/kubeflow-pytorchjob-0.yaml"),
        pods.load("pods/kubeflow-pytorchjob-1.yaml"),
    )
    for pod, kind in ((master, "master"), (worker, "worker")):
        pod["metadata"]["labels"] = {key: value.format(kind) for key, value in labels.items()}
    for entry in master["spec"]["containers"][0]["env"]:
        if entry["name"] in ("MASTER_ADDR", "PET_MASTER_ADDR"):
            entry["value"] = "localhost"
    assert (rendezvous(master).role, rendezvous(worker).role) == ("master", "worker")
    assert rendezvous(master).job == rendezvous(worker).job


@pytest.mark.parametrize("env", [{"WORLD_SIZE": "8", "PET_NNODES": "1:1"}, {"PET_STANDALONE": "1"}])
def test_a_job_on_one_node_needs_no_rendezvous(env: dict[str, str]) -> None:
    pod = set_command(pods.load("pods/indexed-job-0.yaml"), "python", "t.py")
    for name, value in env.items():
        add_env(pod, name, value)
    found = recognise(pod)
    assert found.reason is Reason.SINGLE_NODE
    assert isinstance(found, NotTraining)


@pytest.mark.parametrize("value", ["", "0", "False"])
def test_a_job_that_is_told_not_to_stand_alone_does_not(value: str) -> None:
    assert (
        rendezvous(add_env(pods.load("pods/indexed-job-0.yaml"), "PET_STANDALONE", value)).role
        == "master"
    )


@pytest.mark.parametrize("nodes", ["10", "1:2", "12", "$NNODES"])
def test_ten_or_elastic_nodes_are_not_one(nodes: str) -> None:
    assert (
        rendezvous(add_env(pods.load("pods/indexed-job-0.yaml"), "PET_NNODES", nodes)).role
        == "master"
    )
    assert rendezvous(
        set_command(pods.load("pods/volcano-pod-0.yaml"), "torchrun", "--nnodes", nodes, "t.py")
    )


@pytest.mark.parametrize(
    "command",
    [
        "torchrun --standalone --nproc_per_node=1 tokenize.py && torchrun train.py",
        "torchrun train.py # --nnodes=1",
        "torchrun train.py --standalone",
        "torchrun --nnodes=1 train.py",
        "torchrun --rdzv_endpoint=localhost:0 train.py",
    ],
)
def test_a_command_never_makes_a_job_of_several_nodes_one_of_a_single_node(command: str) -> None:
    for name in (
        "pods/kubeflow-pytorchjob-0.yaml",
        "pods/indexed-job-0.yaml",
        "pods/jobset-0.yaml",
    ):
        assert rendezvous(set_command(pods.load(name), "sh", "-c", command)).role == "master"


def test_a_world_of_several_outweighs_a_template_that_stands_alone() -> None:
    pod = add_env(pods.load("pods/kubedl-pytorchjob-0.yaml"), "PET_STANDALONE", "1")
    assert rendezvous(pod).role == "master"


def trainjob(role: str, container: str, *, gpu: bool = True) -> Object:
    pod = pods.load("pods/kubeflow-trainer-1.yaml")
    labelled(pod, **{"jobset.sigs.k8s.io/replicatedjob-name": role})
    pod["spec"]["containers"][0]["name"] = container
    if not gpu:
        pod["spec"]["containers"][0]["resources"] = {}
    return pod


def test_torchtune_gives_the_address_as_an_argument_which_stays() -> None:
    worker, zero = (
        drop_env(trainjob("node", "node"), "PET_MASTER_ADDR"),
        pods.load("pods/kubeflow-trainer-0.yaml"),
    )
    for pod in (worker, drop_env(zero, "PET_MASTER_ADDR")):
        found = set_command(
            pod,
            "tune",
            "run",
            "--rdzv_endpoint=llama-node-0-0.llama:29500",
            "full_finetune_distributed",
        )
        assert (member(found).rendezvous, member(found).reason) == (None, Reason.NO_MASTER)


def test_an_mpi_launcher_with_accelerators_is_a_rank_of_its_trainjob() -> None:
    """With runLauncherAsNode MPI runs a process on it too."""
    pod = drop_env(
        trainjob("launcher", "launcher"), "PET_MASTER_ADDR", "PET_NNODES", "PET_NPROC_PER_NODE"
    )
    found = member(set_command(pod, "mpirun", "python", "train.py"))
    assert (found.system, found.container, found.reason) == (
        "trainjob",
        "launcher",
        Reason.NO_PROCESS_GROUP,
    )


def test_a_users_own_jobset_is_no_trainjob_though_its_containers_are_named_as_its_jobs() -> None:
    pod = pods.load("pods/jobset-1.yaml")
    pod["spec"]["containers"][0]["name"] = "workers"
    assert member(pod).system == "jobset"


def test_a_users_own_jobset_may_name_its_role_launcher() -> None:
    assert member(trainjob("launcher", "starter")).system == "jobset"


@pytest.mark.parametrize("address", ["llama-node-0-0.llama", "localhost"])
def test_a_users_own_jobset_may_name_role_and_container_node(address: str) -> None:
    pod = trainjob("node", "node")
    pod["spec"]["containers"][0]["env"] = [{"name": "MASTER_ADDR", "value": address}]
    assert recognise(pod).system == "jobset"


@pytest.mark.parametrize("gpu", [True, False])
def test_a_trainjobs_launcher_that_is_a_node_trains_as_the_nodes_do(gpu: bool) -> None:
    for role in ("launcher", "node"):
        pod = set_command(trainjob(role, "node", gpu=gpu), "mpirun", "python", "train.py")
        pod["spec"]["containers"][0]["env"] = []
        pod["spec"]["volumes"] = [
            {"name": "mpi-ssh-auth", "secret": {"secretName": "llama-mpi-ssh-auth"}}
        ]
        found = member(pod)
        assert (found.system, found.container, found.reason) == (
            "trainjob",
            "node",
            Reason.NO_PROCESS_GROUP,
        )


def without_variables(name: str, *, gpu: bool = True) -> Object:
    pod = pods.load(name)
    for container in pod["spec"]["containers"]:
        container["env"] = []
        if not gpu:
            container["resources"] = {}
    return set_command(pod, "sleep", "infinity")


def on_processors(name: str) -> Object:
    """Load a pod that starts torchrun without an accelerator and without variables."""
    return set_command(without_variables(name, gpu=False), "torchrun", "train.py")


ALONE: dict[str, Callable[[], Object]] = {
    "redis-replica": lambda: add_env(
        without_variables("pods/statefulset-1.yaml"), "REDIS_MASTER_HOST", "ddp-0.ddp"
    ),
    "job-that-talks-to-another": lambda: add_env(
        on_processors("pods/indexed-job-1.yaml"), "MASTER_ADDR", "other-0.other"
    ),
}


@pytest.mark.parametrize(
    ("kind", "version", "system"),
    [
        ("Job", "batch/v1", "job"),
        ("Workflow", "batch/v1", ""),
        ("Job", "batch.example.com/v1", ""),
        ("Job", None, ""),
    ],
)
def test_knows_a_job_by_its_controller_where_no_label_names_it(
    kind: str, version: str | None, system: str
) -> None:
    pod = pods.load("pods/indexed-job-1.yaml")
    [owner] = pod["metadata"]["ownerReferences"]
    for label in ("batch.kubernetes.io/job-name", "job-name"):
        pod["metadata"]["labels"].pop(label, None)
    assert recognise(pod).system == "job"
    owner.update(kind=kind, apiVersion=version)
    assert recognise(pod).system == system


def test_a_job_of_kubedl_that_no_controller_owns_is_a_pytorchjob() -> None:
    pod = pods.load("pods/kubedl-pytorchjob-1.yaml")
    del pod["metadata"]["ownerReferences"]
    assert (member(pod).system, rendezvous(pod).rank_zero) == ("kubedl", "bert-master-0")


@pytest.mark.parametrize("make", ALONE.values(), ids=ALONE)
def test_leaves_alone(make: Callable[[], Object]) -> None:
    found = recognise(make())
    assert isinstance(found, NotTraining), found
    assert found.reason is Reason.NOT_TRAINING


def test_the_launcher_of_a_training_operator_mpijob_is_no_rank_zero() -> None:
    pod = pods.load("pods/mpijob-worker-0.yaml")
    labelled(
        pod,
        **{
            "training.kubeflow.org/operator-name": "mpijob-controller",
            "training.kubeflow.org/job-role": "master",
            "training.kubeflow.org/replica-type": "launcher",
        },
    )
    assert member(pod).rendezvous is None
    pod["spec"]["containers"][0]["resources"] = {}
    assert isinstance(recognise(pod), NotTraining)


def test_gang_scheduling_and_queues_do_not_hide_the_system() -> None:
    pod = pods.load("pods/kubeflow-pytorchjob-1.yaml")
    pod["metadata"]["annotations"] = {
        "volcano.sh/task-spec": "worker",
        "scheduling.k8s.io/group-name": "bert",
    }
    labelled(
        pod,
        **{
            "workload.codeflare.dev/appwrapper": "aw",
            "kueue.x-k8s.io/podset": "worker",
            "scheduling.x-k8s.io/pod-group": "bert",
        },
    )
    assert member(pod).system == "pytorchjob"


def test_a_jobset_address_made_of_other_variables_is_understood() -> None:
    pod = drop_env(pods.load("pods/jobset-1.yaml"), "MASTER_ADDR")
    source = {"fieldRef": {"fieldPath": "metadata.labels['jobset.sigs.k8s.io/jobset-name']"}}
    pod["spec"]["containers"][0]["env"].append({"name": "JS", "valueFrom": source})
    add_env(pod, "MASTER_ADDR", "$(JS)-workers-0-0.$(JS)")
    assert rendezvous(pod).job == rendezvous(pods.load("pods/jobset-0.yaml")).job


def test_the_coordinator_of_a_jobset_is_rank_zero_though_it_names_nobody() -> None:
    worker = pods.load("pods/jobset-1.yaml")
    coordinator = drop_env(pods.load("pods/jobset-0.yaml"), "MASTER_ADDR")
    assert rendezvous(coordinator).role == "master"
    assert rendezvous(coordinator).job == rendezvous(worker).job


def test_a_command_that_meets_at_etcd_changes_nothing_about_its_job() -> None:
    pod = pods.load("pods/kubeflow-pytorchjob-1.yaml")
    before = member(pod)
    set_command(pod, "torchrun", "--rdzv_backend=etcd-v2", "--rdzv_endpoint=etcd:2379", "train.py")
    assert member(pod) == before


def test_a_group_of_plain_pods_in_kueue_is_a_job() -> None:
    found = []
    for index in (0, 1):
        pod = plain(
            {"kueue.x-k8s.io/pod-group-name": "group"}, hostname=f"group-{index}", subdomain="group"
        )
        pod["metadata"]["name"] = f"group-{index}"
        found.append(
            rendezvous(
                add_env(set_command(pod, "torchrun", "t.py"), "MASTER_ADDR", "group-0.group")
            )
        )
    assert [each.role for each in found] == ["master", "worker"]
    assert found[0].job == found[1].job


@pytest.mark.parametrize(
    ("name", "container"),
    [
        ("pods/kubeflow-pytorchjob-0.yaml", "pytorch"),
        ("pods/volcano-pytorch-0.yaml", "master"),
        ("pods/volcano-pytorch-1.yaml", "worker"),
    ],
)
def test_tells_the_operators_own_name_of_the_training_container(name: str, container: str) -> None:
    assert member(pods.load(name)).container == container
