"""What tag v0.1.0 publishes, as release.yml says it; make release-dry-run tries the files."""

import fnmatch
import re
from typing import Any

import pytest
import yaml

from tests import ROOT
from tests.release.__main__ import main

TEXT = (ROOT / ".github/workflows/release.yml").read_text()
WORKFLOW: dict[Any, Any] = yaml.safe_load(TEXT)
JOBS: dict[str, Any] = WORKFLOW["jobs"]


def runs(job: str) -> str:
    """Return all commands of a job."""
    return "\n".join(step.get("run", "") for step in JOBS[job]["steps"])


def before(job: str) -> set[str]:
    """Return all jobs that must have ended well before this one begins."""
    needs = JOBS[job].get("needs", [])
    direct = {needs} if isinstance(needs, str) else set(needs)
    return direct.union(*map(before, direct))


def test_the_first_tag_starts_it() -> None:
    patterns = WORKFLOW[True]["push"]["tags"]  # YAML reads the key `on` as true
    assert any(fnmatch.fnmatch("v0.1.0", pattern) for pattern in patterns)


def test_nothing_is_published_before_the_tests_pass_and_the_versions_agree() -> None:
    assert before("image") == {"check", "test"}
    assert before("publish") == {*JOBS} - {"publish"}


def test_the_image_is_pushed_for_both_architectures_with_its_bill_of_materials() -> None:
    (build,) = (step["with"] for step in JOBS["image"]["steps"] if step.get("id") == "build")
    assert build["platforms"] == "linux/amd64,linux/arm64"
    assert build["push"]
    assert build["sbom"]
    assert build["tags"] == "${{ env.IMAGE }}:${{ env.VERSION }}"


@pytest.mark.parametrize("command", re.findall(r"-m tests\.release (\w+)", TEXT))
def test_it_calls_commands_that_exist(command: str) -> None:
    assert command in main.commands


def test_chart_wheel_and_all_files_are_published() -> None:
    assert "python -m tests.release files" in runs("files")
    assert 'helm push "build/release/fabric-injector-$VERSION.tgz"' in runs("files")
    assert "*.whl" in runs("pypi")
    assert "release/build/release/*" in runs("publish")
