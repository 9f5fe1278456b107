"""Replicas that come, go and die, and certificates that change, while pods are created fifty times a second."""

import signal
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3
import yaml

from tests.cluster.client import Client
from tests.cluster.controlplane import BASE, ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.service import Service
from tests.cluster.traffic import POD, Traffic
from tests.cluster.webhook import default_configuration
from tests.waiting import wait_until
from webhook.core import names

PROFILE = {"fabric-injector.io/profile": "train"}
JOB_PODS = 300
RESTRICTED = {
    **POD,
    "spec": {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                **POD["spec"]["containers"][0],
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                },
            }
        ],
    },
}
REVIEW = (
    BASE.parents[1]
    / "tests/fixtures/live/torchx-volcano/pods-train-fgwp3pq7vkl4vc-train-0-0.review.json"
)
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def service(
    control_plane: ControlPlane, webhook_command: list[str], tmp_path: Path
) -> Iterator[Service]:
    with Service(control_plane, tmp_path / "service", webhook_command) as running:
        yield running


@pytest.fixture
def labelled(namespace: NamespaceFactory) -> str:
    return namespace("train")


@pytest.mark.timeout(240)
def test_rolls_out_without_a_failed_admission(service: Service, api: Client, labelled: str) -> None:
    with Traffic(api, labelled) as traffic:
        assert service.roll() == [0, 0]
        after = traffic.admitted
        wait_until(lambda: traffic.admitted > after + 100, "admissions by the new replicas", 20)
    assert traffic.failures == []
    assert all("Traceback" not in replica.output() for replica in service.replicas)


@pytest.mark.timeout(240)
def test_serves_on_after_sigterm_and_ends_though_requests_never_cease(service: Service) -> None:
    """What a kubelet would have to kill after the shipped grace period has failed."""
    deployment = yaml.safe_load((BASE / "deployment-webhook.yaml").read_text())
    grace = deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    review = REVIEW.read_bytes()
    replica = service.replicas[0]
    pool = urllib3.PoolManager(
        retries=False,
        timeout=20,
        ssl_context=ssl.create_default_context(cafile=service.tls_dir / "ca.crt"),
    )
    answered, failures = list[str](), list[str]()
    ended = threading.Event()

    def ask() -> None:
        while not ended.is_set():
            try:
                reply = pool.request(
                    "POST", f"{replica.url}/mutate?timeout=5s", body=review, headers=JSON
                )
            except urllib3.exceptions.HTTPError as error:
                failures.append(repr(error))
                return
            if reply.status != 200:
                failures.append(f"{reply.status} {reply.data!r}")
            answered.append(reply.headers.get("connection", ""))
            time.sleep(0.02)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        wait_until(lambda: len(answered) > 20, "answers", 20)
        assert set(answered) == {""}
        replica.signal(signal.SIGTERM)
        wait_until(lambda: replica.status("/readyz") == 503, "the replica to be not ready", 20)
        after = len(answered) + 2
        wait_until(lambda: len(answered) > after + 100, "answers after SIGTERM", 20)
        assert set(answered[after:]) == {"close"}
        assert failures == []
        assert replica.wait(grace) == 0
    finally:
        ended.set()
        asking.join()
    assert len(failures) == 1, "the last request finds nobody"
    assert "refused" in failures[0]


@pytest.mark.timeout(300)
def test_a_killed_replica_costs_only_what_it_was_asked_and_every_pod_of_a_job_exists(
    service: Service,
    api: Client,
    controller_manager: ControlPlane,
    namespace: NamespaceFactory,
    labelled: str,
) -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {
            "parallelism": JOB_PODS,
            "completions": JOB_PODS,
            "template": {"spec": {**POD["spec"], "restartPolicy": "Never"}},
        },
    }
    where = namespace("train")
    pods = f"/api/v1/namespaces/{where}/pods"
    victim = service.replicas[0]
    with Traffic(api, labelled) as traffic:
        assert api.create(job, where).status == 201
        wait_until(lambda: traffic.admitted > 50, "admissions", 20)
        killed = time.monotonic()
        victim.stop(force=True)
        wait_until(
            lambda: not service.balancer.serves(victim.port),
            "the endpoint to be removed",
            20,
            interval=0.01,
        )
        removed = time.monotonic()
        wait_until(
            lambda: len(api.expect("GET", pods)["items"]) == JOB_PODS,
            "every pod of the Job",
            150,
            interval=1,
        )
        victim.start()
        wait_until(
            lambda: service.balancer.serves(victim.port),
            "the endpoint of the replica that was restarted",
            30,
        )
        after = traffic.admitted
        wait_until(lambda: traffic.admitted > after + 50, "admissions by both", 20)
    unexplained = [each for each in traffic.failures if each.begun > removed or each.ended < killed]
    assert unexplained == []
    for pod in api.expect("GET", pods)["items"]:
        assert names.STATUS in pod["metadata"]["annotations"]


def test_never_calls_for_pods_of_kube_system_and_whatever_else_is_excluded(
    service: Service, api: Client, control_plane: ControlPlane
) -> None:
    """They carry the label, and no replica answers: their pods exist all the same."""
    metric = "apiserver_admission_webhook_request_total"
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    (entry,) = default_configuration()["webhooks"]
    (never,) = (
        each["values"]
        for each in entry["namespaceSelector"]["matchExpressions"]
        if each["operator"] == "NotIn"
    )
    assert "kube-system" in never
    try:
        for where in never:
            api.expect("PATCH", f"/api/v1/namespaces/{where}", {"metadata": {"labels": PROFILE}})
            api.ensure(account, where)
        for replica in list(service.replicas):
            service.terminate(replica)
        before = control_plane.metric(metric, name="pods.fabric-injector.io")
        for where in never:
            answer = api.create(RESTRICTED, where, dry_run=True)
            assert answer.status == 201, answer.message
        assert control_plane.metric(metric, name="pods.fabric-injector.io") == before
    finally:
        for where in never:
            api.expect(
                "PATCH",
                f"/api/v1/namespaces/{where}",
                {"metadata": {"labels": dict.fromkeys(PROFILE)}},
            )
