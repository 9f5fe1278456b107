"""tests/setup.sh on machines of every kind, which stand in a folder of stub programs; and who else must agree with it."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import ROOT
from tests.installed import SCRIPT

GO_MOD = "tests/cluster/tools/kubernetes/go.mod"
APT_GET = """\
echo "apt-get $*" >&2
case "$*" in *install*) ;; *) exit ;; esac
for word in "$@"; do
  case $word in [a-z]*) echo '#!/bin/sh' >"{bin}/$word"; /bin/chmod 755 "{bin}/$word" ;; esac
done
"""
"""What it is told to install is on PATH afterwards."""


class Answer(NamedTuple):
    """The exit status, and what was printed."""

    status: int
    text: str


class Machine:
    """A checkout, and a PATH on which nothing is but what the test puts there; other files lie in the folder too."""

    def __init__(self, folder: Path) -> None:
        self.checkout, self.bin = folder / "checkout", folder / "bin"
        self.bin.mkdir()
        (self.checkout / GO_MOD).parent.mkdir(parents=True)
        here = re.sub(r"(?<=['|])/(?=usr/|opt/|etc/)", f"{folder}/", SCRIPT.read_text())
        (self.checkout / "tests/setup.sh").write_text(here)
        shutil.copy(ROOT / GO_MOD, self.checkout / GO_MOD)
        self.user(0)
        self.python("3.11.2")
        self.add("apt-get", APT_GET.replace("{bin}", str(self.bin)))

    def add(self, name: str, script: str = "") -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}")
        path.chmod(0o755)

    def user(self, number: int) -> None:
        self.add("id", f"echo {number}")

    def python(self, version: str, *, lacks: str = "nothing") -> None:
        """Answer the script's questions for the version; an import of what it lacks fails."""
        self.add(
            "python3",
            f'case "$*" in *{lacks}*) exit 1 ;; *python_version*) echo {version} ;; esac',
        )

    def go(self, version: str, toolchain: str) -> None:
        self.add(
            "go",
            f'case "$2" in GOVERSION) echo go{version} ;; GOTOOLCHAIN) echo {toolchain} ;; esac',
        )

    def set_up(self, *targets: str, **environment: str) -> Answer:
        done = subprocess.run(
            ["/bin/sh", str(self.checkout / "tests/setup.sh"), *targets],
            env={"PATH": str(self.bin), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return Answer(done.returncode, done.stdout)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Give a Debian on which one is root, with nothing but Python."""
    return Machine(tmp_path)


def test_installs_as_root_and_says_so_before(machine: Machine) -> None:
    machine.add("bash")
    status, text = machine.set_up("check", "test-image")
    assert status == 0
    said, updated, installed = text.partition("apt-get -qq update\n")[0], *text.splitlines()[-2:]
    assert "are installed now, which may take minutes (SETUP=no forbids it)" in said
    wanted = "dash busybox buildah mmdebstrap runc"
    assert re.findall(r"^  (\S+) ", said, re.MULTILINE) == wanted.split()
    assert updated == "apt-get -qq update"
    assert installed.startswith("apt-get -qq install -y --no-install-recommends --no-remove ")
    assert installed.endswith(f" {wanted}")


@pytest.mark.parametrize(
    ("user", "environment", "sudo"), [(0, {"SETUP": "no"}, ""), (1000, {}, "sudo ")]
)
def test_names_all_that_is_missing_with_one_command(
    machine: Machine, user: int, environment: dict[str, str], sudo: str
) -> None:
    """Where it may not install: forbidden, or not root."""
    machine.user(user)
    machine.python("3.11.2", lacks="ensurepip")
    status, text = machine.set_up("check", **environment)
    assert status == 1
    assert "apt-get -qq" not in text
    command = f"  {sudo}apt-get update && {sudo}apt-get install -y --no-install-recommends"
    assert text.endswith(f"{command} python3-venv dash bash busybox\n")


def test_needs_the_python_that_the_project_needs(machine: Machine) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["requires-python"].removeprefix(">=")
    machine.python(f"{wanted}.0")
    assert machine.set_up("run") == (0, "")
    machine.python("3.9.18")
    status, text = machine.set_up("run")
    assert status == 1
    assert re.search(
        rf"Python {re.escape(wanted)} or newer +python3 is 3\.9\.18; name a newer one: make PYTHON=",
        text,
    )


@pytest.mark.parametrize(
    ("version", "toolchain", "fits"),
    [
        ("1.27rc1", "local", True),
        ("1.21.0", "auto", True),
        ("1.21.0", "local", False),
        (None, "", False),
    ],
)
def test_needs_a_go_that_builds_kubernetes(
    machine: Machine, tmp_path: Path, version: str | None, toolchain: str, fits: bool
) -> None:
    """Go from 1.21 on downloads the version that it needs, unless it may not."""
    wanted = re.findall(r"^go (\S+)$", (ROOT / GO_MOD).read_text(), re.MULTILINE)
    (tmp_path / "etc/ssl/certs").mkdir(parents=True)
    (tmp_path / "etc/ssl/certs/ca-certificates.crt").touch()
    if version:
        machine.go(version, toolchain)
    status, text = machine.set_up("check", "apiserver")
    assert status == (0 if fits else 1)
    assert (f"Go {wanted[0]} or newer" in text) == (not fits)
    assert ("https://go.dev/dl/" in text) == (not fits)
    assert ("apt-get -qq install" in text) == fits, (
        "nothing is installed where something else is missing"
    )


def test_says_at_once_which_tiers_need_root(machine: Machine) -> None:
    machine.user(1000)
    status, text = machine.set_up("check", "sockets", "test-image", "test-node")
    assert status == 1
    assert re.search(
        r"root +for test-image test-node; what this user can run: make check sockets\n", text
    )


def first_commands(target: str) -> list[str]:
    """Give what make would run for the target, up to what it cannot know, such as an engine that `make image` misses."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    command = ["make", "--dry-run", target]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    return done.stdout.splitlines()


def targets() -> list[str]:
    return re.findall(r"^([a-z-]+):.* ##? ", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    "target", sorted({*targets()} - {"help", "setup", "clean", "test", "manifests"})
)
def test_make_looks_before_it_begins(target: str) -> None:
    assert first_commands(target)[0].endswith(f" sh tests/setup.sh {target}")


def test_make_looks_at_all_that_the_tiers_of_make_test_need() -> None:
    tiers = first_commands("test")[0].partition("tests/setup.sh ")[2].split()
    needed = {"core", "sockets", "apiserver", "test-page", "test-image", "test-node"}
    assert needed <= {*tiers}


def test_knows_targets_by_their_names() -> None:
    groups = re.findall(r'^\w+="(.*)"$', SCRIPT.read_text(), re.MULTILINE)
    named = {word for group in groups for word in group.split() if not word.startswith("$")}
    assert named <= {*targets()}
