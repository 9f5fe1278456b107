"""``explain`` as a process, on jobs that a real API server keeps and the real webhook injected."""

from pathlib import Path

from tests.cluster.client import Client
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.jobs import as_sent
from tests.cluster.objects import made
from tests.cluster.processes import COMMAND, run_command
from tests.cluster.webhook import Webhook
from tests.pods import load
from tests.waiting import wait_until
from webhook.core import names

from .conftest import PROFILES


def test_pods_that_admission_refused_are_told_by_their_owners_events(
    api: Client,
    namespace: NamespaceFactory,
    controller_manager: ControlPlane,
    webhook: Webhook,
    tmp_path: Path,
) -> None:
    controller_manager.define_profiles(PROFILES)
    name = namespace("rdma-shared", {names.POD_SECURITY_ENFORCE: "baseline"})
    template = as_sent(load("pods/indexed-job-0.yaml"))
    spec = {**template["spec"], "restartPolicy": "Never"}
    meta = {"labels": {names.PROFILE: "rdma-shared"}}
    job = made("batch/v1 Job", "bert")
    api.ensure({**job, "spec": {"template": {"metadata": meta, "spec": spec}}}, name)
    events = f"/api/v1/namespaces/{name}/events?fieldSelector=reason%3DFailedCreate"
    wait_until(lambda: api.expect("GET", events)["items"], "the Job controller's Event")
    command = [*COMMAND, "explain", "job/bert", "-n", name]
    done = run_command(command, controller_manager.admin)
    assert done.returncode == 1, done.stderr
    first = done.stdout.splitlines()[0]
    assert first.startswith(
        "fail  Job bert: a pod of it was refused: pod bert-*: label pod-security"
    )
    assert "IPC_LOCK" in first
