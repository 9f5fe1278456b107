"""Launchers: what is started, on how many nodes, and what texts do with an address: texts.yaml."""

import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.workloads.read_by_torch import COMMANDS
from tests.tables import read
from webhook.core.model import Object
from webhook.core.workloads import launchers
from webhook.core.workloads.launchers import (
    Use,
    given_variables,
    is_in_sight,
    meets_by,
    run_on_one_node,
    script_of,
    serves_ssh,
    shows_launcher,
    shows_torch_launcher,
    use_of,
)
from webhook.core.workloads.nodes import find_mark

TEXTS = read(__file__, "texts.yaml")
USES = {text: Use[use] for use, texts in TEXTS["uses"].items() for text in texts}
TAKES_IT = "torchrun --master_addr=$M t.py"
STANDALONE = "torchrun --standalone t.py"
BY_C10D = [{"name": "PET_RDZV_BACKEND", "value": "c10d"}]


def running(text: str, **rest: Any) -> Object:
    return {"name": "main", "command": ["bash", "-c", text], **rest}


def each(*tables: str) -> pytest.MarkDecorator:
    """Give a test each text of the tables, and what is said of it; of lists, which comes first."""
    rows: list[tuple[str, Any]] = []
    for number, name in enumerate(tables):
        found = TEXTS[name]
        said = found.items() if isinstance(found, dict) else ((text, not number) for text in found)
        rows += said
    return pytest.mark.parametrize(("text", "said"), rows)


@each("torch", "no_launcher")
def test_sees_the_launchers_of_torch(text: str, said: bool) -> None:
    assert shows_torch_launcher(running(text)) is said
    assert shows_launcher(running(text)) is said


@each("of_several", "no_mark")
def test_sees_other_launchers_and_options_of_several_nodes(text: str, said: bool) -> None:
    assert not shows_torch_launcher(running(text))
    assert find_mark(running(text)) == ("starts a launcher" if said else "")


@each("sets")
def test_sees_variables_of_several_nodes_that_a_text_sets(text: str, said: str) -> None:
    """Also localhost: the others, which name this one, must not be injected alone."""
    assert find_mark(running(text)) == f"sets {said}"


@each("ssh")
def test_sees_an_ssh_daemon(text: str, said: bool) -> None:
    assert serves_ssh(running(text)) is said


@each("again", "once")
def test_sees_that_a_loop_may_start_the_ranks_again(text: str, said: bool) -> None:
    assert script_of(running(text)).runs_again is said


@each("takes")
def test_lists_the_variables_that_options_take(text: str, said: list[str]) -> None:
    assert given_variables(running(text)) == set(said)


def test_lists_no_variables_where_they_are_many() -> None:
    named = [f"V{index}" for index in range(20)]
    container = running("; ".join(f"torchrun --master_addr ${name} t.py" for name in named))
    assert given_variables(container) == set()
    for _ in range(2):
        assert {use_of(container, name) for name in named} == {Use.LAUNCHER}


@each("backends")
def test_tells_the_backend_by_which_agents_meet(text: str, said: str) -> None:
    assert meets_by(running(text)) == said


@each("one_node", "several_nodes")
def test_knows_launchers_that_run_on_one_node(text: str, said: bool) -> None:
    beside = running(STANDALONE if not said and "torchrun" in text else "x")
    assert run_on_one_node([beside, running(text)]) is said


@each("in_sight")
def test_tells_whether_all_that_runs_is_written_in_the_pod(text: str, said: bool) -> None:
    assert is_in_sight(running(text)) is said


@pytest.mark.parametrize("container", [{"args": ["python", "t.py"]}, {}])
def test_an_images_entrypoint_is_not_in_sight(container: Object) -> None:
    assert not is_in_sight(container)


@each("sets_for_sure")
def test_reads_what_a_text_sets_for_sure_as_shells_do(text: str, said: dict[str, str]) -> None:
    assert script_of(running(text)).literals == said
    for shell in (("dash",), ("bash",), ("busybox", "sh")):
        done = subprocess.run([*shell, "-c", text], capture_output=True, text=True, check=False)
        told = set(done.stdout.split("\n"))
        assert {f"{name}={value}" for name, value in said.items()} <= told


def test_variables_of_a_config_map_may_number_nodes() -> None:
    container = running("torchrun t.py")
    assert run_on_one_node([container], by_default=True)
    told = container | {"envFrom": [{"configMapRef": {"name": "settings"}}]}
    assert not run_on_one_node([told], by_default=True)


@pytest.mark.parametrize("text", USES)
def test_says_what_a_command_does_with_a_variable(text: str) -> None:
    assert use_of(running(text), "M") is USES[text]


@pytest.mark.parametrize("container", TEXTS["elsewhere"].values(), ids=TEXTS["elsewhere"])
def test_looks_wherever_a_container_may_name_a_variable(container: Object) -> None:
    assert use_of(container, "M") is Use.OTHER


def test_a_backend_that_a_variable_names_counts() -> None:
    static = [{"name": "PET_RDZV_BACKEND", "value": "static"}]
    assert use_of(running("torchrun --rdzv_endpoint=$M:1 t.py", env=static), "M") is Use.ENDPOINT


def test_what_env_from_brings_may_name_a_backend() -> None:
    text = "torchrun --rdzv_endpoint=head:1 t.py"
    assert meets_by(running(text)) == "static"
    assert meets_by(running(text, envFrom=[{"configMapRef": {"name": "torch"}}])) == ""


def test_null_probes_and_hooks_name_nothing() -> None:
    hooks = {"postStart": None, "stopSignal": "SIGUSR1"}
    probes = {"livenessProbe": None, "startupProbe": {"exec": None}}
    assert use_of(running(TAKES_IT, **probes, lifecycle=hooks, env=None), "M") is Use.LAUNCHER


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
    [options] = script_of(container).launchers
    given = [options[name] for name in ("--master-addr", "--rdzv-endpoint") if name in options]
    found = [text.replace("${M}", "head").replace("$M", "head") for text in given]
    assert found == ([] if address == "-" else [address])
    takes = {"M"} if "head" in address and backend == "static" else set()
    assert given_variables(container) == takes


def test_a_variable_tells_the_backend_of_what_is_out_of_sight() -> None:
    for text in ("/start.sh", "torchrun t.py", "python t.py"):
        assert meets_by(running(text, env=BY_C10D)) == "c10d"
    assert meets_by(running("python -c 'import t'", env=BY_C10D)) == ""
    assert meets_by({"name": "image's own", "env": BY_C10D}) == "c10d"


_ALL = [
    *USES,
    *(text for name in ("torch", "no_launcher", "again", "once") for text in TEXTS[name]),
]


@given(
    st.lists(st.sampled_from([*_ALL, " ", "; ", "'", '"', "$M", "--master_addr", "$("])).map(
        "".join
    )
)
def test_answers_about_any_text(text: str) -> None:
    container = running(text)
    assert use_of(container, "M") in Use
    assert "M" in text or use_of(container, "M") is Use.NONE
    assert shows_launcher(container) or not shows_torch_launcher(container)
    assert shows_torch_launcher(container) or not run_on_one_node([container])
    assert script_of(container).runs_again in (True, False)


def test_what_was_read_is_forgotten_once_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launchers, "_REMEMBERED", 100)
    one, other = (running(f"torchrun train-{name}.py {'x' * 60}") for name in "ab")
    first = script_of(one)
    assert script_of(one) is first
    script_of(other)
    assert script_of(one) is not first
