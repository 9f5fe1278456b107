"""``fabric-injector test`` on a real API server and Job controller; the test plays the nodes on which its pods run."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import wait_until
from tests.worlds import network
from webhook.core import names

from .client import Client
from .conftest import NamespaceFactory
from .controlplane import ControlPlane

INDEX = "batch.kubernetes.io/job-completion-index"
LABELS = {names.PROFILE: "rdma-shared", "pod-security.kubernetes.io/enforce": "privileged"}
Start = Callable[..., "subprocess.Popen[str]"]
pytestmark = pytest.mark.usefixtures("controller_manager", "fabric", "webhook")


@pytest.fixture(scope="module")
def fabric(api: Client) -> None:
    """Make the network of the profile."""
    api.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
    api.ensure(network("default/rdma-net-ipam"))


@pytest.fixture
def start(control_plane: ControlPlane, webhook_command: list[str], tmp_path: Path) -> Iterator[Start]:
    """Give a function that starts the command in a namespace, with the rights of a token's bearer."""
    running = []

    def begin(space: str, *words: str, token: str | None = None) -> "subprocess.Popen[str]":
        config = control_plane.kubeconfig(tmp_path / "kubeconfig", token)
        command = [*webhook_command, "test", "-n", space, "--image=tester:1", "-o", "json", *words]
        environ = {**os.environ, "KUBECONFIG": str(config), "KUBERNETES_SERVICE_HOST": ""}
        pipe = subprocess.PIPE
        running.append(subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environ))
        return running[-1]

    yield begin
    for one in running:
        one.kill()
        one.communicate()


