"""TorchX: every scheduler, version and odd role."""

from __future__ import annotations

import pytest

from tests import pods
from tests.core.workloads.recognised import member
from tests.pods import add_env, set_command
from tests.worlds import PROFILES, world
from webhook.core import podspec
from webhook.core.injection import wait
from webhook.core.model import Object, Outcome, Reason
from webhook.core.review import decide

RUN = "torchrun --rdzv_backend c10d --rdzv_endpoint {}:29500 --rdzv_id 'train-x' --nnodes 2 --nproc_per_node 1 train.py"


def replica(number: int, role: int = 0, address: str = "", command: str = RUN) -> Object:
    pod = pods.load(f"pods/volcano-pod-{min(number, 1)}.yaml")
    pod["metadata"]["labels"].update(
        {"torchx.pytorch.org/role-index": str(role), "torchx.pytorch.org/replica-id": str(number)}
    )
    address = address or (
        "${TORCHX_RANK0_HOST:=localhost}"
        if (number, role) == (0, 0)
        else "${VC_TRAIN_0_HOSTS:=localhost}"
    )
    return set_command(pod, "bash", "-c", command.format(address))


def are_master_and_worker(*members: Object) -> bool:
    roles = [getattr(member(pod).rendezvous, "role", None) for pod in members]
    return roles == ["master", "worker"]


VARIABLES = {
    "volcano": "${VC_TRAIN_0_HOSTS:=localhost}",
    "mcad": "${TORCHX_MCAD_TRAIN_0_HOSTS:=localhost}",
    "mcad-without-default": "$TORCHX_MCAD_TRAIN_0_HOSTS",
    "underscore-role": "${VC_COMPUTEWORLDSIZE_0_HOSTS:=localhost}",
    "hyphen-role": "${VC_TRAIN-LLM_0_HOSTS:=localhost}",
}


@pytest.mark.parametrize("address", VARIABLES.values(), ids=VARIABLES)
def test_a_worker_whose_command_names_rank_zero_meets_it(address: str) -> None:
    found = member(replica(1, address=address)).rendezvous
    assert found is not None
    assert (found.role, found.by_operator, found.is_certain) == ("worker", True, True)


@pytest.mark.parametrize(
    "label", ["app.kubernetes.io/instance", "volcano.sh/job-name", "torchx.pytorch.org/app-name"]
)
def test_an_app_is_told_from_others_by_what_its_version_writes(label: str) -> None:
    jobs = []
    for number, app in ((0, "one"), (1, "one"), (1, "two")):
        pod = replica(number)
        kept = {
            key: pod["metadata"]["labels"][key]
            for key in ("torchx.pytorch.org/role-index", "torchx.pytorch.org/replica-id")
        }
        mark = {} if label.startswith("torchx") else {"torchx.pytorch.org/version": "0.7.0"}
        pod["metadata"]["labels"] = {
            **kept,
            **mark,
            "torchx.pytorch.org/role-name": "train",
            label: app,
        }
        found = member(pod).rendezvous
        assert found is not None
        jobs.append(found.job)
    assert jobs[0] == jobs[1]
    assert [job.rpartition("-")[0] for job in jobs] == ["one", "one", "two"]


def test_an_app_without_a_name_is_told_from_others_by_its_owner() -> None:
    jobs = []
    for number in (0, 1):
        pod = replica(number)
        for label in (
            "app.kubernetes.io/instance",
            "volcano.sh/job-name",
            "torchx.pytorch.org/app-name",
        ):
            pod["metadata"]["labels"].pop(label, None)
        pod["metadata"]["labels"]["torchx.pytorch.org/version"] = "0.7.0"
        found = member(pod).rendezvous
        assert found is not None
        jobs.append(found.job)
    assert jobs[0] == jobs[1]
    assert jobs[0].isalnum(), "a hash alone"


def test_rank_zero_is_known_by_torchxs_labels() -> None:
    found = member(replica(0)).rendezvous
    assert found is not None
    assert (found.role, found.by_operator, found.is_certain) == ("master", True, True)


@pytest.mark.parametrize(
    "command", ["python server.py", "redis-cli -u redis://localhost:0", "torchrun t.py", "t.sh"]
)
def test_role_zero_replica_zero_is_a_candidate_whatever_its_command_says(command: str) -> None:
    """Another role may name it: it publishes its address, and nothing about it changes."""
    zero = member(set_command(replica(0), "sh", "-c", command)).rendezvous
    one = member(replica(0, role=1, address="${VC_TRAIN_0_HOSTS:=localhost}")).rendezvous
    assert zero is not None
    assert one is not None
    assert (zero.role, zero.by_operator, zero.is_certain, zero.job) == (
        "master",
        False,
        False,
        one.job,
    )
    assert member(set_command(replica(1), "sh", "-c", command)).reason is Reason.NO_PROCESS_GROUP


