"""What cannot run here: workflows judged by actionlint, the project's scripts by shellcheck."""

import re
import shutil
import subprocess

import pytest

from tests import ROOT
from tests.cluster.fixtures import program, unavailable

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
SCRIPTS = (".ci/run", "tests/setup.sh")


def test_actionlint_finds_nothing() -> None:
    done = subprocess.run(
        [program("actionlint"), f"-shellcheck={shellcheck()}", *WORKFLOWS],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("script", SCRIPTS)
def test_shellcheck_finds_nothing(script: str) -> None:
    done = subprocess.run([shellcheck(), ROOT / script], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_actions_are_named_by_commit_with_their_version_beside_them() -> None:
    uses = [
        line.partition("uses:")[2].strip()
        for path in WORKFLOWS
        for line in path.read_text().splitlines()
        if "uses:" in line
    ]
    others = {
        each
        for each in uses
        if re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each) is None
    }
    assert others == {"./.github/workflows/ci.yml"}


def test_ci_calls_the_projects_own_command() -> None:
    assert ".ci/run" in (ROOT / ".github/workflows/ci.yml").read_text()


def shellcheck() -> str:
    """Give the program's path."""
    found = shutil.which("shellcheck")
    if found is None:
        unavailable("no shellcheck on PATH")
    return found
