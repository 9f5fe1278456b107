"""Rendezvous: which variables move, on whom, what stays as it is, and what the wait container waits for."""

from collections.abc import Callable
from typing import Any

import pytest

from tests import pods
from tests.core.builders import attachment, carry_out, outcomes, plan, profile
from tests.pods import add_env, drop_env, set_command
from webhook import __version__
from webhook.core import names
from webhook.core.injection import rendezvous, wait
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.profiles import INSTALLED
from webhook.core.profiles import RendezvousSettings as Settings
from webhook.core.profiles.grammar import Seconds, WaitImage
from webhook.core.workloads import TrainingPod, recognise

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
C10D = "torchrun --rdzv_backend=c10d --rdzv_endpoint=$(MASTER_ADDR):29500 --nnodes=2 train.py"


def load(name: str) -> Object:
    return pods.load(f"pods/{name}.yaml")


def run_in_shell(name: str, text: str) -> Object:
    return set_command(load(name), "bash", "-c", text)


def plan_for(pod: Object, container: int = 0, **tweaks: Any) -> Plan:
    found = recognise(pod)
    assert isinstance(found, TrainingPod)
    stays = (
        None
        if found.rendezvous
        else Decision("rendezvous", Outcome.SKIPPED, found.reason, found.message)
    )
    settings = {
        "training_pod": found,
        "rendezvous": found.rendezvous,
        "why_no_rendezvous": stays,
        **tweaks,
    }
    return plan(pod, attachment("default/rdma-net"), container=container, **settings)


def meet(pod: Object, **tweaks: Any) -> tuple[Object, list[Decision]]:
    return carry_out(rendezvous.inject, pod, plan_for(pod, **tweaks))


def environment(pod: Object, container: int = 0) -> dict[str, str]:
    """Return each variable as text; a published one as ``@master-addr``."""
    found = {}
    for entry in pod["spec"]["containers"][container].get("env") or []:
        path = entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath", "")
        assert not ("value" in entry and "valueFrom" in entry)
        found[entry["name"]] = (
            f"@{path.split('/')[1][:-2]}" if names.PREFIX in path else entry.get("value", "?")
        )
    return found


def waits_for(pod: Object) -> list[str]:
    found = [
        one
        for one in pod["spec"].get("initContainers") or []
        if one["name"] == names.WAIT_CONTAINER
    ]
    assert len(found) <= 1
    return found[0]["command"][4:] if found else []


@pytest.mark.parametrize(
    ("number", "expected", "needs"),
    [
        (
            0,
            {"TORCHX_RANK0_HOST": "localhost", "PET_LOCAL_ADDR": "@local-addr"},
            ["master-addr:own", "local-addr:own"],
        ),
        (1, {"VC_TRAIN_1_HOSTS": "?"}, ["master-addr"]),
    ],
)
def test_torchx_keeps_its_endpoint_and_training_scripts_see_the_address(
    number: int, expected: dict[str, str], needs: list[str]
) -> None:
    """c10d itself gives its training processes the address that rank 0 gives for its own."""
    before = load(f"volcano-pod-{number}")
    pod, decisions = meet(before)
    found = environment(pod)
    assert {**found, **expected} == found
    assert found["VC_TRAIN_0_HOSTS"] == "?", "the endpoint of c10d stays"
    assert found["MASTER_ADDR"] == "@master-addr"
    assert "PET_RDZV_CONF" not in found
    assert waits_for(pod) == needs
    assert outcomes(decisions) == [(Outcome.INJECTED, Reason.ADDED)]


SAME_ON_ALL = [
    ("kubeflow-pytorchjob-{}", ["MASTER_ADDR", "PET_MASTER_ADDR"]),
    ("kubeflow-trainer-{}", ["PET_MASTER_ADDR", "MASTER_ADDR"]),
    ("jobset-{}", ["MASTER_ADDR"]),
    ("indexed-job-{}", ["MASTER_ADDR"]),
    ("statefulset-{}", ["MASTER_ADDR"]),
    ("kubedl-pytorchjob-{}", ["MASTER_ADDR"]),
    ("torch-on-k8s-{}", ["MASTER_ADDR"]),
    ("volcano-pytorch-{}", ["MASTER_ADDR"]),
]


@pytest.mark.parametrize(("pattern", "variables"), SAME_ON_ALL, ids=[row[0] for row in SAME_ON_ALL])
def test_the_address_variables_are_the_same_on_all_ranks(
    pattern: str, variables: list[str]
) -> None:
    master, _ = meet(load(pattern.format(0)))
    worker, _ = meet(load(pattern.format(1)))
    for variable in variables:
        assert environment(master)[variable] == environment(worker)[variable] == "@master-addr"
    assert environment(master)["PET_LOCAL_ADDR"] == "@local-addr"
    assert "PET_LOCAL_ADDR" not in environment(worker)
    assert waits_for(worker) == ["master-addr"]


@pytest.mark.parametrize(("number", "who"), [(0, "rank 0"), (1, "a worker")])
def test_says_where_the_addresses_will_come_from(number: int, who: str) -> None:
    _, [decision] = meet(load(f"kubeflow-pytorchjob-{number}"))
    assert decision.message == (
        f"{who} of job bert-6025ea2866: its addresses come from net1 of default/rdma-net once Multus has given them"
    )


