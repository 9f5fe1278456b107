"""TorchX: every scheduler, version and odd role; texts are rows of torchx.yaml."""

import pytest

from tests import pods
from tests.core.workloads.recognised import member, rendezvous
from tests.pods import add_env, set_command
from tests.tables import read
from tests.worlds import PROFILES, world
from webhook.core import podspec
from webhook.core.injection import wait
from webhook.core.model import Object, Reason
from webhook.core.review import decide

_RUN = (
    "torchrun --rdzv_backend c10d --rdzv_endpoint ADDRESS:29500 --rdzv_id 'train-x' --nnodes 2 "
    "--nproc_per_node 1 train.py"
)
_ZERO, _OTHERS = "${TORCHX_RANK0_HOST:=localhost}", "${VC_TRAIN_0_HOSTS:=localhost}"
_NAMES = ("app.kubernetes.io/instance", "volcano.sh/job-name", "torchx.pytorch.org/app-name")
_ROWS = read(__file__, "torchx.yaml")


def replica(number: int, role: int = 0, command: str = _RUN) -> Object:
    pod = pods.load(f"pods/volcano-pod-{min(number, 1)}.yaml")
    own = {"role-index": str(role), "replica-id": str(number)}
    pod["metadata"]["labels"] |= {f"torchx.pytorch.org/{key}": text for key, text in own.items()}
    address = _ZERO if (number, role) == (0, 0) else _OTHERS
    text = command.replace("RUN", _RUN) if command.count("RUN") == 1 else command
    return set_command(pod, "bash", "-c", text.replace("ADDRESS", address))


def answer(pod: Object) -> str:
    """Say how a replica meets rank 0."""
    found = member(pod)
    if found.rendezvous is not None:
        return "meets" if found.rendezvous.is_certain else "nobody"
    if found.reason is Reason.USER_VALUE:
        assert found.message == "role 'train' meets at etcd: the user's own address is kept"
        return "etcd"
    return {Reason.SINGLE_NODE: "one node", Reason.NO_PROCESS_GROUP: "nobody"}[found.reason]


@pytest.mark.parametrize(("command", "said"), _ROWS["texts"].items())
def test_replicas_of_role_zero_meet_where_their_text_says_so(command: str, said: str) -> None:
    """Replica 0 is else a candidate: it publishes its address, and nothing about it changes."""
    assert answer(replica(1, command=command)) == said
    zero = replica(0, command=command)
    if said in ("meets", "nobody", "etcd"):
        found = rendezvous(zero)
        follows = said == "meets"
        assert (found.role, found.by_operator, found.is_certain) == ("master", follows, follows)
        assert found.job == rendezvous(replica(1)).job
    else:
        assert answer(zero) == said


@pytest.mark.parametrize("label", _NAMES)
def test_an_app_is_told_from_others_by_what_its_version_writes(label: str) -> None:
    jobs = []
    for number, app in ((0, "one"), (1, "one"), (1, "two")):
        pod = replica(number)
        for name in _NAMES:
            pod["metadata"]["labels"].pop(name, None)
        pod["metadata"]["labels"] |= {"torchx.pytorch.org/version": "0.7.0", label: app}
        jobs.append(rendezvous(pod).job)
    assert jobs[0] == jobs[1]
    assert [job.rpartition("-")[0] for job in jobs] == ["one", "one", "two"]


def test_an_app_without_a_name_is_told_from_others_by_its_owner() -> None:
    found = [replica(number) for number in (0, 1)]
    for pod in found:
        for name in _NAMES:
            pod["metadata"]["labels"].pop(name, None)
        pod["metadata"]["labels"]["torchx.pytorch.org/version"] = "0.7.0"
    jobs = [rendezvous(pod).job for pod in found]
    assert jobs[0] == jobs[1]
    assert jobs[0].isalnum(), "a hash alone"


@pytest.mark.parametrize(
    ("variable", "value"), [("WORLD_SIZE", "1"), ("PET_NNODES", "1"), ("PET_NNODES", "1:1")]
)
@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ("--nnodes 2", "meets"),
        ("--nnodes 2:4", "meets"),
        ("--nnodes 1:2", "meets"),
        ("", "one node"),
        ("--nnodes $WORLD_SIZE", "one node"),
        ("--nnodes=1:1", "one node"),
        ("--nnodes 01", "one node"),
    ],
)
def test_an_option_of_several_nodes_outweighs_a_variable_of_the_users(
    nodes: str, said: str, variable: str, value: str
) -> None:
    command = "torchrun --standalone prepare.py && " + _RUN.replace("--nnodes 2", nodes)
    for number in (0, 1):
        pod = add_env(replica(number, command=command), variable, value)
        assert answer(pod) == said


def test_a_backend_of_etcd_may_be_a_variable() -> None:
    pod = set_command(replica(1), "torchrun", "--rdzv_endpoint=etcd:2379", "t.py")
    assert answer(add_env(pod, "PET_RDZV_BACKEND", "etcd-v2")) == "etcd"


@pytest.mark.parametrize("lone", ["torchrun --standalone t.py", "torchrun --nnodes=1 t.py", _RUN])
def test_another_role_meets_nobody_and_trains_on_the_fabric(lone: str) -> None:
    zero = decide(replica(0, command=lone), "train", PROFILES, world())
    one = decide(replica(0, role=1), "train", PROFILES, world())
    assert (one.job, wait.needs(one.pod)) == ("", [])
    assert podspec.env_value(one.pod["spec"]["containers"][0], "NCCL_SOCKET_IFNAME")
    assert wait.needs(zero.pod) == (["master-addr:own", "local-addr:own"] if lone == _RUN else [])


def test_a_program_that_finds_the_variables_name_in_its_environment_meets_rank_zero() -> None:
    for number, name in enumerate(("TORCHX_RANK0_HOST", "VC_TRAIN_0_HOSTS")):
        pod = set_command(replica(number), "python", "t.py")
        assert answer(add_env(pod, "RANK0_ENV", name)) == "meets"


def test_the_replica_counts_and_not_volcanos_task_index() -> None:
    pod = replica(7)
    pod["metadata"]["labels"]["volcano.sh/task-index"] = "0"
    assert rendezvous(pod).role == "worker"