def pods_of(api: Client, space: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.expect("GET", f"/api/v1/namespaces/{space}/pods")["items"]
    return found


def jobs_of(api: Client, space: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.expect("GET", f"/apis/batch/v1/namespaces/{space}/jobs")["items"]
    return found


def end(api: Client, pod: dict[str, Any]) -> None:
    """Write what Multus and the kubelet would of a rank that has met rank 0."""
    rank = int(pod["metadata"]["annotations"][INDEX])
    report: dict[str, Any] = {
        "rank": rank,
        "devices": {"/dev/infiniband/uverbs0": ""},
        "memlock": -1,
        "sharedMemory": 1 << 30,
    }
    if rank:
        report |= {"met": {"at": "10.9.0.1"}, "fabric": {"gbits": 9.0, "micros": 20.0}}
    status = [{"name": "default/rdma-net-ipam", "interface": "net1", "ips": [f"10.9.0.{rank + 1}"], "dns": {}}]
    path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
    api.expect("PATCH", path, {"metadata": {"annotations": {names.NETWORK_STATUS: json.dumps(status)}}})
    ended = {"exitCode": 0, "message": json.dumps(report)}
    container = {
        "name": "rank",
        "image": "x",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {"terminated": ended},
    }
    api.expect("PATCH", f"{path}/status", {"status": {"phase": "Succeeded", "containerStatuses": [container]}})


def test_the_life_of_a_test(api: Client, namespace: NamespaceFactory, start: Start) -> None:
    space = namespace(LABELS)
    command = start(space, "--queue=team")
    wait_until(lambda: len(pods_of(api, space)) == 2, "the pods of both ranks", 60)
    [job] = jobs_of(api, space)
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team"
    for pod in pods_of(api, space):
        assert "nodeName" not in pod["spec"]
        assert pod["metadata"]["annotations"][names.NETWORKS]
        [variable] = [each for each in pod["spec"]["containers"][0]["env"] if each["name"] == "MASTER_ADDR"]
        assert names.MASTER_ADDR in variable["valueFrom"]["fieldRef"]["fieldPath"]
        end(api, pod)
    output, progress = command.communicate(timeout=60)
    assert command.returncode == 0, (output, progress)
    document = json.loads(output)
    [group] = document["groups"]
    assert (group["address"], group["fabricGbits"], group["failed"]) == ("10.9.0.1", 9.0, False)
    assert {finding["level"] for finding in document["findings"]} == {"ok"}
    assert "2/2 created, 2/2 injected" in progress
    wait_until(lambda: not jobs_of(api, space) and not pods_of(api, space), "all of it to be gone", 60)


@pytest.mark.parametrize(
    ("words", "named", "used"),
    [((), None, ["of-the-account"]), (("--image-pull-secret=of-the-flag",), ["of-the-flag"], ["of-the-flag"])],
)
def test_the_image_is_pulled_by_the_secret_that_is_named_else_by_those_of_the_service_account(
    api: Client,
    namespace: NamespaceFactory,
    start: Start,
    words: tuple[str, ...],
    named: list[str] | None,
    used: list[str],
) -> None:
    space = namespace(LABELS)
    account = f"/api/v1/namespaces/{space}/serviceaccounts/default"
    api.expect("PATCH", account, {"imagePullSecrets": [{"name": "of-the-account"}]})
    start(space, *words)
    wait_until(lambda: len(pods_of(api, space)) == 2, "the pods of both ranks", 60)
    [job] = jobs_of(api, space)
    asked = job["spec"]["template"]["spec"].get("imagePullSecrets")
    assert (asked and [each["name"] for each in asked]) == named
    for pod in pods_of(api, space):
        assert [each["name"] for each in pod["spec"]["imagePullSecrets"]] == used


def test_a_quota_is_a_finding_of_its_own(api: Client, namespace: NamespaceFactory, start: Start) -> None:
    space = namespace(LABELS)
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": {"pods": "0"}}}
    api.ensure(quota, space)
    path = f"/api/v1/namespaces/{space}/resourcequotas/few"
    wait_until(lambda: "hard" in (api.expect("GET", path).get("status") or {}), "the quota to count", 60)
    command = start(space, "--timeout=60")
    output, progress = command.communicate(timeout=120)
    assert command.returncode == 1, (output, progress)
    codes = [finding["code"] for finding in json.loads(output)["findings"] if finding["level"] == "fail"]
    assert codes[0] == "quota-refused", output
    assert codes[-1] == "test-unfinished"


def test_who_may_not_create_jobs_is_told_so(
    control_plane: ControlPlane, namespace: NamespaceFactory, start: Start
) -> None:
    space = namespace(LABELS)
    command = start(space, token=control_plane.service_account_token(space, "default"))
    _, error = command.communicate(timeout=60)
    assert command.returncode == 2
    assert 'cannot create resource "jobs"' in error
    assert "a test creates and deletes jobs.batch" in error


def test_a_namespace_that_observes_is_told_so(api: Client, namespace: NamespaceFactory, start: Start) -> None:
    """It may be known where no profile can be read, as here."""
    output, _ = (command := start(namespace({**LABELS, names.MODE: names.MODE_OBSERVE}))).communicate(timeout=60)
    assert command.returncode == 1
    first, *_, last = json.loads(output)["findings"]
    assert (first["code"], last["code"]) == ("namespace-observes", "test-not-injected")
    assert "only observes" in first["message"]
    assert last["action"] == "see what is said of these pods", "and not to label what is labelled"


def test_ctrl_c_deletes_the_job(api: Client, namespace: NamespaceFactory, start: Start) -> None:
    space = namespace(LABELS)
    command = start(space)
    wait_until(lambda: pods_of(api, space), "a pod", 60)
    command.send_signal(signal.SIGINT)
    output, progress = command.communicate(timeout=60)
    assert (command.returncode, output) == (130, "")
    assert "deleted before its end" in progress
    wait_until(lambda: not jobs_of(api, space) and not pods_of(api, space), "all of it to be gone", 60)


def test_a_namespace_without_label_is_told_at_once(api: Client, namespace: NamespaceFactory, start: Start) -> None:
    space = namespace({})
    output, _ = (command := start(space)).communicate(timeout=60)
    assert command.returncode == 1
    assert "test-not-injected" in {finding["code"] for finding in json.loads(output)["findings"]}
    wait_until(lambda: not jobs_of(api, space), "the Job to be gone", 60)


def test_killed_it_leaves_nothing_after_deadline_and_time_to_live(
    api: Client, namespace: NamespaceFactory, start: Start
) -> None:
    space = namespace(LABELS)
    command = start(space, "--timeout=20")
    wait_until(lambda: len(pods_of(api, space)) == 2, "the pods of both ranks", 60)
    command.kill()
    [job] = jobs_of(api, space)
    times = {key: job["spec"][key] for key in ("activeDeadlineSeconds", "ttlSecondsAfterFinished")}
    assert times == {"activeDeadlineSeconds": 80, "ttlSecondsAfterFinished": 60}
    path = f"/apis/batch/v1/namespaces/{space}/jobs/{job['metadata']['name']}"
    api.expect("PATCH", path, {"spec": dict.fromkeys(times, 1)})  # seconds, so as not to wait for that long
    wait_until(lambda: not jobs_of(api, space) and not pods_of(api, space), "all of it to be gone", 60)