def test_says_who_meets_on_the_pod_network() -> None:
    first = add_env(
        drop_env(load("volcano-pytorch-1"), "MASTER_ADDR"), "MASTER_ADDR", "bert-0.other"
    )
    _, [decision] = meet(first)
    assert decision.message == (
        "the first pod of its role of job bert-02ad774e66 meets on the pod network and trains on net1 of default/rdma-net: it waits "
        "for no address"
    )


C10D_PODS = ["kubeflow-pytorchjob-{}", "volcano-pytorch-{}", "indexed-job-{}"]


@pytest.mark.parametrize("in_shell", [False, True], ids=["plain", "sh-c"])
@pytest.mark.parametrize("pattern", C10D_PODS)
def test_a_c10d_endpoint_keeps_the_name_of_the_pod_that_hosts_it(
    pattern: str, in_shell: bool
) -> None:
    command = (
        ("sh", "-c", C10D.replace("$(MASTER_ADDR)", "$MASTER_ADDR"))
        if in_shell
        else tuple(C10D.split())
    )
    master, decisions = meet(set_command(load(pattern.format(0)), *command))
    worker, _ = meet(set_command(load(pattern.format(1)), *command))
    assert (
        environment(master)["MASTER_ADDR"] == environment(worker)["MASTER_ADDR"] != "@master-addr"
    )
    assert environment(master)["PET_LOCAL_ADDR"] == "@local-addr"
    assert (Outcome.KEPT, Reason.KEEPS_NAME) in outcomes(decisions)


def with_source(pod: Object, name: str, source: Object) -> Object:
    pod["spec"]["containers"][0]["env"].append({"name": name, "valueFrom": source})
    return pod


ACCELERATE = ("accelerate", "launch", "--num_machines=2", "--main_process_ip=$(MASTER_ADDR)")
OTHER_USES = [
    '[ "$POD_NAME" = "${MASTER_ADDR%%.*}" ] && export RANK=0; torchrun t.py',
    "[[ $MASTER_ADDR == $POD_NAME.* ]] && R=0; torchrun t.py",
    'R=${MASTER_ADDR%%.*}; [ "$HOSTNAME" = "$R" ] && export NODE_RANK=0; torchrun t.py',
    "case $MASTER_ADDR in $HOSTNAME*) R=0 ;; esac; torchrun t.py",
    "echo $MASTER_ADDR | grep -q ^$HOSTNAME && R=0; torchrun t.py",
    'until nslookup "$MASTER_ADDR"; do sleep 1; done; torchrun t.py',
    "H=$MASTER_ADDR; nslookup $H; torchrun t.py",
    "for h in $MASTER_ADDR; do drill $h; done; torchrun t.py",
    "IP=$(getent hosts ${MASTER_ADDR} | cut -d' ' -f1); torchrun t.py",
    "eval echo \\$MASTER_ADDR; torchrun t.py",
    "export MASTER_ADDR=$(hostname -i); torchrun t.py",
    "torchrun t.py --master_addr $MASTER_ADDR",
    "mpirun -x MASTER_ADDR t",
    "torchrun --rdzv_backend=c10d --rdzv_endpoint ${MASTER_ADDR}:29500 t.py",
    "python -c 'import os; print(os.environ[\"MASTER_ADDR\"])'",
    "bash -c \"ping -c1 '$MASTER_ADDR'\"; torchrun t.py",
    "torchrun --master_addr $MASTER_ADDR t.py; nslookup ${MASTER_ADDR}",
    "echo 'unbalanced; torchrun --master_addr $MASTER_ADDR",
]


@pytest.mark.parametrize("text", OTHER_USES)
@pytest.mark.parametrize("number", [0, 1])
def test_a_variable_with_another_use_keeps_its_name(number: int, text: str) -> None:
    before = set_command(
        drop_env(load(f"kubeflow-pytorchjob-{number}"), "PET_MASTER_ADDR"), "sh", "-c", text
    )
    pod, decisions = meet(before)
    assert environment(pod)["MASTER_ADDR"] == "bert-master-0"
    assert pod["spec"]["containers"][0]["command"] == before["spec"]["containers"][0]["command"]
    assert waits_for(pod) == (["local-addr:own"] if number == 0 else [])
    assert decisions[-1].message == "keeps the name of rank 0: " + (
        "torchrun in container pytorch meets by c10d, whose store lives in the pod of that name"
        if "c10d" in text
        else "the command of container pytorch does more with MASTER_ADDR than to give it to a torch launcher"
    )


LAUNCHERS = [
    "torchrun --nnodes=2 --master_addr $MASTER_ADDR --master_port $MASTER_PORT t.py",
    "exec torchrun --nnodes 2 --master-addr=${MASTER_ADDR} t.py --lr 1",
    'cd /work && python3 -m torch.distributed.run --master_addr "$MASTER_ADDR" \\\n  t.py 2>&1',
    "python -m torch.distributed.launch --master_addr=$MASTER_ADDR t.py",
    "srun bash -c 'torchrun --master_addr $MASTER_ADDR t.py'",
    "accelerate launch --multi_gpu --main_process_ip $MASTER_ADDR t.py",
    "deepspeed --master_addr=$MASTER_ADDR t.py",
    "torchrun t.py  # torchrun --nnodes=1 --master_addr $MASTER_ADDR | nslookup",
    "python t.py --standalone-eval --url redis://localhost:0",
    "/opt/train.sh",
]


