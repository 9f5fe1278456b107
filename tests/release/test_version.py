"""A tree is released under one version, or not at all."""

import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests import ROOT

from .files import installed_from
from .version import NotReleasable, check, notes, version_of

FILES = (
    "webhook/__init__.py",
    "manifests/chart/Chart.yaml",
    "manifests/base/kustomization.yaml",
    "CHANGELOG.md",
)
VERSION = version_of(ROOT)
BY_THEMSELVES = ("_distutils_hack", "coverage")
"""Modules that start with the interpreter, by files of their own."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the files that name the version."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_this_tree_agrees_about_its_version() -> None:
    assert check(ROOT, f"v{VERSION}") == VERSION


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_names_another_version_is_named(tree: Path, name: str) -> None:
    file = tree / name
    file.write_text(file.read_text().replace(VERSION, "9.9.9"))
    with pytest.raises(NotReleasable, match=name):
        check(tree, f"v{VERSION}")


def test_a_tag_of_another_version_says_which_it_should_be(tree: Path) -> None:
    with pytest.raises(NotReleasable, match=f"the tag is v{VERSION}"):
        check(tree, "v9.9.9")


def test_notes_are_the_section_of_the_version_alone(tree: Path) -> None:
    (tree / "CHANGELOG.md").write_text(
        "# C\n\n## Unreleased\n\nnew\n\n"
        "## 1.2.0 - 2026-01-02\n\n### Added\n\n- a\n\n## 1.1.0\n\n- b\n"
    )
    assert notes(tree, "1.2.0") == "### Added\n\n- a\n"
    with pytest.raises(NotReleasable, match="no section"):
        notes(tree, "1.2")


def test_both_deployments_run_the_released_image_and_the_webhook_names_it_to_pods() -> None:
    reference = "registry.example.com/fabric-injector@sha256:0"
    rendered = "image: fabric-injector:1.0\n" * 2 + "  value: fabric-injector:1.0\n"
    text = installed_from(rendered.replace("image", "  image"), reference)
    assert text == f"  image: {reference}\n" * 2 + f"  value: {reference}\n"
    with pytest.raises(NotReleasable, match="3"):
        installed_from(text, reference)


def test_needs_no_library_but_those_of_its_extra() -> None:
    """Its virtual environment has no other, and only a release would find that out."""
    code = "import sys, tests.release.__main__; print(*sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.PIPE
    )
    loaded = {name.partition(".")[0] for name in told.stdout.decode().split()}
    libraries = loaded & packages_distributions().keys() - {"webhook", "certs", *BY_THEMSELVES}
    assert libraries <= {"click", "yaml", "_yaml"}, "the extra `release` names no other"