@pytest.mark.parametrize(
    "command",
    [
        "torchrun --rdzv_endpoint localhost:0 --nnodes 1 t.py",
        "torchrun --standalone prepare.py; torchrun --nnodes=1:1 t.py",
        "accelerate launch --num_machines 1 t.py",
        "torchrun --rdzv-endpoint=localhost:0 t.py ${VC_TRAIN_0_HOSTS}",
    ],
)
def test_an_app_whose_launchers_all_run_on_one_node_meets_nobody(command: str) -> None:
    for number in (0, 1):
        assert (
            member(set_command(replica(number), "sh", "-c", command)).reason is Reason.SINGLE_NODE
        )


@pytest.mark.parametrize(
    "command",
    [
        RUN + " # --nnodes=1",
        RUN + " --standalone-eval --standalone",
        RUN + " --broker redis://localhost:0",
        "torchrun --standalone prepare.py && " + RUN,
        "echo --nnodes=1; " + RUN,
        "etcd --standalone; " + RUN,
    ],
)
def test_an_app_of_several_nodes_is_none_of_one_though_a_text_looks_so(command: str) -> None:
    for number in (0, 1):
        found = member(replica(number, command=command)).rendezvous
        assert found is not None
        assert found.by_operator


@pytest.mark.parametrize(
    ("variable", "value"), [("WORLD_SIZE", "1"), ("PET_NNODES", "1"), ("PET_NNODES", "1:1")]
)
@pytest.mark.parametrize("nodes", ["2", "2:4", "1:2"])
def test_an_option_of_several_nodes_outweighs_a_variable_of_the_users(
    variable: str, value: str, nodes: str
) -> None:
    command = "torchrun --standalone prepare.py && " + RUN.replace(
        "--nnodes 2", f"--nnodes {nodes}"
    )
    for number in (0, 1):
        assert (
            member(add_env(replica(number, command=command), variable, value)).rendezvous
            is not None
        )


@pytest.mark.parametrize("nodes", ["", "--nnodes $WORLD_SIZE", "--nnodes=1:1", "--nnodes 01"])
def test_a_variable_says_that_there_is_one_node_where_no_option_names_several(nodes: str) -> None:
    pod = add_env(replica(1, command=RUN.replace("--nnodes 2", nodes)), "WORLD_SIZE", "1")
    assert member(pod).reason is Reason.SINGLE_NODE


def test_replica_zero_of_another_role_is_no_rank_zero() -> None:
    found = member(replica(0, role=1, address="${VC_TRAINER_0_HOSTS:=localhost}")).rendezvous
    assert found is not None
    assert found.role == "worker"
    zero = member(replica(0)).rendezvous
    assert zero is not None
    assert found.job == zero.job


def test_a_role_that_does_not_meet_rank_zero_gets_no_rendezvous() -> None:
    pod = replica(1, role=1)
    set_command(pod, "python", "-m", "reader", "--id", "1", "--rank0-env", "VC_TRAINER_0_HOSTS")
    assert member(pod).rendezvous is None
    assert member(pod).reason is Reason.NO_PROCESS_GROUP


@pytest.mark.parametrize(
    "command",
    [
        "torchrun --rdzv_backend etcd-v2 --rdzv_endpoint etcd.infra:2379 --rdzv_id x --nnodes 2 t.py",
        "PET_RDZV_BACKEND=c10d true; torchrun --rdzv-backend=etcd --rdzv-endpoint=etcd:2379 t.py",
    ],
)
@pytest.mark.parametrize("role", [0, 1])
def test_a_role_that_meets_at_etcd_is_told_so(role: int, command: str) -> None:
    found = member(set_command(replica(1, role), "bash", "-c", command))
    assert found.rendezvous is None
    assert (found.reason, found.message) == (
        Reason.USER_VALUE,
        "role 'train' meets at etcd: the user's own address is kept",
    )


def test_a_backend_of_etcd_may_be_a_variable() -> None:
    pod = set_command(replica(1), "torchrun", "--rdzv_endpoint=etcd:2379", "t.py")
    assert member(pod).reason is Reason.NO_PROCESS_GROUP
    assert member(add_env(pod, "PET_RDZV_BACKEND", "etcd-v2")).reason is Reason.USER_VALUE