@pytest.mark.parametrize("text", LAUNCHERS)
@pytest.mark.parametrize("number", [0, 1])
def test_a_variable_that_only_a_torch_launcher_takes_moves(number: int, text: str) -> None:
    before = run_in_shell(f"kubeflow-pytorchjob-{number}", text)
    pod, _ = meet(before)
    assert environment(pod)["MASTER_ADDR"] == environment(pod)["PET_MASTER_ADDR"] == "@master-addr"
    assert pod["spec"]["containers"][0]["command"] == before["spec"]["containers"][0]["command"]


def test_an_endpoint_of_a_static_rendezvous_takes_the_form_for_before_a_port() -> None:
    command = [
        "torchrun",
        "--rdzv_backend",
        "static",
        "--rdzv_endpoint=$(MASTER_ADDR):29500",
        "t.py",
    ]
    pod, _ = meet(set_command(load("kubeflow-pytorchjob-1"), *command))
    assert environment(pod)["MASTER_ADDR"] == "@master-host"


@pytest.mark.parametrize(
    "command",
    [
        ["bash", "/opt/train.sh"],
        ["./run.sh"],
        [],
        ["sh", "-c", "source env.sh; torchrun t.py"],
        ["python", "launch.py"],
    ],
)
def test_what_cannot_be_seen_keeps_the_name_where_no_operator_wrote_the_variable(
    command: list[str],
) -> None:
    """A script may compare, cut or bind to it; an operator's own variable is read as an address, as its users expect."""
    pod, decisions = meet(set_command(load("jobset-1"), *command))
    assert environment(pod)["MASTER_ADDR"] == "ddp-workers-0-0.ddp"
    assert decisions[-1].message == (
        "keeps the name of rank 0: what container pytorch runs, and does with MASTER_ADDR, is not written in the pod"
    )


@pytest.mark.parametrize(
    ("given", "of_profile", "expected"),
    [
        (None, "", "is_host=1"),
        (None, "join_timeout=1800", "join_timeout=1800,is_host=1"),
        ("timeout=60", "join_timeout=1800", "timeout=60,is_host=1"),
        ("timeout=9,is_host=0", "", "timeout=9,is_host=0"),
        (None, "is_host=0", None),  # the step of the environment writes the profile's own
    ],
)
def test_rank_zero_hosts_the_store_that_a_script_out_of_sight_may_put_at_its_address(
    given: str | None, of_profile: str, expected: str | None
) -> None:
    """No torchrun takes a secondary address for its own: with c10d at MASTER_ADDR nobody would host the store."""
    using = profile(env={"PET_RDZV_CONF": of_profile} if of_profile else {})
    before = set_command(load("kubeflow-pytorchjob-0"), "bash", "/opt/train.sh")
    if given is not None:
        add_env(before, "PET_RDZV_CONF", given)
    pod, _ = meet(before, profile=using)
    assert environment(pod)["MASTER_ADDR"] == "@master-addr"
    assert environment(pod).get("PET_RDZV_CONF") == expected
    assert meet(pod, profile=using)[0] == pod
    worker = set_command(load("kubeflow-pytorchjob-1"), "bash", "/opt/train.sh")
    assert "PET_RDZV_CONF" not in environment(meet(worker)[0])


@pytest.mark.parametrize(
    ("pattern", "command", "expected"),
    [
        ("kubeflow-pytorchjob", "python launch.py", "is_host=1"),
        ("kubeflow-pytorchjob", "torchrun t.py", "is_host=1"),
        ("kubedl-pytorchjob", "torchrun t.py", "is_host=1"),
        ("torch-on-k8s", "torchrun t.py", "is_host=1"),
        ("kubeflow-pytorchjob", "torchrun --rdzv_backend=c10d --rdzv_endpoint=store:1 t.py", None),
        ("volcano-pytorch", "torchrun t.py", None),
        ("volcano-pytorch", "python launch.py", "is_host=1"),
    ],
)
def test_rank_zero_of_a_torch_job_hosts_the_store_unless_another_pod_does(
    pattern: str, command: str, expected: str | None
) -> None:
    before = set_command(load(f"{pattern}-0"), *command.split())
    pod, _ = meet(before)
    assert environment(pod)["MASTER_ADDR"] == "@master-addr"
    assert environment(pod).get("PET_RDZV_CONF") == expected


IN_LOOPS = [
    "until torchrun --nnodes=2 --master_addr $MASTER_ADDR t.py; do sleep 5; done",
    "while true; do torchrun --nnodes=2 t.py && break; sleep 5; done",
    "for try in 1 2 3; do python t.py && exit 0; done",
]


