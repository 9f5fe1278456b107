"""Launchers: what is started, on how many nodes, and what a container's own texts do with an address variable."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.workloads.read_by_torch import COMMANDS
from webhook.core.model import Object
from webhook.core.workloads.launchers import (
    Use,
    given_addresses,
    given_variables,
    is_in_sight,
    meets_by,
    run_on_one_node,
    runs_again,
    shows_launcher,
    shows_torch_launcher,
    use_of,
)


def running(text: str, **rest: Any) -> Object:
    return {"name": "main", "command": ["bash", "-c", text], **rest}


TORCH = [
    "torchrun t.py",
    "exec /opt/conda/bin/torchrun t.py",
    "python3 -m torch.distributed.run t.py",
    "python -u -m torch.distributed.launch --use-env t.py",
    "cd /src && PYTHONPATH=. accelerate launch t.py",
    "deepspeed --hostfile h t.py",
    "uv run torchrun t.py",
    "conda run --no-capture-output -n base accelerate launch t.py",
    "srun bash -c 'torchrun t.py'",
    "if [ $RANK = 0 ]; then torchrun t.py; fi",
]
NONE = [
    "python t.py",
    "accelerate config default",
    "# torchrun t.py",
    "nginx -g 'daemon off;'",
    "python torch.distributed.run",
    "echo 'torchrun t.py",
    "pip install transformers accelerate && python serve.py",
    "uv pip install accelerate && uv run python serve.py",
    "cd /opt/accelerate; python serve.py",
    "python3 -m pip install deepspeed; exec python serve.py",
    "git clone https://example.com/accelerate; ls accelerate",
    "",
]


@pytest.mark.parametrize("text", TORCH)
def test_sees_the_launchers_of_torch(text: str) -> None:
    assert shows_torch_launcher(running(text))
    assert shows_launcher(running(text))


@pytest.mark.parametrize("text", NONE)
def test_sees_no_launcher_where_none_is_started(text: str) -> None:
    assert not shows_launcher(running(text))


def test_sees_a_launcher_that_export_puts_into_a_variable() -> None:
    assert shows_launcher(running("export LAUNCHER='torchrun --nnodes 2'; $LAUNCHER t.py"))


def test_variables_of_a_config_map_may_number_nodes() -> None:
    container = running("torchrun t.py")
    assert run_on_one_node([container], by_default=True)
    told = container | {"envFrom": [{"configMapRef": {"name": "settings"}}]}
    assert not run_on_one_node([told], by_default=True)


USES = {
    "torchrun --master_addr=$M t.py": Use.LAUNCHER,
    "torchrun --master-addr ${M} t.py": Use.LAUNCHER,
    'torchrun --nnodes=2 --master_addr "$M" --master_port 29500 t.py': Use.LAUNCHER,
    "torchrun --standalone a.py; torchrun --master_addr=$M t.py": Use.LAUNCHER,
    "python -m torch.distributed.launch --use_env --master_addr $(M) t.py": Use.LAUNCHER,
    "accelerate launch --main_process_ip $M t.py": Use.LAUNCHER,
    "deepspeed --master_addr=$M t.py": Use.LAUNCHER,
    "(torchrun --master_addr=$M t.py)": Use.LAUNCHER,
    "torchrun --rdzv_endpoint=$M:29500 t.py": Use.ENDPOINT,
    "torchrun --rdzv-endpoint ${M}:${PORT} t.py": Use.ENDPOINT,
    "torchrun --rdzv_endpoint=$M:29500 --rdzv_backend=static t.py": Use.ENDPOINT,
    "torchrun t.py": Use.NONE,
    "torchrun t.py --lr $MM": Use.NONE,
    "# $M\ntorchrun t.py": Use.NONE,
    # the name of the pod that hosts the store, or another program's
    "torchrun --rdzv_backend=c10d --rdzv_endpoint=$M:29500 t.py": Use.OTHER,
    "torchrun --rdzv-backend etcd-v2 --rdzv_endpoint $M:2379 t.py": Use.OTHER,
    "accelerate launch --rdzv_backend c10d --main_process_ip $M t.py": Use.OTHER,
    "accelerate launch --main_process_ip=$M --same_network --rdzv_backend=c10d t.py": Use.OTHER,
    # options that are not in sight may name another backend
    "torchrun --rdzv_endpoint=$M:29500 $OPTIONS t.py": Use.OTHER,
    'A=(--rdzv_backend c10d); torchrun --rdzv_endpoint $M:29500 "${A[@]}" t.py': Use.OTHER,
    "torchrun --rdzv_endpoint=$M:29500 `cat options` t.py": Use.OTHER,
    "accelerate launch --main_process_ip $M $OPTIONS t.py": Use.OTHER,
    "torchrun --rdzv_backend=static --rdzv_endpoint=$M:29500 $SCRIPT": Use.ENDPOINT,
    "torchrun --master_addr=$M $OPTIONS t.py": Use.LAUNCHER,
    "torchrun t.py --master_addr=$M": Use.OTHER,
    "torchrun --rdzv_id=$M t.py": Use.OTHER,
    "torchrun --master_addr=$M.svc t.py": Use.OTHER,
    "torchrun --master_addr=${M%%.*} t.py": Use.OTHER,
    "python t.py --master_addr=$M": Use.OTHER,
    # compared, cut, looped over, looked up, pinged, written down
    '[ "$POD_NAME" = "${M%%.*}" ] && R=0; torchrun --master_addr=$M t.py': Use.OTHER,
    "[[ $M == $POD_NAME.* ]]; torchrun --master_addr=$M t.py": Use.OTHER,
    'R=${M%%.*}; [ "$HOSTNAME" = "$R" ]; torchrun t.py': Use.OTHER,
    "case $M in a) b;; esac": Use.OTHER,
    "echo $M | grep ^$HOSTNAME": Use.OTHER,
    'until nslookup "$M"; do sleep 1; done; torchrun --master_addr=$M t.py': Use.OTHER,
    "H=$M; nslookup $H; torchrun --master_addr=$H t.py": Use.OTHER,
    "for h in $M; do ping $h; done": Use.OTHER,
    "DP=$(getent hosts $M | cut -f1); vllm serve": Use.OTHER,
    "M=localhost torchrun t.py": Use.OTHER,
    "wait-for $M bash -c 'torchrun --master_addr=$M t.py'": Use.OTHER,
    "bash -c 'torchrun --master_addr=$0 t.py' $M": Use.OTHER,
    "torchrun --master_addr=$M --no-python bash -c 'python t.py'": Use.LAUNCHER,
    "export M; torchrun t.py": Use.OTHER,
    "printenv M": Use.OTHER,
    'eval "torchrun --master_addr=\\$M t.py"': Use.OTHER,
    "python -c 'import os; os.environ[\"M\"]'": Use.OTHER,
    "echo '$M": Use.OTHER,
}


@pytest.mark.parametrize("text", USES)
def test_says_what_a_command_does_with_a_variable(text: str) -> None:
    assert use_of(running(text), "M") is USES[text]


TAKES_IT = "torchrun --master_addr=$M t.py"
ELSEWHERE: dict[str, Object] = {
    "another variable": running(TAKES_IT, env=[{"name": "URL", "value": "tcp://$(M):1"}]),
    "a probe": running(TAKES_IT, readinessProbe={"exec": {"command": ["sh", "-c", "ping $M"]}}),
    "a mount": running(
        TAKES_IT, volumeMounts=[{"name": "runs", "mountPath": "/runs", "subPathExpr": "$(M)"}]
    ),
    "a hook": running(TAKES_IT, lifecycle={"preStop": {"exec": {"command": ["notify", "$(M)"]}}}),
    "c10d by variable": running(
        "torchrun --rdzv_endpoint=$M:1 t.py", env=[{"name": "PET_RDZV_BACKEND", "value": "c10d"}]
    ),
    "arguments": {"name": "main", "command": ["python", "t.py"], "args": ["--master_addr", "$(M)"]},
}


@pytest.mark.parametrize("container", ELSEWHERE.values(), ids=ELSEWHERE)
def test_looks_wherever_a_container_may_name_a_variable(container: Object) -> None:
    assert use_of(container, "M") is Use.OTHER


def test_a_backend_that_a_variable_names_counts() -> None:
    static = [{"name": "PET_RDZV_BACKEND", "value": "static"}]
    assert use_of(running("torchrun --rdzv_endpoint=$M:1 t.py", env=static), "M") is Use.ENDPOINT


def test_null_probes_and_hooks_name_nothing() -> None:
    empty = {
        "livenessProbe": None,
        "startupProbe": {"exec": None},
        "lifecycle": {"postStart": None, "stopSignal": "SIGUSR1"},
        "env": None,
    }
    assert use_of(running(TAKES_IT, **empty), "M") is Use.LAUNCHER


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("torchrun --master_addr=$HEAD --rdzv_endpoint $B:1 t.py", {"HEAD", "B"}),
        ("torchrun --rdzv_backend=c10d --rdzv_endpoint $B:1 t.py", set()),
        ("torchrun t.py --master_addr=$HEAD", set()),
        ("torchrun --virtual-local-rank t.py --master_addr $HEAD", set()),
        ("accelerate launch --multi_gpu t.py --master_addr $HEAD", set()),
        ("accelerate launch --an_option_without_value t.py --master_addr $HEAD", set()),
        ("torchrun --log_dir /x.py/y --master_addr $HEAD t.py", {"HEAD"}),
        ("export PET_RDZV_BACKEND=c10d; torchrun --rdzv_endpoint $B:1 t.py", set()),
        ("export ${PET_RDZV_BACKEND:=c10d}; torchrun --rdzv_endpoint $B:1 t.py", set()),
        ("printf -v PET_RDZV_BACKEND c10d; torchrun --rdzv_endpoint $B:1 t.py", set()),
        ("eval 'export PET_RDZV_BACKEND=c10d'; torchrun --rdzv_endpoint $B:1 t.py", set()),
        ("; ".join(f"torchrun --master_addr $A{number} t.py" for number in range(20)), set()),
        ("torchrun --master_addr=head t.py", set()),
        ("echo '$HEAD", set()),
    ],
)
def test_lists_the_variables_that_options_take(text: str, variables: set[str]) -> None:
    assert given_variables(running(text)) == variables


@pytest.mark.parametrize(
    ("text", "backend"),
    [
        ("torchrun --rdzv_backend=c10d --rdzv_endpoint $B:1 t.py", "c10d"),
        (
            "torchrun --standalone prepare.py; torchrun --rdzv-backend c10d --rdzv_endpoint head:1 t.py",
            "c10d",
        ),
        ("torchrun --rdzv_backend=etcd --rdzv_endpoint etcd:1 t.py", "etcd"),
        ("torchrun --rdzv_endpoint head:1 t.py", "static"),
        ("torchrun --master_addr head t.py", "static"),
        ("torchrun t.py", ""),
        ("torchrun --rdzv_backend=$B --rdzv_endpoint head:1 t.py", ""),
        ("torchrun --rdzv_backend=c10d t.py; torchrun --master_addr head u.py", ""),
        ("export PET_RDZV_BACKEND=c10d; torchrun --rdzv_endpoint head:1 t.py", ""),
        ("torchrun --standalone t.py", ""),
        ("python t.py --rdzv_backend=c10d", ""),
        ("echo 'x", ""),
    ],
)
def test_tells_the_backend_by_which_agents_meet(text: str, backend: str) -> None:
    assert meets_by(running(text)) == backend


@pytest.mark.parametrize(("command", "read"), COMMANDS)
def test_options_are_read_as_torch_reads_them(command: str, read: str) -> None:
    """What stands beside each command was read by real shells and by torch 2.0, 2.3 and 2.15."""
    container = running(command)
    if read == "refused":
        assert meets_by(container) == ""
        assert given_variables(container) == set()
        return
    nodes, backend, address = read.split()
    is_one = nodes in ("1", "1:1")
    assert run_on_one_node([container]) is is_one
    assert meets_by(container) == ("" if is_one else backend)
    found = [
        text.replace("${M}", "$M").replace("$M", "head") for text in given_addresses(container)
    ]
    assert found == ([] if address == "-" else [address])
    assert given_variables(container) == (
        {"M"} if "head" in address and backend == "static" else set()
    )


def test_a_variable_tells_the_backend_of_what_is_out_of_sight() -> None:
    env = [{"name": "PET_RDZV_BACKEND", "value": "c10d"}]
    assert [
        meets_by(running(text, env=env))
        for text in ("/start.sh", "torchrun t.py", "python t.py", "python -c 'import t'")
    ] == ["c10d", "c10d", "c10d", ""]
    assert meets_by({"name": "image's own", "env": env}) == "c10d"


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        (
            "torchrun --rdzv_endpoint ${VC_T_0_HOSTS:=localhost}:29500 t.py",
            ["${VC_T_0_HOSTS:=localhost}:29500"],
        ),
        ('export MASTER_ADDR="$H"; python t.py --master_addr=x', ["$H"]),
        ("python t.py", []),
        ("echo 'x", []),
    ],
)
def test_lists_the_addresses_that_a_text_gives(text: str, addresses: list[str]) -> None:
    assert given_addresses(running(text)) == addresses


ONE = [
    "torchrun --standalone t.py",
    "torchrun --nnodes=1 t.py",
    "torchrun --nnodes 1:1 t.py",
    "torchrun --rdzv_endpoint=localhost:0 t.py",
    "accelerate launch --num_machines=1 t.py",
]
SEVERAL = [
    "torchrun t.py",
    "torchrun --nnodes=2 t.py",
    "accelerate launch --num_machines=2 t.py",
    "torchrun --nnodes=1:2 t.py",
    "torchrun --nnodes=$N t.py",
    "torchrun t.py --standalone",
    "torchrun --standalone a.py; torchrun --nnodes 2 b.py",
    "python t.py --nnodes=1",
    "echo 'torchrun --nnodes=1",
]


@pytest.mark.parametrize("text", ONE)
def test_knows_launchers_that_run_on_one_node(text: str) -> None:
    assert run_on_one_node([running("sleep 1"), running(text)])


@pytest.mark.parametrize("text", SEVERAL)
def test_takes_no_other_text_for_that_of_one_node(text: str) -> None:
    assert not run_on_one_node(
        [
            running("torchrun --standalone t.py") if "torchrun" in text else running("x"),
            running(text),
        ]
    )


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        (running("cd /src && export A=1; exec torchrun t.py"), True),
        (running("python -m pip install x && torchrun t.py"), True),
        (
            running(
                "python3 -uc 'import t'; python --version; python -m torch.distributed.run t.py"
            ),
            True,
        ),
        (running("exec python3 t.py"), False),
        (running("python -u -m pkg.launch"), False),
        (running("A=1 python prepare.py && torchrun t.py"), False),
        (running("bash run.sh"), False),
        (running("./run.sh"), False),
        (running("python t.py; ping x"), False),
        (running("echo 'x"), False),
        ({"args": ["python", "t.py"]}, False),
        ({}, False),
    ],
)
def test_tells_whether_all_that_runs_is_written_in_the_pod(
    container: Object, expected: bool
) -> None:
    assert is_in_sight(container) is expected


AGAIN = [
    'retry() { for i in 1 2 3; do "$@" && return; done; }; retry torchrun --master_addr=$M t.py',
    "CMD='torchrun t.py'; until $CMD; do sleep 5; done",
    "run() { torchrun t.py || { sleep 5; run; }; }; run",
    "until torchrun --master_addr $M t.py; do sleep 5; done",
    "while ! torchrun t.py; do sleep 5; done",
    "while true; do torchrun t.py && break; sleep 5; done",
    "for try in 1 2 3; do if torchrun t.py; then break; fi; done",
    "for ((i=0; i<3; i++)); do torchrun t.py && break; done",
    "if true; then until torchrun t.py; do sleep 5; done; fi",
    "until bash -c 'torchrun t.py'; do sleep 5; done",
    "bash -c 'until torchrun t.py; do sleep 5; done'",
    "while true; do while true; do break; done; torchrun t.py; done",
    "while true; do python t.py; sleep 5; done",
    "run() { torchrun t.py; }\nuntil run; do sleep 5; done",
    "function run { torchrun t.py; }; while ! run; do sleep 5; done",
    "function run { function run { a; }; torchrun t.py; }; while ! run; do sleep 5; done",
    "train() { torchrun t.py; }; main() { train; }; until main; do sleep 5; done",
    "main() { torchrun t.py; }; ready() { true; }; for f in a; do cat $f; done; main",
    "while true\ndo\n  exec 3>log\n  { torchrun t.py; } 2>&1\ndone",
]
ONCE = [
    "torchrun t.py",
    "until nslookup head; do sleep 1; done; torchrun t.py",
    "while [ ! -e /data/ready ]; do sleep 1; done\nexec torchrun t.py",
    "for f in a b; do pip install $f; done && torchrun t.py",
    "until python -c 'import torch'; do sleep 1; done; torchrun t.py",
    "for f in a b; do while true; do break; done; done; torchrun t.py",
    "main() { torchrun t.py; }; main",
    "{ torchrun t.py; } 2>&1",
    "torchrun t.py while done",
    "echo 'while true",
    "done; }; function",
    "",
]


@pytest.mark.parametrize("text", AGAIN)
def test_sees_that_a_loop_may_start_the_ranks_again(text: str) -> None:
    assert runs_again(running(text))


@pytest.mark.parametrize("text", ONCE)
def test_takes_no_other_loop_for_one_that_starts_the_ranks(text: str) -> None:
    assert not runs_again(running(text))


def test_says_what_is_done_with_more_variables_than_it_remembers() -> None:
    named = [f"V{index}" for index in range(20)]
    container = running("; ".join(f"torchrun --master_addr ${name} t.py" for name in named))
    for _ in range(2):
        assert {use_of(container, name) for name in named} == {Use.LAUNCHER}


@given(
    st.lists(
        st.sampled_from(
            [*USES, *TORCH, *NONE, *AGAIN, *ONCE, " ", "; ", "'", '"', "$M", "--master_addr", "$("]
        )
    ).map("".join)
)
def test_answers_about_any_text(text: str) -> None:
    container = running(text)
    assert use_of(container, "M") in Use
    assert "M" in text or use_of(container, "M") is Use.NONE
    assert shows_launcher(container) or not shows_torch_launcher(container)
    assert shows_torch_launcher(container) or not run_on_one_node([container])
    assert runs_again(container) in (True, False)