def test_a_hyphen_in_a_role_is_warned_of_since_no_shell_reads_its_variable() -> None:
    pod = replica(1, address="${VC_TRAIN-GPT-2_0_HOSTS:=localhost}")
    warnings = [
        each
        for each in decide(pod, "train", PROFILES, world()).decisions
        if each.outcome is Outcome.WARNED
    ]
    [(reason, message)] = [(each.reason, each.message) for each in warnings]
    assert reason is Reason.DISAGREES
    assert message == (
        f"pod {pod['metadata']['name']}: container train-1 can never meet rank 0: a shell reads "
        "${VC_TRAIN-GPT-2_0_HOSTS:=localhost} as variable VC_TRAIN, which is not set, and takes the text 'GPT-2_0_HOSTS:=localhost' "
        "for the address; give the role a name without a hyphen"
    )
    cured = decide(add_env(pod, "VC_TRAIN", "train-0-0.train"), "train", PROFILES, world())
    plain = decide(replica(1), "train", PROFILES, world())
    assert Outcome.WARNED not in [each.outcome for each in (*cured.decisions, *plain.decisions)]


@pytest.mark.parametrize(
    "command",
    [
        "python client.py --server {}:80",
        "python client.py --master_addr={}",
        "torchrun t.py --master_addr={}",
        "echo MASTER_ADDRESS={}",
        "torchrun --rdzv_endpoint=db.{}:80 t.py",
        "torchrun --rdzv_id={} t.py",
    ],
)
def test_another_role_that_connects_to_role_zero_for_ends_of_its_own_does_not_wait_for_it(
    command: str,
) -> None:
    one = replica(0, role=1, command=command, address="${VC_TRAIN_0_HOSTS:=localhost}")
    assert member(one).reason is Reason.NO_PROCESS_GROUP


@pytest.mark.parametrize(
    "command",
    [
        "torchrun --rdzv-endpoint={}:29500 t.py",
        "export MASTER_ADDR={}; python t.py",
        'torchrun --master_addr "{}" t.py',
    ],
)
def test_another_role_that_meets_rank_zero_is_a_member(command: str) -> None:
    zero = replica(0, command=command)
    one = replica(0, role=1, command=command, address="${VC_TRAIN_0_HOSTS:=localhost}")
    assert are_master_and_worker(zero, one)


@pytest.mark.parametrize("lone", ["torchrun --standalone t.py", "torchrun --nnodes=1 t.py", RUN])
def test_another_role_waits_for_nobody_since_it_cannot_see_whether_role_zero_publishes(
    lone: str,
) -> None:
    zero = decide(replica(0, command=lone), "train", PROFILES, world())
    one = decide(
        replica(0, role=1, address="${VC_TRAIN_0_HOSTS:=localhost}"), "train", PROFILES, world()
    )
    assert wait.needs(one.pod) == []
    assert podspec.env_value(one.pod["spec"]["containers"][0], "NCCL_SOCKET_IFNAME"), (
        "it trains on the fabric all the same"
    )
    assert wait.needs(zero.pod) == (["master-addr:own", "local-addr:own"] if lone == RUN else [])


SPELLINGS = ["${}", "${{{}}}", "${{{}:-localhost}}", '"${}"']


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_role_zero_may_write_its_own_variable_as_it_likes(spelling: str) -> None:
    zero, one = (
        replica(number, address=spelling.format(name))
        for number, name in enumerate(("TORCHX_RANK0_HOST", "VC_TRAIN_0_HOSTS"))
    )
    assert are_master_and_worker(zero, one)


def test_a_program_that_finds_the_variables_name_in_its_environment_meets_rank_zero() -> None:
    names = ("TORCHX_RANK0_HOST", "VC_TRAIN_0_HOSTS")
    pods_ = [
        add_env(set_command(replica(number), "python", "t.py"), "RANK0_ENV", name)
        for number, name in enumerate(names)
    ]
    assert are_master_and_worker(*pods_)


@pytest.mark.parametrize("variable", ["DB_HOST", "VC_READER_NUM", "HOSTS"])
def test_a_default_of_the_users_own_is_no_address_of_rank_zero(variable: str) -> None:
    pod = replica(1, command="python t.py --store ${{" + variable + ":=localhost}}")
    assert member(pod).rendezvous is None
    pod = replica(1, command="export STORE=${{" + variable + ":=localhost}}; " + RUN)
    assert getattr(member(pod).rendezvous, "role", None) == "worker"


def test_a_variable_of_another_role_is_no_address_of_rank_zero() -> None:
    assert member(replica(1, address="$VC_READER_0_HOSTS")).rendezvous is None


def test_a_program_of_role_zero_that_is_told_the_variables_name_meets_rank_zero() -> None:
    zero = set_command(replica(0), "python", "-m", "main", "--rank0-env", "TORCHX_RANK0_HOST")
    one = set_command(replica(1), "python", "-m", "main", "--rank0-env", "VC_TRAIN_0_HOSTS")
    assert are_master_and_worker(zero, one)


def test_the_replica_counts_and_not_volcanos_task_index() -> None:
    pod = replica(7)
    pod["metadata"]["labels"]["volcano.sh/task-index"] = "0"
    found = member(pod).rendezvous
    assert found is not None
    assert found.role == "worker"
