"""The page of what was run: compatibility.md.in, with the versions that the tests pin."""

from __future__ import annotations

import re
from pathlib import Path

from tests import ROOT
from tests.cluster.assets import OPERATORS, TOOLS
from tests.cluster.operators import rows
from tests.operators import test_torchx, torchx
from tests.peer.suite import VERSION as PEER

PAGE = Path(__file__).with_name("compatibility.md.in")
MODULES = {
    "kubernetes": "k8s.io/kubernetes",
    "kubelet": "k8s.io/kubernetes",
    "testdriver": "k8s.io/kubernetes",
    "etcd": "go.etcd.io/etcd/server/v3",
    "multus": "gopkg.in/k8snetworkplumbingwg/multus-cni.v4",
    "containerd": "github.com/containerd/containerd/v2",
    "dranet": "sigs.k8s.io/dranet",
    "helm": "helm.sh/helm/v4",
    "certmanager": "github.com/cert-manager/cert-manager",
    "promtool": "github.com/prometheus/prometheus",
}
"""Folders of tests/cluster/tools, and the Go module of each that has the version."""


def compatibility() -> str:
    """Return the page."""
    oldest, newest = _schemas()
    operators = {name.replace("-", "_"): each["version"][1:] for name, each in OPERATORS.items()}
    return PAGE.read_text().format(
        **{folder: pinned(folder, module) for folder, module in MODULES.items()},
        **operators,
        oldest=oldest,
        newest=newest,
        peer=PEER.rpartition("-")[2],
        torchx=torchx.VERSION,
        torch=", ".join(torch_versions()),
        torch_of_rows=", ".join(rows.EVERY),
        newest_torch=rows.NEWEST,
    )


def pinned(folder: str, module: str) -> str:
    """Return the version of a Go module that the tests' module in *folder* pins, without its v."""
    found = re.search(
        rf"^\s*{re.escape(module)} v(\S+)", (TOOLS / folder / "go.mod").read_text(), re.MULTILINE
    )
    assert found is not None, (folder, module)
    return found[1]


def torch_versions() -> list[str]:
    """Return all versions of torch that any test of the operators runs, the oldest first."""
    found = {rows.NEWEST, *test_torchx.VERSIONS, *test_torchx.BETWEEN, *rows.EVERY}
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")])


def _schemas() -> tuple[str, str]:
    found = re.search(r"for version in (\S+) (\S+); do", (ROOT / "Makefile").read_text())
    assert found is not None
    return found[1], found[2]
