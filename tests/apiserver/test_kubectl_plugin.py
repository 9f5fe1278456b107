"""The real kubectl finds the plugin and runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cluster.assets import binary
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.objects import pod
from webhook import __version__

BIN = Path(sys.executable).parent
POD = pod("p")


@pytest.fixture(scope="module")
def kubectl(control_plane: ControlPlane) -> Path:
    return binary("kubectl")


def run(kubectl: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    found = {**os.environ, "PATH": f"{BIN}:/usr/bin:/bin", "KUBECONFIG": "/dev/null", **environ}
    return subprocess.run(
        [str(kubectl), *arguments],
        env=found,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


def test_kubectl_lists_and_runs_the_plugin(kubectl: Path) -> None:
    assert (
        str(BIN / "kubectl-fabric_injector") in run(kubectl, "plugin", "list").stdout.splitlines()
    )
    done = run(kubectl, "fabric-injector", "--version")
    assert done.stdout.strip() == f"fabric-injector, version {__version__}", done.stderr


def test_the_plugin_takes_kubectls_own_options(
    kubectl: Path, control_plane: ControlPlane, namespace: NamespaceFactory, tmp_path: Path
) -> None:
    config = control_plane.kubeconfig(tmp_path / "config")
    (tmp_path / "pod.yaml").write_text(yaml.safe_dump(POD))
    name = namespace()
    chosen = ("--kubeconfig", str(config), "--context", "test", "-n", name)
    done = run(
        kubectl,
        "fabric-injector",
        "dry-run",
        "-f",
        str(tmp_path / "pod.yaml"),
        "--server",
        "-o",
        "json",
        *chosen,
    )
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load(done.stdout)["pods"][0]["namespace"] == name
    wrong = run(
        kubectl,
        "fabric-injector",
        "certs",
        "show",
        "--kubeconfig",
        str(config),
        "--context",
        "absent",
    )
    assert wrong.returncode == 2
    assert "--context absent: no context is named so; use one of: test" in wrong.stderr
