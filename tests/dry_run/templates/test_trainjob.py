"""The pods of a TrainJob, and of the runtime that it names."""

from __future__ import annotations

import pytest

from tests.calls import count_calls
from tests.dry_run.templates.kinds import container, env, find, names, runtime, template, train_job
from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads import TrainingPod, recognise


def test_uses_the_runtime_that_the_input_holds() -> None:
    trainer = {
        "env": [{"name": "A", "value": "own"}, {"name": "B", "value": "b"}],
        "args": ["x"],
        "numProcPerNode": 4,
    }
    found = find(runtime(numNodes=2, torch={}), train_job(trainer=trainer))
    assert names(found) == ["tj-dataset-initializer-0-0-*", "tj-node-0-0-*", "tj-node-0-1-*"]
    node = found.pods[1].pod
    assert node["spec"]["containers"][0]["args"] == ["x"]
    values = {entry["name"]: entry.get("value") for entry in node["spec"]["containers"][0]["env"]}
    assert values | {"PET_NODE_RANK": None, "JOB_COMPLETION_INDEX": None} == {
        "A": "own",
        "B": "b",
        "PET_NNODES": "2",
        "PET_NPROC_PER_NODE": "4",
        "PET_NODE_RANK": None,
        "PET_MASTER_ADDR": "tj-node-0-0.tj",
        "PET_MASTER_PORT": "29500",
        "JOB_COMPLETION_INDEX": None,
    }
    assert found.pods[1].source == (
        "TrainJob/tj ClusterTrainingRuntime/own spec.template.spec.replicatedJobs[1].template.spec.template"
    )
    assert [each.source for each in found.ignored] == ["ClusterTrainingRuntime/own"]


def test_says_that_a_runtime_is_missing() -> None:
    found = find(train_job())
    assert names(found) == ["tj-node-0-0-*"]
    [ignored] = found.ignored
    assert (ignored.source, ignored.broken) == ("ClusterTrainingRuntime/own", False)
    assert ignored.message == (
        "is not in the input: TrainJob/tj is shown with Trainer's torch-distributed in its place; add it to the input"
    )


SHIPPED = {
    "torch-distributed": ["tj-node-0-0-*", "tj-node-0-1-*"],
    "torch-distributed-with-cache": [
        "tj-dataset-initializer-0-0-*",
        "tj-node-0-0-*",
        "tj-node-0-1-*",
    ],
    **{
        key: [
            "tj-dataset-initializer-0-0-*",
            "tj-model-initializer-0-0-*",
            "tj-node-0-0-*",
            "tj-node-0-1-*",
        ]
        for key in ("torchtune-llama3.2-1b", "torchtune-llama3.2-3b", "torchtune-qwen2.5-1.5b")
    },
    "jax-distributed": ["tj-node-0-0-*", "tj-node-0-1-*"],
    "xgboost-distributed": ["tj-node-0-0-*", "tj-node-0-1-*"],
    **{
        key: ["tj-node-0-0-*", "tj-node-0-1-*", "tj-launcher-0-0-*"]
        for key in ("deepspeed-distributed", "mlx-distributed")
    },
}


@pytest.mark.parametrize("name", SHIPPED)
def test_knows_the_runtimes_that_trainer_ships(name: str) -> None:
    """A TrainJob alone gives the pods that Trainer would make; with runLauncherAsNode two of three nodes are not the launcher."""
    trainer = {
        "numNodes": 3 if SHIPPED[name][-1] == "tj-launcher-0-0-*" else 2,
        "resourcesPerNode": {"limits": {"nvidia.com/gpu": "8"}},
    }
    found = find(train_job(runtimeRef={"name": name}, trainer=trainer))
    assert names(found) == SHIPPED[name]
    [told] = found.ignored
    assert (
        told.message == "is not in the input: TrainJob/tj is shown with the one that Trainer ships"
    )
    for each in found.pods:
        member = recognise(each.pod)
        assert member.system == "trainjob"
        assert isinstance(member, TrainingPod) is (
            "initializer" not in podspec.display_name(each.pod)
        )
        if isinstance(member, TrainingPod):
            assert member.container == "node"
            assert podspec.limits(podspec.containers(each.pod)[0]) == {"nvidia.com/gpu": "8"}


def test_every_shipped_runtime_gets_its_own_copy() -> None:
    job = train_job(
        runtimeRef={"name": "torch-distributed"}, trainer={"env": [{"name": "A", "value": "x"}]}
    )
    other = train_job(runtimeRef={"name": "torch-distributed-with-cache"}, trainer={})
    assert env(find(job).pods[0].pod, "A") == "x"
    assert env(find(other).pods[-1].pod, "A") is None


def test_an_mpi_runtimes_nodes_run_their_own_command() -> None:
    trainer = {
        "command": ["mpirun", "train"],
        "image": "mine",
        "env": [{"name": "A", "value": "x"}],
    }
    node, launcher = (
        each.pod
        for each in find(train_job(runtimeRef={"name": "mlx-distributed"}, trainer=trainer)).pods
    )
    assert node["spec"]["containers"][0]["command"] == ["/usr/sbin/sshd"]
    assert (
        launcher["spec"]["containers"][0]["command"],
        launcher["spec"]["containers"][0]["image"],
    ) == (
        ["mpirun", "train"],
        "mine",
    )
    assert (env(node, "A"), env(launcher, "A")) == ("x", "x")
    assert env(launcher, "OMPI_MCA_orte_default_hostfile") == "/etc/mpi/hostfile"


