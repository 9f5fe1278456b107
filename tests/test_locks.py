"""The locked requirements of the image fit the ranges of pyproject.toml, and nothing else can be installed by them."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.locks import read_lock

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RANGES = {
    "requirements.lock": PROJECT["project"]["dependencies"],
    "requirements-build.lock": PROJECT["build-system"]["requires"],
    "requirements-validate.lock": PROJECT["project"]["optional-dependencies"]["validate"],
}


@pytest.mark.parametrize(("file", "ranges"), RANGES.items())
def test_locks_a_version_in_range_of_each_requirement(file: str, ranges: list[str]) -> None:
    locked = read_lock(ROOT / file)
    for requirement in map(Requirement, ranges):
        name = canonicalize_name(requirement.name)
        assert name in locked, f"{file} lacks {requirement}: run make lock"
        assert requirement.specifier.contains(locked[name].version), (
            f"{file} has {locked[name].version}: run make lock"
        )


@pytest.mark.parametrize("file", RANGES)
def test_locks_exact_versions_of_known_content(file: str) -> None:
    for one in read_lock(ROOT / file).values():
        assert one.version
        assert one.hashes, f"{file}: {one.requirement} has no hash"
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", digest) for digest in one.hashes), one


@pytest.mark.parametrize("file", RANGES)
def test_names_no_package_index(file: str) -> None:
    """It is the same for all who use it; each reaches the index in a way of their own."""
    text = (ROOT / file).read_text()
    assert "://" not in text
    assert not re.search(r"^\s*-", text.replace("    --hash=", ""), re.MULTILINE)


def test_all_programs_of_kubernetes_are_of_one_version() -> None:
    tools = ROOT / "tests/cluster/tools"
    texts = [(tools / name / "go.mod").read_text() for name in ("kubernetes", "kubelet")]
    texts.append((tools / "testdriver/go.mod").read_text())
    versions = [re.findall(r"k8s\.io/kubernetes (v\S+)", text) for text in texts]
    assert versions == [versions[0]] * 3
    assert len(versions[0]) == 1
