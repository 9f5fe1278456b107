"""Where the control plane's programs come from, and what is said when there are none."""

import re
from pathlib import Path

import pytest

from tests.cluster.assets import TOOLS, AssetsUnavailable, assets, binary


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give an empty folder that is all of PATH, and an empty cache."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return folder


def program(path: Path, script: str = "") -> None:
    """Write an executable shell script."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def go(folder: Path, version: str, build: str) -> None:
    """Write a Go of the version whose `build` is the script."""
    program(folder / "go", f'[ "$1" = env ] && echo {version} && exit\n{build}')


def test_a_given_folder_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """KUBEBUILDER_ASSETS needs kube-apiserver and etcd, no more."""
    program(tmp_path / "kube-apiserver")
    program(tmp_path / "etcd")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    assert assets() == tmp_path
    assert binary("etcd") == tmp_path / "etcd"
    with pytest.raises(AssetsUnavailable, match="no Go on PATH"):
        binary("kube-controller-manager")


def test_a_failed_build_says_why(bare_machine: Path) -> None:
    """The end of the output is in the message, and nothing half built stays."""
    go(bare_machine, "go1.26.8", "echo no network >&2; exit 1")
    with pytest.raises(AssetsUnavailable, match=r"building etcd failed .*\nno network"):
        assets()


def test_all_programs_of_kubernetes_are_of_one_version() -> None:
    modules = ("kubernetes", "kubelet", "testdriver")
    found = [
        re.findall(r"k8s\.io/kubernetes (v\S+)", (TOOLS / name / "go.mod").read_text())
        for name in modules
    ]
    assert found == [found[0]] * 3
    assert len(found[0]) == 1