def test_takes_a_runtime_of_the_jobs_own_namespace() -> None:
    other = {**runtime(torch={}), "kind": "TrainingRuntime"}
    other["metadata"] = {"name": "own", "namespace": "elsewhere"}
    found = find(other, train_job(runtimeRef={"name": "own", "kind": "TrainingRuntime"}))
    assert "TrainingRuntime/own" in [each.source for each in found.ignored]
    assert "is not in the input" in " ".join(each.message for each in found.ignored)


def test_looks_through_no_other_object_of_the_input_for_a_runtime() -> None:
    jobs = [train_job()] * 20
    others: list[Object] = [
        {"kind": "Other", "metadata": {"name": f"o{number}"}} for number in range(5_000)
    ]

    def calls(*objects: Object) -> int:
        return count_calls(lambda: find(*objects))

    assert calls(*jobs, *others) < 1.2 * (calls(*jobs) + calls(*others))


def test_writes_no_torch_variables_for_another_runtime() -> None:
    found = find(runtime(numNodes=2, mpi={"numProcPerNode": 1}), train_job(trainer={}))
    assert env(found.pods[1].pod, "PET_MASTER_ADDR") is None


def test_runs_one_pod_of_an_mpi_runtimes_launcher() -> None:
    """With the trainer's label the launcher gets what the TrainJob says, but for its number of nodes."""
    own = runtime(numNodes=2, mpi={"numProcPerNode": 1})
    launcher = own["spec"]["template"]["spec"]["replicatedJobs"][0]
    launcher["name"] = "launcher"
    launcher["template"]["metadata"] = {
        "labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    }
    launcher["template"]["spec"]["template"] = template(container("launcher"))
    found = find(own, train_job(trainer={"numNodes": 4}))
    assert names(found) == ["tj-launcher-0-0-*", "tj-node-0-0-*", "tj-node-0-1-*"]


def test_leaves_the_command_of_a_torchtune_job_of_one_node() -> None:
    pod = (
        find(runtime(torch={}), train_job(trainer={"numNodes": 1, "command": ["tune", "run"]}))
        .pods[1]
        .pod
    )
    assert pod["spec"]["containers"][0]["command"] == ["tune", "run"]
    assert (env(pod, "PET_NNODES"), env(pod, "PET_MASTER_ADDR")) == ("1", None)


def test_passes_the_address_to_torchtune_as_an_argument() -> None:
    trainer = {"numNodes": 2, "command": ["tune", "run"]}
    pod = find(runtime(torch={}), train_job(trainer=trainer)).pods[1].pod
    assert pod["spec"]["containers"][0]["command"] == [
        "tune",
        "run",
        "--rdzv_endpoint=tj-node-0-0.tj:29500",
    ]
    assert env(pod, "PET_MASTER_ADDR") is None
    member = recognise(pod)
    assert isinstance(member, TrainingPod)
    assert member.rendezvous is None


@pytest.mark.parametrize("form", ["podSpecOverrides", "podTemplateOverrides", "runtimePatches"])
def test_lays_a_train_jobs_patches_over_the_runtime(form: str) -> None:
    mounts = [{"name": "shm", "mountPath": "/dev/shm"}]
    spec: Object = {
        "nodeSelector": {"rack": "a"},
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
        "containers": [
            {
                "name": "node",
                "env": [{"name": "A", "value": "patched"}],
                "volumeMounts": mounts,
            }
        ],
    }
    if form == "podSpecOverrides":
        patch: Object = {"targetJobs": [{"name": "node"}], **spec}
    elif form == "podTemplateOverrides":
        patch = {
            "targetJobs": [{"name": "node"}],
            "metadata": {"labels": {"team": "x"}},
            "spec": spec,
        }
    else:
        replicated = {
            "name": "node",
            "template": {
                "spec": {"template": {"metadata": {"labels": {"team": "x"}}, "spec": spec}}
            },
        }
        patch = {
            "manager": "m",
            "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [replicated]}}},
        }
    initializer, pod = (
        each.pod for each in find(runtime(torch={}), train_job(**{form: [patch]})).pods
    )
    assert pod["spec"]["nodeSelector"] == {"rack": "a"}
    assert env(pod, "A") == "patched"
    assert pod["spec"]["containers"][0]["volumeMounts"] == mounts
    assert podspec.labels(pod).get("team") == (None if form == "podSpecOverrides" else "x")
    assert "nodeSelector" not in initializer["spec"]


def test_changes_only_the_containers_that_a_train_job_names() -> None:
    own = runtime(torch={})
    node = own["spec"]["template"]["spec"]["replicatedJobs"][1]["template"]["spec"]["template"][
        "spec"
    ]
    node["containers"].append(container("side"))
    patch = {
        "targetJobs": [{"name": "node"}],
        "spec": {
            "containers": [
                {"name": "side", "command": ["watch"], "resources": {"limits": {"cpu": "1"}}}
            ],
            "initContainers": [{"name": "absent", "command": ["x"]}],
        },
    }
    pod = (
        find(own, train_job(trainer={"command": ["own"]}, podTemplateOverrides=[patch])).pods[1].pod
    )
    first, side = pod["spec"]["containers"]
    assert (first["command"], side["command"]) == (["own"], ["watch"])
    assert side["resources"]["limits"] == {"nvidia.com/gpu": "8", "cpu": "1"}
    assert env(pod, "PET_NNODES", 1) is None
    assert "initContainers" not in pod["spec"]


def test_leaves_the_containers_of_a_runtime_as_they_are_without_a_trainer() -> None:
    pod = find(runtime(torch={}), train_job()).pods[1].pod
    assert env(pod, "PET_NNODES") is None
    assert env(pod, "A") == "runtime"
