"""The real kubectl finds the plugin and runs it."""

import subprocess
import sys
from pathlib import Path

import yaml

from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory, program
from tests.cluster.objects import pod
from tests.cluster.processes import run_command
from webhook import __version__

BIN = Path(sys.executable).parent


def run(config: str | Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [program("kubectl"), *arguments]
    return run_command(command, Path(config), PATH=f"{BIN}:/usr/bin:/bin")


def test_kubectl_lists_and_runs_the_plugin(programs: None) -> None:
    plugin = str(BIN / "kubectl-fabric_injector")
    assert plugin in run("/dev/null", "plugin", "list").stdout.splitlines()
    done = run("/dev/null", "fabric-injector", "--version")
    assert done.stdout.strip() == f"fabric-injector, version {__version__}", done.stderr


def test_the_plugin_takes_kubectls_own_options(
    control_plane: ControlPlane, namespace: NamespaceFactory, tmp_path: Path
) -> None:
    config, name = control_plane.admin, namespace()
    (tmp_path / "pod.yaml").write_text(yaml.safe_dump(pod("p")))
    command = ("fabric-injector", "dry-run", "-f", tmp_path / "pod.yaml", "--server", "-o", "json")
    options = ("--kubeconfig", config, "--context", "test", "-n", name)
    done = run("/dev/null", *command, *options)
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load(done.stdout)["pods"][0]["namespace"] == name
    wrong = run(config, "fabric-injector", "certs", "show", "--context", "absent")
    assert wrong.returncode == 2
    assert (
        "context absent: Invalid kube-config file. Expected object with name absent" in wrong.stderr
    )