@pytest.mark.parametrize("text", IN_LOOPS)
@pytest.mark.parametrize("pattern", ["jobset-{}", "indexed-job-{}", "statefulset-{}"])
def test_a_loop_that_starts_the_ranks_again_keeps_the_name(pattern: str, text: str) -> None:
    """A name finds a rank 0 that was created anew; a variable would hold the dead address as long as the container runs."""
    before = run_in_shell(pattern.format(1), text)
    pod, decisions = meet(before)
    assert environment(pod)["MASTER_ADDR"] == environment(before)["MASTER_ADDR"]
    assert waits_for(pod) == []
    assert (
        "starts its ranks in a loop, where MASTER_ADDR would hold the address of a rank 0 that is gone"
        in decisions[-1].message
    )
    own = add_env(run_in_shell(pattern.format(1), text.replace("MASTER_ADDR", "HEAD")), "HEAD", "")
    own["spec"]["containers"][0]["env"][-1]["value"] = environment(before)["MASTER_ADDR"]
    assert environment(meet(own)[0])["HEAD"] == environment(before)["MASTER_ADDR"]
    operators = run_in_shell("kubeflow-pytorchjob-1", text)
    assert (
        environment(meet(operators)[0])["PET_MASTER_ADDR"]
        == environment(operators)["PET_MASTER_ADDR"]
    )


ADDED_IN_LOOPS = [
    "until python train.py --head ${VC_TRAIN_0_HOSTS:=localhost}; do sleep 5; done",
    "while ! torchrun --rdzv_backend c10d --rdzv_endpoint ${VC_TRAIN_0_HOSTS:=localhost}:29500 --nnodes 2 t.py; do :; done",
]


@pytest.mark.parametrize("text", ADDED_IN_LOOPS)
def test_none_is_added_either_where_a_loop_starts_the_ranks_again(text: str) -> None:
    pod, decisions = meet(run_in_shell("volcano-pod-1", text))
    assert "MASTER_ADDR" not in environment(pod)
    assert waits_for(pod) == []
    assert decisions[-1].message == (
        "keeps the name of rank 0: container train-1 starts its ranks in a loop, where MASTER_ADDR would hold the address of a rank 0 "
        "that is gone"
    )
    trainjob = run_in_shell("kubeflow-trainer-1", "until torchrun t.py; do sleep 5; done")
    assert environment(meet(trainjob)[0]) == environment(trainjob)


STATIC = [
    "torchrun --nnodes 2 --node_rank 1 --master_addr {} t.py",
    "torchrun --nnodes 2 --node_rank 1 --rdzv_endpoint {}:29500 t.py",
    "torchrun --nnodes 2 --node_rank 1 --rdzv-backend=static --rdzv-endpoint={}:29500 t.py",
    "torchrun --standalone prepare.py && python -m torch.distributed.launch --nnodes=2 --master_addr={} t.py",
    "accelerate launch --num_machines 2 --main_process_ip {} t.py",
    "deepspeed --no_ssh --node_rank=1 --master_addr={} t.py",
]


@pytest.mark.parametrize("text", STATIC)
@pytest.mark.parametrize("number", [0, 1])
def test_beside_a_static_endpoint_nothing_is_added_and_nobody_waits(number: int, text: str) -> None:
    """Torch gives its ranks the endpoint's host as MASTER_ADDR, whatever stands in the container."""
    host = ("${TORCHX_RANK0_HOST:=localhost}", "${VC_TRAIN_0_HOSTS:=localhost}")[number]
    before = run_in_shell(f"volcano-pod-{number}", text.format(host))
    pod, decisions = meet(before)
    assert pod == before
    who, found = ("rank 0", "a worker")[number], plan_for(before).rendezvous
    assert found is not None
    assert [decision.message for decision in decisions] == [
        f"{who} of job {found.job} meets on the pod network and trains on net1 of default/rdma-net: it waits for no address",
        f"keeps the name of rank 0: torch meets at the static endpoint that the command of container train-{number} names",
    ]


NOT_STATIC: dict[str, tuple[str, dict[str, str]]] = {
    "c10d": ("torchrun --rdzv_backend c10d --rdzv_endpoint {} --nnodes 2 t.py", {}),
    "c10d-by-variable": (
        "torchrun --rdzv_endpoint {} --nnodes 2 t.py",
        {"PET_RDZV_BACKEND": "c10d"},
    ),
    "c10d-outweighs-the-address": (
        "torchrun --rdzv_backend c10d --rdzv_endpoint {} --master_addr x t.py",
        {},
    ),
    "before-the-real-one": (
        "torchrun --rdzv_endpoint localhost:0 a.py; torchrun --rdzv_backend c10d --rdzv_endpoint {} --nnodes 2 t.py",
        {},
    ),
    "options-not-seen": ("torchrun --nnodes 2 --rdzv_endpoint {} $OPTIONS t.py", {}),
    "of-the-script": ("torchrun --nnodes 2 $X t.py --master_addr {}", {}),
    "no-launcher": ("python t.py --master_addr {}", {}),
}


@pytest.mark.parametrize(("text", "more"), NOT_STATIC.values(), ids=NOT_STATIC)
def test_beside_any_other_endpoint_training_scripts_see_the_address(
    text: str, more: dict[str, str]
) -> None:
    for number, host in enumerate(
        ("${TORCHX_RANK0_HOST:=localhost}", "${VC_TRAIN_0_HOSTS:=localhost}")
    ):
        before = run_in_shell(f"volcano-pod-{number}", text.format(host))
        for name, value in more.items():
            add_env(before, name, value)
        pod, _ = meet(before)
        assert environment(pod)["MASTER_ADDR"] == "@master-addr"
        assert waits_for(pod) == [["master-addr:own", "local-addr:own"], ["master-addr"]][number]
        assert meet(pod)[0] == pod


