"""``explain --logs`` with a real kubelet."""

import shlex

import pytest

from tests import ROOT
from tests.cluster.node import jobs
from tests.cluster.node.fixtures import NamespaceFactory
from tests.cluster.node.images import NO_SHELL
from tests.cluster.node.namespace import Namespace
from tests.cluster.node.pods import Pod
from webhook.core.model import Object

pytestmark = pytest.mark.usefixtures("webhook", "controller")
FOLDER = ROOT / "tests" / "fixtures" / "nccl"
STAY = "import time; print('ready', flush=True); time.sleep(600)"


def prints(name: str) -> str:
    """Give a shell's text that prints what this fixture holds, and stays."""
    text = shlex.quote((FOLDER / f"{name}.log").read_text())
    return f"printf %s {text}; exec python -c {shlex.quote(STAY)}"


def explain(space: Namespace, pods: list[Pod]) -> list[Object]:
    """Give what is found of job bert's transport, and of its logs, once all pods have printed."""
    for pod in pods:
        pod.wait(lambda _, pod=pod: "ready" in pod.log("pytorch"), "its last line")  # type: ignore[misc]
    found = space.explain("job/bert", "--logs")
    return [each for each in found if each["topic"] == "transport" or each["subject"] == "logs"]


def test_the_logs_of_a_job(namespace: NamespaceFactory) -> None:
    space = namespace("rdma-shared")
    texts = prints("2.21-roce"), prints("2.18-socket")
    found = explain(space, space.start(*jobs.shells("pytorchjob", *texts)))
    told = {each["code"]: each for each in found}
    assert "unread" not in told, found
    assert told["transport-tcp"]["subject"] == "pod bert-worker-0"
    assert "though the pod asks for rdma/rdma_shared_device_a" in told["transport-tcp"]["message"]
    assert told["ok"]["message"].startswith("trains over RDMA on mlx5_2, mlx5_3")


def test_the_log_of_the_run_before(namespace: NamespaceFactory) -> None:
    """The first run prints NCCL's lines and fails; the second has nothing to say yet."""
    space = namespace(None)
    lines = (FOLDER / "2.18-socket.log").read_text()
    text = (
        "import os, sys\n"
        "if not os.path.exists('/dev/shm/mark'):\n"
        "    open('/dev/shm/mark', 'w').close()\n"
        f"    sys.exit(sys.stdout.write({lines!r}) and 1)\n"
        f"{STAY}"
    )
    (master, _) = jobs.pytorchjob(image=NO_SHELL, command=["python", "-c", text])
    found = explain(space, space.start(master))
    tcp = next(each for each in found if each["code"] == "transport-tcp")
    assert "TCP on eth0 in the run before its container was restarted" in tcp["message"], found
