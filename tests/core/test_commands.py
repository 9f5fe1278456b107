"""Commands as real shells run them: what ran before injection runs after it, on rank 0 and on a worker.

Injection changes variables alone. The value of a torch launcher's address option may become rank 0's address; all that any other
program is given, and all that the shell itself prints or decides, stays as it was.
"""

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import pods
from tests.tables import read
from tests.worlds import PROFILES, world
from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.review import decide

WORLD = world()
SHELLS = (("dash",), ("bash",), ("busybox", "sh"))
NAME, ADDRESS = "ddp-0.ddp", "192.168.0.10"
PROGRAM = """#!/bin/sh
{ printf '%s\\0' "${0##*/}" "$@"; printf '\\1\\0'; } >> "$PROGRAMS"
"""
PROGRAMS = [
    "torchrun",
    "accelerate",
    "deepspeed",
    "python3",
    "mpirun",
    "nslookup",
    "getent",
    "ping",
]
SCRIPT = "t.py"

TEXTS = read(__file__, "commands.yaml")
USES = ["", "", "", *TEXTS["uses"]]
NESTS = ["{}", "{}", *TEXTS["nests"]]


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, str]:
    """Draw the name of a variable, and a text that gives it to a program in one of many ways."""
    variable = draw(st.sampled_from(TEXTS["variables"]))
    values = TEXTS["values"]
    value = draw(st.sampled_from(values[:4]) | st.sampled_from(values))
    launch = draw(st.sampled_from(TEXTS["launches"])).format(value)
    uses = st.just("") | st.sampled_from(USES)
    text = "\n".join(filter(None, (draw(uses), launch, draw(uses))))
    for nest in draw(st.lists(st.sampled_from(NESTS), max_size=2)):
        if nest in ("sh", "bash"):
            text = f"{nest} -c {shlex.quote(text)}"
        elif nest == "eval":
            text = f"eval {shlex.quote(text)}"
        else:
            text = nest.format(text)
    return variable, text.replace("$V", f"${variable}").replace("${V", f"${{{variable}")


def variables(container: Object) -> dict[str, str]:
    """Return the variables as the kubelet sets them once the addresses are published; *container* is before or after injection."""
    own = {"metadata.name": "ddp-1"}
    return {
        entry["name"]: ADDRESS
        if podspec.is_published(entry)
        else entry.get("value")
        or own.get(((entry.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath", ""), "")
        for entry in podspec.env(container)
    }


def run(
    shell: tuple[str, ...], text: str, env: dict[str, str], folder: Path
) -> tuple[str, int, list[list[str]]]:
    """Return what a shell prints, its exit status, and the programs that it started with their arguments."""
    log = folder / "programs"
    log.write_bytes(b"")
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    command = [*shell, "-c", text]
    done = subprocess.run(
        command,
        env={**env, "PATH": path, "PROGRAMS": str(log)},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    started = [one.split("\0")[:-1] for one in log.read_text().split("\1\0")[:-1]]
    return done.stdout, done.returncode, started


def with_name(program: list[str]) -> list[str]:
    """Write rank 0's name where a torch launcher's own options hold its address; a script's arguments stay."""
    if program[0] not in ("torchrun", "accelerate", "deepspeed") and program[1:3] != [
        "-m",
        "torch.distributed.run",
    ]:
        return program
    end = program.index(SCRIPT) if SCRIPT in program else len(program)
    return [word.replace(ADDRESS, NAME) for word in program[:end]] + program[end:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("shell")
    (made / "bin").mkdir()
    for program in PROGRAMS:
        (made / "bin" / program).write_text(PROGRAM)
        (made / "bin" / program).chmod(0o755)
    return made


@given(
    drawn=texts(), shell=st.sampled_from(SHELLS), number=st.integers(0, 1), operator=st.booleans()
)
@settings(deadline=None, max_examples=60)
def test_a_command_runs_as_it_did(
    folder: Path, drawn: tuple[str, str], shell: tuple[str, ...], number: int, operator: bool
) -> None:
    variable, text = drawn
    name = "pods/kubeflow-pytorchjob-{}.yaml" if operator else "pods/statefulset-{}.yaml"
    pod = pods.drop_env(pods.load(name.format(number)), "MASTER_ADDR", "PET_MASTER_ADDR", variable)
    pods.add_env(
        pods.set_command(pod, *shell, "-c", text),
        variable,
        NAME if not operator else "bert-master-0",
    )
    after = decide(pod, "train", PROFILES, WORLD).pod
    before, injected = (podspec.containers(one)[0] for one in (pod, after))
    assert podspec.argv(before) == podspec.argv(injected)
    changed = variables(injected)
    if operator:
        changed = {key: value.replace("bert-master-0", NAME) for key, value in changed.items()}
    expected = run(shell, text, {**variables(before), variable: NAME}, folder)
    printed, status, started = run(shell, text, changed, folder)
    assert (printed, status) == expected[:2]
    assert [with_name(program) for program in started] == expected[2]