def test_a_static_endpoint_that_moves_itself_changes_nothing() -> None:
    text = "torchrun --nnodes 2 --master_addr=$PET_MASTER_ADDR t.py"
    pod, _ = meet(run_in_shell("kubeflow-trainer-0", text))
    found = environment(pod)
    assert found["PET_MASTER_ADDR"] == found["MASTER_ADDR"] == "@master-addr"
    assert found["PET_LOCAL_ADDR"] == "@local-addr"


def test_rank_zero_keeps_its_name_where_the_profile_says_so() -> None:
    by_name = profile(rendezvous=Settings(rank_zero="name"))
    pod, decisions = meet(load("kubeflow-pytorchjob-0"), profile=by_name)
    worker, _ = meet(load("kubeflow-pytorchjob-1"), profile=by_name)
    assert environment(pod)["MASTER_ADDR"] == "bert-master-0"
    assert decisions[-1].message == "keeps the name of rank 0: profile rdma says rankZero: name"
    assert environment(worker)["MASTER_ADDR"] == "@master-addr"


OWN_LOCAL: dict[str, Callable[[Object], Object]] = {
    "variable": lambda pod: add_env(pod, "PET_LOCAL_ADDR", "192.168.7.7"),
    "flag": lambda pod: set_command(pod, "torchrun", "--local-addr", "192.168.7.7", "train.py"),
    "flag-with-underscore": lambda pod: set_command(
        pod, "sh", "-c", "torchrun --local_addr=192.168.7.7 train.py"
    ),
}


@pytest.mark.parametrize("change", OWN_LOCAL.values(), ids=OWN_LOCAL)
def test_a_users_own_local_address_is_respected(change: Callable[[Object], Object]) -> None:
    pod, _ = meet(change(load("kubeflow-pytorchjob-0")))
    assert environment(pod).get("PET_LOCAL_ADDR") in (None, "192.168.7.7")
    assert waits_for(pod) == ["master-addr:own"]


def elastic(number: int) -> Object:
    pod = drop_env(load("kubeflow-pytorchjob-1"), "MASTER_ADDR", "PET_MASTER_ADDR", "PET_NNODES")
    pod["metadata"]["name"] = f"bert-worker-{number}"
    if number == 0:
        pod["metadata"]["labels"]["training.kubeflow.org/job-role"] = "master"
    add_env(pod, "PET_NNODES", "1:3")
    return add_env(pod, "PET_RDZV_ENDPOINT", "bert-worker-0:29400")


def test_an_elastic_pytorchjob_keeps_its_endpoint_and_tells_scripts_the_address() -> None:
    zero, one = meet(elastic(0))[0], meet(elastic(1))[0]
    for pod in (zero, one):
        assert environment(pod)["PET_RDZV_ENDPOINT"] == "bert-worker-0:29400"
        assert environment(pod)["MASTER_ADDR"] == "@master-addr"
    assert environment(zero)["PET_LOCAL_ADDR"] == "@local-addr"
    assert waits_for(one) == ["master-addr"]


def test_with_a_master_and_elastic_policy_the_other_address_stays() -> None:
    pod = add_env(load("kubeflow-pytorchjob-1"), "PET_RDZV_ENDPOINT", "bert-worker-0:29400")
    pod["metadata"]["name"] = "bert-worker-1"
    found = environment(meet(pod)[0])
    assert found["MASTER_ADDR"] == found["PET_MASTER_ADDR"] == "bert-master-0"


COMMANDS = [
    ["tune", "run", "--rdzv_endpoint=llama-node-0-0.llama:29500", "x"],
    ["sh", "-c", "torchrun --master_addr llama-node-0-0.llama x"],
    ["bash", "-c", "(cd / && python t.py --master_addr llama-node-0-0.llama)"],
    ["bash", "-c", "x=$(echo --master_addr=llama-node-0-0.llama); torchrun $x"],
    ["bash", "-c", "torchrun --master_addr=llama-node-0-0.llama\\\n t.py"],
    ["bash", "-c", "export MASTER_ADDR=llama-node-0-0.llama; python t.py"],
]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_and_arguments_are_never_changed(command: list[str]) -> None:
    for key in ("command", "args"):
        before = load("kubeflow-trainer-1")
        container = before["spec"]["containers"][0]
        container.pop("command", None)
        container[key] = command
        pod, _ = meet(before)
        assert pod["spec"]["containers"][0][key] == command


def test_every_occurrence_in_every_container_moves() -> None:
    before = add_env(load("kubeflow-pytorchjob-1"), "MASTER_ADDR", "bert-master-0")
    sidecar = {
        "name": "monitor",
        "image": "registry.example.com/monitor:1",
        "env": [{"name": "MASTER_ADDR", "value": "bert-master-0"}],
    }
    before["spec"]["containers"].append(sidecar)
    pod, _ = meet(before)
    entries = [
        entry
        for one in pod["spec"]["containers"]
        for entry in one["env"]
        if entry["name"] == "MASTER_ADDR"
    ]
    assert len(entries) == 3
    assert all("valueFrom" in entry and "value" not in entry for entry in entries)
    assert pod["spec"]["initContainers"][0] == before["spec"]["initContainers"][0]


