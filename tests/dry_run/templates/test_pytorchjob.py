"""The pods of Kubeflow's PyTorchJob, with a master and elastic."""

from __future__ import annotations

from tests.dry_run.templates.kinds import (
    ROLES,
    container,
    elastic_job,
    env,
    find,
    pytorch_job,
    template,
)
from webhook.core import podspec


def test_counts_processes_of_a_pytorch_job() -> None:
    master, worker = find(pytorch_job(nprocPerNode="8")).pods
    assert [env(each.pod, "WORLD_SIZE") for each in (master, worker)] == ["16", "16"]
    assert [env(each.pod, "RANK") for each in (master, worker)] == ["0", "1"]
    assert env(master.pod, "PET_NPROC_PER_NODE") == "8"


def test_reads_the_port_of_a_pytorch_job() -> None:
    metrics, port = (
        {"name": name, "containerPort": number}
        for name, number in (("m", 1), ("pytorchjob-port", 29400))
    )
    side = container("side", ports=[{**port, "containerPort": 2}])
    roles = {
        **ROLES,
        "Master": {"template": template(side, container("pytorch", ports=[metrics, port]))},
    }
    found = find(pytorch_job(pytorchReplicaSpecs=roles)).pods
    assert {env(each.pod, "MASTER_PORT") for each in found} == {"29400"}


def test_writes_the_variables_of_an_elastic_pytorch_job() -> None:
    policy = {
        "minReplicas": 2,
        "maxReplicas": 6,
        "maxRestarts": 3,
        "rdzvId": "x",
        "rdzvConf": [{"key": "timeout", "value": "30"}, {"key": "is_host", "value": "1"}],
    }
    first, second = (each.pod for each in find(elastic_job(**policy)).pods)
    assert {entry["name"]: entry["value"] for entry in second["spec"]["containers"][0]["env"]} == {
        "PYTHONUNBUFFERED": "1",
        "PET_RDZV_ENDPOINT": "bert-worker-0:23456",
        "PET_RDZV_BACKEND": "c10d",
        "PET_NNODES": "2:6",
        "PET_NPROC_PER_NODE": "auto",
        "PET_MAX_RESTARTS": "3",
        "PET_RDZV_ID": "x",
        "PET_RDZV_CONF": "timeout=30,is_host=1",
    }
    assert podspec.labels(first)["training.kubeflow.org/job-role"] == "master"
    assert "training.kubeflow.org/job-role" not in podspec.labels(second)
    assert "initContainers" not in second["spec"]


def test_writes_the_variables_of_a_standalone_pytorch_job() -> None:
    pod = (
        find(elastic_job(standalone=True, rdzvHost="h", rdzvPort=1234, rdzvBackend="etcd"))
        .pods[0]
        .pod
    )
    names_of = ("PET_RDZV_ENDPOINT", "PET_RDZV_BACKEND", "PET_NNODES", "PET_STANDALONE")
    assert [env(pod, name) for name in names_of] == ["h:1234", "etcd", "4", ""]


def test_gives_an_elastic_pytorch_job_with_a_master_both_sets_of_variables() -> None:
    master, worker = (each.pod for each in find(pytorch_job(elasticPolicy={"maxReplicas": 4})).pods)
    for pod in (master, worker):
        assert env(pod, "MASTER_ADDR") == "bert-master-0"
        assert env(pod, "PET_RDZV_ENDPOINT") == "bert-worker-0:23456"
        assert env(pod, "PET_NNODES") == "1:4"
        variables = [entry["name"] for entry in pod["spec"]["containers"][0]["env"]]
        assert len(variables) == len(set(variables))


def test_turns_exit_code_into_never() -> None:
    roles = {"Master": {"restartPolicy": "ExitCode", "template": template(container("pytorch"))}}
    [found] = find(pytorch_job(pytorchReplicaSpecs=roles)).pods
    assert found.pod["spec"]["restartPolicy"] == "Never"
