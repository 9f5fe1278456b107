"""The wait step in real containers: under each shell, without privileges, for a new sandbox, and until its time is up."""

import time

import pytest

from tests.cluster.client import Client
from tests.cluster.controller import Controller
from tests.cluster.node import jobs
from tests.cluster.node.images import ASH, BASH, DASH, NCCL_CONF
from tests.cluster.node.node import Node
from tests.cluster.node.pods import SECONDS, create
from tests.waiting import wait_until
from webhook.core import names
from webhook.core.model import Object

from .conftest import NamespaceFactory

pytestmark = pytest.mark.usefixtures("webhook", "controller")
RESTRICTED = {
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
STILL_WAITING_SECONDS = 2


@pytest.mark.parametrize(("image", "shell"), [(DASH, "dash"), (ASH, "busybox"), (BASH, "bash")])
def test_it_runs_under_the_shell_of_the_image(
    api: Client, namespace: NamespaceFactory, image: str, shell: str
) -> None:
    command = [
        "sh",
        "-c",
        "python -c 'import os; print(os.path.realpath(\"/bin/sh\"))'; exec torchrun train.py",
    ]
    pods = jobs.start_pods(
        api, [*jobs.pytorchjob(image=image, command=command)], namespace("rdma-shared")
    )
    for report in [pod.report() for pod in pods]:
        assert report.environment["MASTER_ADDR"] == pods[0].fabric_address()
        assert report.pod.log("pytorch").splitlines()[0].endswith(f"/{shell}")
        told = report.pod.log(names.WAIT_CONTAINER).splitlines()
        assert len(told) == 1, "nothing but what it waits for: every check was possible"
        assert "waiting for master-addr" in told[0]


def test_it_passes_the_restricted_level(api: Client, namespace: NamespaceFactory) -> None:
    """The pod is admitted where PodSecurity enforces restricted, and runs as its own user without any capability."""
    name = namespace("unprivileged", {"pod-security.kubernetes.io/enforce": "restricted"})
    pods = jobs.start_pods(api, [*jobs.pytorchjob(securityContext=RESTRICTED)], name)
    for report in [pod.report() for pod in pods]:
        assert report.train["environment"]["MASTER_ADDR"] == pods[0].fabric_address()
        assert report.train["capabilities"] == 0
        assert report.train["user"] == 1000


def test_it_writes_nccls_settings_before_those_of_the_image(
    api: Client, namespace: NamespaceFactory
) -> None:
    """As the training container's own user, into the one file that a rank which inherits no variable reads."""
    context = {"runAsUser": 1000, "runAsNonRoot": True}
    manifest = jobs.pytorchjob(command=["cat", "/etc/nccl.conf"], securityContext=context)[0]
    pod = create(api, manifest, namespace("nccl-conf"))
    pod.wait(lambda found: found["status"]["phase"] == "Succeeded", "its end")
    assert pod.log("pytorch") == f"NCCL_CROSS_NIC=1\nNCCL_SOCKET_IFNAME==net1\n{NCCL_CONF}\n"


def test_the_address_of_an_earlier_sandbox_does_not_end_the_wait(
    api: Client, namespace: NamespaceFactory, node: Node, controller: Controller
) -> None:
    """After a node's reboot the same pod has another address and its annotations still the old one."""
    master, _ = jobs.pytorchjob()
    assert master["spec"]["restartPolicy"] == "OnFailure"
    master["spec"]["terminationGracePeriodSeconds"] = 1
    pod = create(api, master, namespace("rdma-shared"))
    before = pod.environment()["MASTER_ADDR"]
    assert before == pod.fabric_address()
    controller.stop()
    node.containerd.kill_sandbox(pod.uid)
    pod.wait(
        lambda _: pod.fabric_address() not in ("", before), "another address of its new sandbox"
    )
    # the pod's status says that the wait has ended until it ends again: kubelets refuse to write it otherwise
    wait_until(
        lambda: node.containerd.runs(pod.uid, names.WAIT_CONTAINER),
        "the wait of the new sandbox",
        SECONDS,
    )
    time.sleep(STILL_WAITING_SECONDS)
    assert node.containerd.runs(pod.uid, names.WAIT_CONTAINER), pod.describe()
    assert not node.containerd.runs(pod.uid, "pytorch")
    assert pod.annotation(names.MASTER_ADDR) == pod.annotation(names.LOCAL_ADDR) == before
    controller.start()
    wait_until(
        lambda: node.containerd.runs(pod.uid, "pytorch"),
        "the training container of the new sandbox",
        SECONDS,
    )
    pod.wait(lambda _: pod.environment()["MASTER_ADDR"] != before, "its new environment")
    environment = pod.environment()
    assert environment["MASTER_ADDR"] == environment["PET_LOCAL_ADDR"] == pod.fabric_address()


def test_it_says_what_was_missing_when_its_time_is_up(
    api: Client, namespace: NamespaceFactory, controller: Controller
) -> None:
    """Without a controller nothing is published: an OnFailure pod waits again, and its status says why."""
    controller.stop()
    pod = create(api, jobs.pytorchjob()[0], namespace("impatient"))
    pod.wait(lambda found: _last_end(found).get("exitCode") == 75, "the end of the wait's time")
    message = _last_end(pod.get())["message"]
    assert pod.get()["metadata"]["labels"][names.JOB] in message
    assert "master-addr" in message
    controller.start()
    pod.wait_until_running("pytorch")
    assert pod.environment()["MASTER_ADDR"] == pod.fabric_address()


def _last_end(pod: Object) -> Object:
    statuses = pod["status"].get("initContainerStatuses", [])
    ends = [
        one[state]["terminated"]
        for one in statuses
        for state in ("lastState", "state")
        if "terminated" in one[state]
    ]
    return ends[0] if ends else {}