def test_a_variable_that_another_is_made_of_keeps_its_name() -> None:
    before = add_env(load("lws-1"), "MASTER_ADDR", "$(LWS_LEADER_ADDRESS)")
    add_env(before, "ENDPOINT", "$(MASTER_ADDR):29500")
    found = environment(meet(before)[0])
    assert found["MASTER_ADDR"] == "$(LWS_LEADER_ADDRESS)"
    assert found["LWS_LEADER_ADDRESS"] == "mnmt-0.mnmt.train"


def test_the_variable_of_a_leader_stays_but_where_a_torch_launcher_alone_takes_it() -> None:
    pod = set_command(load("lws-1"), "sglang", "--dist-init-addr=$(LWS_LEADER_ADDRESS):5000")
    assert environment(meet(pod)[0])["LWS_LEADER_ADDRESS"] == "mnmt-0.mnmt.train"
    assert waits_for(meet(pod)[0]) == []
    command = ["torchrun", "--nnodes=2", "--master_addr=$(LWS_LEADER_ADDRESS)", "t.py"]
    assert environment(meet(set_command(pod, *command))[0])["LWS_LEADER_ADDRESS"] == "@master-addr"


def test_an_address_made_of_the_pods_own_labels_moves() -> None:
    before = drop_env(load("jobset-1"), "MASTER_ADDR")
    path = "metadata.labels['jobset.sigs.k8s.io/jobset-name']"
    with_source(before, "JOBSET", {"fieldRef": {"apiVersion": "v1", "fieldPath": path}})
    add_env(before, "MASTER_ADDR", "$(JOBSET)-workers-0-0.$(JOBSET)")
    assert environment(meet(before)[0])["MASTER_ADDR"] == "@master-addr"


def test_every_member_gives_its_own_address_where_names_could_sort_first() -> None:
    pod, _ = meet(load("kubeflow-pytorchjob-1"), local_address_everywhere=True)
    assert environment(pod)["PET_LOCAL_ADDR"] == "@local-addr"
    assert waits_for(pod) == ["master-addr", "local-addr:own"]


def test_the_wait_container_is_last_once_and_never_moved() -> None:
    pod, _ = meet(load("kubeflow-pytorchjob-1"))
    assert [one["name"] for one in pod["spec"]["initContainers"]] == [
        "init-pytorch",
        names.WAIT_CONTAINER,
    ]
    pod["spec"]["initContainers"].append({"name": "late", "image": "registry.example.com/late:1"})
    again, decisions = meet(pod)
    assert [one["name"] for one in again["spec"]["initContainers"]] == [
        "init-pytorch",
        names.WAIT_CONTAINER,
        "late",
    ]
    assert outcomes(decisions) == [(Outcome.KEPT, Reason.ALREADY_THERE)]


def test_another_injectors_container_is_served_on_the_second_pass() -> None:
    pod, _ = meet(load("torch-on-k8s-1"))
    env = [{"name": "MASTER_ADDR", "value": "bert-master-0"}]
    pod["spec"]["containers"].insert(
        0, {"name": "proxy", "image": "registry.example.com/proxy:1", "env": env}
    )
    again, _ = meet(pod, container=1)
    assert environment(again, 0)["MASTER_ADDR"] == "@master-addr"
    assert [one["name"] for one in again["spec"]["initContainers"]] == [names.WAIT_CONTAINER]


def wait_container(before: Object, **tweaks: Any) -> Object:
    pod, _ = meet(before, **tweaks)
    [found] = [one for one in pod["spec"]["initContainers"] if one["name"] == names.WAIT_CONTAINER]
    return dict(found)


