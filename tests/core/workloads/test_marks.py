"""What shows a pod of a general-purpose workload to be one of several nodes, and what does not."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests import pods
from tests.pods import add_env, set_command
from webhook.core.model import Object
from webhook.core.workloads import TrainingPod, recognise
from webhook.core.workloads.launchers import serves_ssh, shows_torch_launcher
from webhook.core.workloads.marks import find_mark, shows_member


def running(text: str, **fields: Any) -> Object:
    return {"name": "main", "command": ["sh", "-c", text], **fields}


@pytest.mark.parametrize(
    "text",
    [
        "mpirun -np 16 ./all_reduce",
        "horovodrun t",
        "vllm serve m --nnodes 2",
        "python -m sglang.launch_server --dist-init-addr a:1 m",
        "exec /opt/openmpi/bin/orterun -H a,b t",
        "ray start --head --block",
        "set -e; ray start --address=$HEAD:6379 --block",
        "python t.py --num_nodes 2",
        "python t.py --coordinator-address=$A",
        "python -m trainer --master_addr $A",
        "vllm serve m --data-parallel-address $A",
        'CMD="torchrun --nnodes=4 --node_rank=$I t.py"; echo $CMD; eval $CMD',
        "ARGS='--nproc_per_node 8 --num_machines 2'; $LAUNCH $ARGS t.py",
        'su trainer -c "torchrun --nnodes 4 t.py"',
    ],
)
def test_knows_launchers_and_options_of_several_nodes(text: str) -> None:
    assert not shows_torch_launcher(running(text))
    assert find_mark(running(text)) == "starts a launcher"


@pytest.mark.parametrize(
    "text",
    [
        "ray status",
        "python ray start",
        "pip install ray start mpirun",
        "which mpirun",
        "echo --nnodes=2",
        'echo "run me with torchrun --nnodes=2"',
        "MASTER_PORT=29500 RANK=0 python t.py",
        "python t.py NNODES=2",
        "echo WORLD_SIZE=$WORLD_SIZE",
        "python t.py --no-nodes",
        "cd /opt/mpirun",
        "",
    ],
)
def test_takes_no_other_text_for_one_of_several_nodes(text: str) -> None:
    assert not find_mark(running(text))


@pytest.mark.parametrize(
    "name",
    ["MASTER_ADDR", "NNODES", "NODE_RANK", "JAX_COORDINATOR_ADDRESS", "TF_CONFIG", "WORLD_SIZE"],
)
def test_knows_variables_of_several_nodes_wherever_their_value_comes_from(name: str) -> None:
    for entry in (
        {"name": name, "value": "x"},
        {"name": name, "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
    ):
        assert (
            find_mark(running("./run.sh", env=[{"name": "A", "value": "b"}, entry]))
            == f"sets {name}"
        )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("MASTER_ADDR=$VC_MASTER_HOSTS python t.py", "MASTER_ADDR"),
        ("set -e; export MASTER_PORT=1 MASTER_ADDR=${J}-0.$S; exec python t.py", "MASTER_ADDR"),
        ("if true; then env RANK=1 WORLD_SIZE=4 python t.py; fi", "WORLD_SIZE"),
        ("declare -x NNODES=2\npython t.py", "NNODES"),
        ("export MASTER_ADDR=localhost; python t.py --rank 0", "MASTER_ADDR"),
    ],
)
def test_knows_variables_of_several_nodes_that_a_text_sets(text: str, name: str) -> None:
    """A leader whose text says localhost counts as one whose variable does: the others, which name it, must not be injected alone."""
    assert find_mark(running(text)) == f"sets {name}"


@pytest.mark.parametrize(
    "name", ["REDIS_MASTER_ADDR", "RANK", "NODE_NAME", "POD_IP", "NNODES_MAX", "VLLM_HOST_IP"]
)
def test_takes_no_other_variable_for_one_of_several_nodes(name: str) -> None:
    assert not find_mark(running("./run.sh", env=[{"name": name, "value": "x"}]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mkdir -p /run/sshd; /usr/sbin/sshd -De", True),
        ("if ! exec sshd; then exit 1; fi", True),
        ("service ssh restart && sleep infinity", True),
        ("/etc/init.d/ssh start", True),
        ("ssh-keygen -A", False),
        ("service nginx start", False),
        ("cp /etc/sshd sshd", False),
        ("echo 'x", False),
        ("", False),
    ],
)
def test_knows_an_ssh_daemon(text: str, expected: bool) -> None:
    assert serves_ssh(running(text)) is expected


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        (running("./run.sh", env=[{"name": "HEAD", "value": "ddp-0.ddp.ns.svc"}]), True),
        (running("./run.sh", env=[{"name": "HEAD", "value": "tcp://ddp-0:29500"}]), True),
        (running("./run.sh", env=[{"name": "CACHE", "value": "ddp-0"}]), False),
        (running("./run.sh", env=[{"name": "DB", "value": "other-0.other"}]), False),
        (
            running(
                "./run.sh",
                env=[{"name": "ME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            ),
            False,
        ),
        (running("until nc -z ddp-0.ddp 29500; do sleep 1; done; ./run.sh"), True),
        (running("./run.sh --peers=ddp-0.ddp,ddp-1.ddp"), True),
        (running("./run.sh my-ddp-0.ddp"), False),
        (running("./run.sh ddp-0. /ddp-0/x"), False),
        (running("./run.sh ddp-0.ddp" + " x" * 40_000), False),
        ({}, False),
    ],
    ids=lambda value: "",
)
def test_knows_a_container_that_names_a_pod_of_the_job(container: Object, expected: bool) -> None:
    assert (
        shows_member(container, lambda name: re.fullmatch(r"ddp-\d+", name) is not None) is expected
    )


def bare(name: str, *command: str) -> Object:
    pod = pods.load(name)
    pod["spec"]["containers"][0]["env"] = []
    return set_command(pod, *command)


COUNTED = {
    "a worker of mpirun": (bare("pods/volcano-pytorch-1.yaml", "/usr/sbin/sshd", "-D"), True),
    "a script that is told the first pod": (
        add_env(
            bare("pods/indexed-job-1.yaml", "bash", "/run.sh"), "RANK_0", "ddp-0.ddp.train.svc"
        ),
        True,
    ),
    "a script that is told the number of nodes": (
        add_env(bare("pods/jobset-1.yaml", "bash", "/run.sh"), "NNODES", "2"),
        True,
    ),
    "a replica of a database": (
        add_env(
            bare("pods/statefulset-1.yaml", "db", "--replica-of", "ddp-0.ddp:1"),
            "DB_HOST",
            "ddp-0.ddp",
        ),
        False,
    ),
    "a client of a cache": (
        add_env(bare("pods/statefulset-1.yaml", "serve"), "CACHE_MASTER_ADDR", "cache-0.cache"),
        False,
    ),
    "a rank that is told the first pod": (
        add_env(bare("pods/statefulset-1.yaml", "serve"), "TRAIN_MASTER_ADDR", "ddp-0.ddp"),
        True,
    ),
    "a Python file that may start launchers": (
        bare("pods/indexed-job-1.yaml", "python", "launch.py"),
        False,
    ),
    "a PodSet of AIBrix": (
        add_env(bare("pods/stormservice-1.yaml", "serve"), "POD_GROUP_SIZE", "2"),
        True,
    ),
    "a PodSet's prefill of one pod": (bare("pods/stormservice-1.yaml", "serve"), False),
    "a clique that serves alone": (bare("pods/grove-1.yaml", "serve"), False),
}


@pytest.mark.parametrize("case", COUNTED)
def test_counts_pods_by_their_marks(case: str) -> None:
    pod, counted = COUNTED[case]
    assert isinstance(recognise(pod), TrainingPod) is counted
    for container in pod["spec"]["containers"]:
        container["resources"] = {}
    assert not isinstance(recognise(pod), TrainingPod), (
        "without an accelerator none of these marks counts"
    )


def test_a_stormservices_role_without_podsets_is_a_job_of_its_replicas() -> None:
    found = []
    for index in range(2):
        pod = bare("pods/stormservice-0.yaml", "sh", "-c", "torchrun --master_addr=$HEAD t.py")
        for key in ("podset-name", "pod-group-index"):
            del pod["metadata"]["labels"][f"stormservice.orchestration.aibrix.ai/{key}"]
        pod["metadata"]["labels"]["stormservice.orchestration.aibrix.ai/role-replica-index"] = str(
            index
        )
        pod["metadata"]["name"] = pod["spec"]["hostname"] = (
            f"llm-roleset-x2k7p-prefill-7c9d6f5b4-{index}"
        )
        found.append(recognise(add_env(pod, "HEAD", "llm-roleset-x2k7p-prefill-7c9d6f5b4-0.llm")))
    roles = [
        one.rendezvous.role for one in found if isinstance(one, TrainingPod) and one.rendezvous
    ]
    assert roles == ["master", "worker"]


def test_the_first_pod_of_each_clique_may_be_rank_zero() -> None:
    for number, role in (("0", "master"), ("1", None)):
        pod = bare("pods/grove-1.yaml", "torchrun", "--nnodes=3", "t.py")
        pod["spec"]["hostname"] = f"train-0-model-0-worker-{number}"
        found = recognise(pod)
        assert isinstance(found, TrainingPod)
        assert (found.rendezvous.role if found.rendezvous else None) == role


def test_a_ray_worker_may_hold_its_accelerator_by_a_claim() -> None:
    pod = pods.load("pods/raycluster-worker.yaml")
    pod["spec"]["containers"][0]["resources"] = {"claims": [{"name": "gpus"}]}
    assert isinstance(recognise(pod), TrainingPod)
