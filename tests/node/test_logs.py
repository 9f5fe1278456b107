"""``explain --logs`` with a real kubelet."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests import pods as fixtures
from tests.cluster.client import Client
from tests.cluster.node import jobs
from tests.cluster.node.images import NO_SHELL
from tests.cluster.node.node import Node
from tests.cluster.node.pods import Pod
from tests.cluster.webhook import installed_command
from webhook.core.model import Object

from .conftest import NamespaceFactory

pytestmark = pytest.mark.usefixtures("webhook", "controller")
FOLDER = ROOT / "tests" / "fixtures" / "nccl"
STAY = "import time; print('ready', flush=True); time.sleep(600)"


def prints(name: str) -> str:
    """Give a shell's text that prints what this fixture holds, and stays."""
    return f"printf %s {shlex.quote((FOLDER / f'{name}.log').read_text())}; exec python -c {shlex.quote(STAY)}"


def explain(node: Node, folder: Path, space: str, *words: str) -> list[dict[str, Any]]:
    """Ask as an administrator about job bert; give what is found of its transport, and what could not be read."""
    command = installed_command()
    assert command is not None
    kubeconfig = node.control_plane.kubeconfig(folder / "admin.kubeconfig")
    done = subprocess.run(
        [
            *command,
            "explain",
            "job/bert",
            "-n",
            space,
            "-o",
            "json",
            f"--kubeconfig={kubeconfig}",
            *words,
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)["findings"]
    return [each for each in found if each["topic"] == "transport" or each["subject"] == "logs"]


def wait_until_ready(pods: list[Pod]) -> None:
    for pod in pods:
        pod.wait(lambda _, pod=pod: "ready" in pod.log("pytorch"), "the last line that it prints")  # type: ignore[misc]


def test_the_logs_of_a_job(
    node: Node, api: Client, namespace: NamespaceFactory, tmp_path: Path
) -> None:
    space = namespace("rdma-shared")
    pods = jobs.start_pods(
        api, jobs.shells("pytorchjob", prints("2.21-roce"), prints("2.18-socket")), space
    )
    wait_until_ready(pods)
    found = explain(node, tmp_path, space, "--logs")
    told = {each["code"]: each for each in found}
    assert "unread" not in told, found
    assert (
        "TCP in 1 (bert-worker-0); RDMA in 1 (bert-master-0)"
        in told["transports-differ"]["message"]
    )
    assert told["transport-tcp"]["subject"] == "pod bert-worker-0"
    assert "though the pod asks for rdma/rdma_shared_device_a" in told["transport-tcp"]["message"]
    assert told["transport-fabric"]["message"].startswith("trains over RDMA on mlx5_2, mlx5_3")


def test_the_log_of_the_run_before(
    node: Node, api: Client, namespace: NamespaceFactory, tmp_path: Path
) -> None:
    """The first run prints NCCL's lines and fails; the second, which has nothing to say yet, finds the mark of the first."""
    space = namespace(None)
    lines = (FOLDER / "2.18-socket.log").read_text()
    text = (
        "import os, sys\n"
        "if not os.path.exists('/dev/shm/mark'):\n"
        "    open('/dev/shm/mark', 'w').close()\n"
        f"    sys.exit(sys.stdout.write({lines!r}) and 1)\n"
        f"{STAY}"
    )
    pods = jobs.start_pods(
        api, [without_shell(pod, text) for pod in jobs.members("pytorchjob")], space
    )
    wait_until_ready(pods)
    found = explain(node, tmp_path, space, "--logs")
    tcp = next(each for each in found if each["code"] == "transport-tcp")
    assert "TCP on eth0 in the run before its container was restarted" in tcp["message"], found


def without_shell(pod: Object, text: str) -> Object:
    """Let python alone run this text, anew where it fails, beside a mark that outlives the container."""
    fixtures.set_command(pod, "python", "-c", text)
    pod["spec"].pop("initContainers", None)
    pod["spec"]["restartPolicy"] = "OnFailure"
    pod["spec"]["containers"][0]["image"] = NO_SHELL
    return pod