def test_the_wait_container_asks_for_no_device() -> None:
    before = load("kubeflow-pytorchjob-1")
    same = {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": "8", "rdma/hca": "1"}
    before["spec"]["containers"][0]["resources"] = {"limits": same, "requests": dict(same)}
    found = wait_container(before)
    expected = {"cpu": "64", "memory": "256Gi"}
    assert found["resources"] == {"limits": expected, "requests": expected}
    assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"} in found["env"]
    assert found["image"] == before["spec"]["containers"][0]["image"]
    assert found["imagePullPolicy"] == "IfNotPresent"


@pytest.mark.parametrize(
    "resources",
    [
        pytest.param(
            {"limits": {"cpu": "4", "memory": "1Gi"}, "requests": {"cpu": "1"}}, id="burstable"
        ),
        pytest.param({"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}, id="no-memory"),
        pytest.param({"requests": {"cpu": "2", "memory": "1Gi"}}, id="no-limits"),
        pytest.param(
            {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}},
            id="guaranteed",
        ),
        pytest.param({"limits": {"cpu": 2, "memory": "1Gi"}}, id="guaranteed-by-default"),
        pytest.param({"limits": {"cpu": "many", "memory": "1Gi"}}, id="not-a-quantity"),
        pytest.param(
            {"limits": {"ephemeral-storage": "8Gi"}, "requests": {"ephemeral-storage": "1Gi"}},
            id="storage",
        ),
    ],
)
def test_the_wait_container_asks_for_as_much_as_the_training_container(resources: Object) -> None:
    """A LimitRange with a ratio or a minimum that takes the training container takes the wait container too."""
    before = load("kubeflow-pytorchjob-1")
    before["spec"]["containers"][0]["resources"] = resources
    assert wait_container(before)["resources"] == resources


def test_the_wait_container_leaves_nothing_to_add_for_the_service_account_plugin() -> None:
    """The plugin mounts a token where a container mounts nothing at its path, and the API server then calls the webhook again."""
    found = wait_container(load("kubeflow-pytorchjob-1"))
    [there] = [mount for mount in found["volumeMounts"] if mount["mountPath"] == TOKEN_PATH]
    assert there == {"name": names.WAIT_VOLUME, "mountPath": TOKEN_PATH, "readOnly": True}


def test_a_wait_container_that_holds_a_token_keeps_it() -> None:
    """As in a manifest that was saved from a pod of an earlier release: two mounts at one path are not valid."""
    before, _ = meet(load("kubeflow-pytorchjob-1"))
    [mounts] = [
        one["volumeMounts"]
        for one in before["spec"]["initContainers"]
        if one["name"] == names.WAIT_CONTAINER
    ]
    token = {"name": "kube-api-access-x", "mountPath": TOKEN_PATH, "readOnly": True}
    mounts[-1] = token
    assert wait_container(before)["volumeMounts"] == mounts


def test_a_file_that_another_adds_to_the_volume_of_the_wait_container_stays() -> None:
    before, _ = meet(load("kubeflow-pytorchjob-1"))
    [volume] = [one for one in before["spec"]["volumes"] if one["name"] == names.WAIT_VOLUME]
    volume["downwardAPI"]["items"].append(
        {"path": "uid", "fieldRef": {"fieldPath": "metadata.uid"}}
    )
    mount = {"name": names.WAIT_VOLUME, "mountPath": "/their"}
    before["spec"]["containers"][0].setdefault("volumeMounts", []).append(mount)
    assert meet(before)[0] == before


def test_a_volume_that_the_wait_container_alone_mounts_is_made_that_of_the_addresses() -> None:
    before, _ = meet(load("kubeflow-pytorchjob-1"))
    [volume] = [one for one in before["spec"]["volumes"] if one["name"] == names.WAIT_VOLUME]
    files = volume.pop("downwardAPI")
    volume["emptyDir"] = {}
    after, _ = meet(before)
    assert {"name": names.WAIT_VOLUME, "downwardAPI": files} in after["spec"]["volumes"]


def test_the_wait_container_passes_restricted_where_the_training_container_does() -> None:
    before = load("kubeflow-pytorchjob-1")
    before["spec"]["containers"][0]["securityContext"] = {
        "runAsUser": 1000,
        "runAsNonRoot": True,
        "privileged": True,
        "seccompProfile": {"type": "RuntimeDefault"},
        "capabilities": {"add": ["IPC_LOCK"]},
    }
    assert wait_container(before)["securityContext"] == {
        "runAsUser": 1000,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_a_profile_may_give_the_wait_an_image_of_its_own() -> None:
    settings = Settings(
        wait_image=WaitImage("registry.example.com/busybox:1"), timeout_seconds=Seconds(90)
    )
    found = wait_container(load("kubeflow-pytorchjob-1"), profile=profile(rendezvous=settings))
    assert found["image"] == "registry.example.com/busybox:1"
    assert "imagePullPolicy" not in found
    assert {"name": "FABRIC_INJECTOR_TIMEOUT", "value": "90"} in found["env"]


def test_our_own_image_waits_without_a_shell() -> None:
    settings = profile(rendezvous=Settings(wait_image=WaitImage(INSTALLED)))
    before = load("kubeflow-pytorchjob-1")
    before["spec"]["containers"][0]["imagePullPolicy"] = "Never"
    pod, _ = meet(before, profile=settings, own_image="registry.example.com/fabric-injector:1")
    found = pod["spec"]["initContainers"][-1]
    assert (found["image"], found["command"]) == (
        "registry.example.com/fabric-injector:1",
        ["fabric-injector", "wait", "master-addr"],
    )
    assert "imagePullPolicy" not in found, "that one is for the image of the training container"
    assert wait.needs(pod) == ["master-addr"]
    unknown, decisions = meet(pod, profile=settings)
    assert unknown == pod, "a dry run, which does not know the image, finds nothing to change"
    assert outcomes(decisions) == [(Outcome.KEPT, Reason.ALREADY_THERE)]
    assert wait_container(before, profile=settings)["image"] == f"fabric-injector:{__version__}"


def test_the_script_travels_whole() -> None:
    found = wait_container(load("kubeflow-pytorchjob-1"))
    assert found["command"][:4] == ["sh", "-c", wait.script(), names.WAIT_CONTAINER]


def test_without_rendezvous_nothing_changes_and_the_reason_is_told() -> None:
    before = load("mpijob-worker-0")
    pod, decisions = meet(before)
    assert pod == before
    assert outcomes(decisions) == [(Outcome.SKIPPED, Reason.NO_PROCESS_GROUP)]


LONG = {
    "tests": "[" * 300_000 + "] hostname MASTER_ADDR",
    "assignments": "MASTER_ADDR=bert-master-0;" * 12_000,
    "look-ups": "nslookup $MASTER_ADDR;" * 13_000,
    "options": "--master_addr " * 20_000,
    "nested-defaults": "${A:-" * 60_000 + ":",
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_very_long_command_costs_no_more_than_its_length(text: str) -> None:
    """A search that went back for each of its starts would take minutes here."""
    pod, decisions = meet(run_in_shell("kubeflow-pytorchjob-0", text + "; torchrun t.py"))
    assert environment(pod)["PET_LOCAL_ADDR"] == "@local-addr"
    assert environment(pod)["MASTER_ADDR"] == (
        "@master-addr" if "MASTER_ADDR" not in text else "bert-master-0"
    )
    assert decisions[0].outcome is Outcome.INJECTED


def test_accelerate_with_a_static_rendezvous_moves_on_rank_zero_too() -> None:
    pod, _ = meet(
        set_command(load("kubeflow-pytorchjob-0"), *ACCELERATE, "--machine_rank=0", "t.py")
    )
    assert environment(pod)["MASTER_ADDR"] == "@master-addr"


def test_a_variable_of_any_name_that_an_option_takes_moves() -> None:
    pod = drop_env(load("statefulset-1"), "MASTER_ADDR", "MASTER_PORT")
    add_env(
        set_command(pod, "torchrun", "--rdzv_endpoint=$(HEAD):29500", "t.py"), "HEAD", "ddp-0.ddp"
    )
    assert environment(meet(pod)[0])["HEAD"] == "@master-host"


def test_a_name_of_which_a_part_is_hidden_stays() -> None:
    """If rank 0 never comes, its name is published in place of the address: it must be known whole."""
    pod = drop_env(load("kubeflow-pytorchjob-1"), "MASTER_ADDR", "PET_MASTER_ADDR")
    with_source(pod, "DOMAIN", {"configMapKeyRef": {"name": "cluster", "key": "domain"}})
    add_env(pod, "MASTER_ADDR", "bert-master-0.$(DOMAIN)")
    result, _ = meet(pod)
    assert environment(result)["MASTER_ADDR"] == "bert-master-0.$(DOMAIN)"
    assert waits_for(result) == []


SCRIPTS = [
    "/scripts/wait-dns.sh && torchrun --nnodes=2 --master_addr=$MASTER_ADDR t.py",
    "export NODE_RANK=$(/scripts/rank.sh); torchrun --master_addr=$MASTER_ADDR t.py",
    "source env.sh; torchrun --master_addr=$MASTER_ADDR t.py",
]


@pytest.mark.parametrize("text", SCRIPTS)
def test_a_script_beside_the_launcher_may_do_anything_with_the_name(text: str) -> None:
    pod, decisions = meet(run_in_shell("jobset-1", text))
    assert environment(pod)["MASTER_ADDR"] == "ddp-workers-0-0.ddp"
    assert decisions[-1].message == (
        "keeps the name of rank 0: what else container pytorch runs, and does with MASTER_ADDR, is not written in the pod"
    )


def test_a_text_in_a_variable_that_a_shell_evaluates_counts() -> None:
    pod = run_in_shell("kubeflow-pytorchjob-1", 'eval "$PRE"; torchrun t.py')
    result, _ = meet(add_env(pod, "PRE", "until nslookup $MASTER_ADDR; do sleep 1; done"))
    assert environment(result)["MASTER_ADDR"] == "bert-master-0"


@pytest.mark.parametrize(
    ("variable", "command"),
    [
        (
            {
                "name": "PET_RDZV_BACKEND",
                "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}},
            },
            "torchrun",
        ),
        ({"name": "X", "value": "1"}, "export PET_RDZV_BACKEND=c10d; torchrun"),
    ],
)
def test_an_endpoint_of_a_backend_that_is_not_known_stays(variable: Object, command: str) -> None:
    pod = run_in_shell("statefulset-1", command + " --rdzv_endpoint=$MASTER_ADDR:29500 t.py")
    pod["spec"]["containers"][0]["env"].append(variable)
    assert environment(meet(pod)[0])["MASTER_ADDR"] == "ddp-0.ddp"


@pytest.mark.parametrize("own", ["127.0.0.1", "localhost"])
def test_a_rank_zero_that_also_calls_itself_local_is_known_by_its_name_to_a_later_pass(
    own: str,
) -> None:
    pod = drop_env(load("statefulset-0"), "MASTER_ADDR")
    add_env(add_env(pod, "MASTER_ADDR", "ddp-0.ddp.train"), "INIT_METHOD", f"tcp://{own}:29500")
    once, _ = meet(pod)
    assert environment(once)[names.ENV_MASTER_NAME] == "ddp-0.ddp.train"
    again, _ = meet(once)
    assert again == once
    first, second = plan_for(pod).rendezvous, plan_for(once).rendezvous
    assert first is not None
    assert second is not None
    assert second.job == first.job


def test_a_later_pass_knows_that_rank_zero_has_moved_also_where_master_addr_is_empty() -> None:
    pod = load("kubeflow-pytorchjob-0")
    for entry in pod["spec"]["containers"][0]["env"]:
        if entry["name"] == "MASTER_ADDR":
            del entry["value"]
    once, _ = meet(pod)
    again, _ = meet(once)
    assert again == once
    assert "master-addr:own" in once["spec"]["initContainers"][0]["command"]
