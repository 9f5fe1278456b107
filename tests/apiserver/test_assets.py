"""Where the control plane's programs come from, and what is said when there are none."""

import re
from pathlib import Path

import pytest

from .assets import TOOLS, AssetsUnavailable, assets, binary, claim_assets, node_assets
from .programs import CLAIM_PROGRAMS, NODE_PROGRAMS, PROGRAMS


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


def test_an_incomplete_folder_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder without etcd is named on stderr."""
    program(tmp_path / "kube-apiserver")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    with pytest.raises(AssetsUnavailable, match="no Go on PATH"):
        assets()
    assert "holds no etcd: not used" in capsys.readouterr().err


def test_an_old_go_is_refused(bare_machine: Path) -> None:
    """The module files name the oldest Go that will do."""
    go(bare_machine, "go1.25.9", "exit 1")
    with pytest.raises(AssetsUnavailable, match=r"needs Go 1\.26\.0 or later, found go1\.25\.9"):
        assets()


def test_a_failed_build_says_why(bare_machine: Path) -> None:
    """The end of the output is in the message, and nothing half built stays."""
    go(bare_machine, "go1.26.8", "echo no network >&2; exit 1")
    with pytest.raises(AssetsUnavailable, match=r"building etcd failed .*\nno network"):
        assets()


def test_programs_are_built_once(bare_machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is announced and built; the second time all come from the cache."""
    go(bare_machine, "go1.26.8", 'while [ "$1" != -o ]; do shift; done; echo built > "$2"')
    folder = assets()
    assert sorted(file.name for file in folder.iterdir()) == sorted([*PROGRAMS, "lock"])
    assert "building kube-apiserver into" in capsys.readouterr().err
    assert assets() == folder
    assert capsys.readouterr().err == ""


def test_the_control_plane_outlives_a_change_of_the_node(bare_machine: Path) -> None:
    """A node's own programs lie in a folder of their own, named by their own module files; the scheduler is no part of them."""
    go(bare_machine, "go1.26.8", 'while [ "$1" != -o ]; do shift; done; echo built > "$2"')
    folder = assets()
    built = node_assets()
    assert sorted(built) == sorted(NODE_PROGRAMS)
    assert built["kube-scheduler"].parent == folder
    assert built["kubelet"].parent == built["multus"].parent != folder


def test_containerd_finds_its_shim_beside_it(bare_machine: Path) -> None:
    """What a node with claims needs lies in folders of its own; build tags are part of their names."""
    go(bare_machine, "go1.26.8", 'while [ "$1" != -o ]; do shift; done; echo built > "$2"')
    built = claim_assets()
    assert sorted(built) == sorted(CLAIM_PROGRAMS)
    assert (
        built["containerd"].parent == built["containerd-shim-runc-v2"].parent == built["ctr"].parent
    )
    assert {path.parent for path in built.values()}.isdisjoint(
        path.parent for path in node_assets().values()
    )


def test_all_programs_of_kubernetes_are_of_one_version() -> None:
    modules = ("kubernetes", "kubelet", "testdriver")
    found = [
        re.findall(r"k8s\.io/kubernetes (v\S+)", (TOOLS / name / "go.mod").read_text())
        for name in modules
    ]
    assert found == [found[0]] * 3
    assert len(found[0]) == 1
