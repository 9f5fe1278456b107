"""How often the API server calls the webhook for one pod, by its own counter: once, unless another webhook changes the pod after us."""

from typing import Any

import pytest

from tests import pods
from tests.cluster.client import Client
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.objects import without_token
from tests.cluster.webhook import Webhook
from tests.profiles import as_text
from webhook.core import names

from .test_admission import create, manifest
from .test_policies import limit, plain

PROFILES = as_text("""
train:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
  sharedMemory: {sizeLimit: 16Gi}
file:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
  container: {env: [{name: NCCL_IB_HCA, value: mlx5_0}]}
  ncclConf: true
own-image:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
  rendezvous: {waitImage: installed}
""")
TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
NOT_AUTOMOUNTED = {"automountServiceAccountToken": False}
LIMITS: dict[str, Any] = {
    "default": {"cpu": "2", "memory": "4Gi", "ephemeral-storage": "8Gi"},
    "defaultRequest": {"cpu": "1", "memory": "2Gi", "ephemeral-storage": "1Gi"},
}


class Calls:
    """Count the calls that one block of a test makes."""

    def __init__(self, webhook: Webhook) -> None:
        self._webhook = webhook
        self._before = self._counted()

    def made(self) -> float:
        """Give how many were made since it was created."""
        return self._counted() - self._before

    def _counted(self) -> float:
        (entry,) = self._webhook.configuration["webhooks"]
        metric = "apiserver_admission_webhook_admission_duration_seconds_count"
        return self._webhook.control_plane.metric(metric, name=entry["name"], type="admit")


def wait_container(pod: dict[str, Any]) -> dict[str, Any] | None:
    """Give the pod's wait container, if it has one."""
    return next(
        (
            one
            for one in pod["spec"].get("initContainers", [])
            if one["name"] == names.WAIT_CONTAINER
        ),
        None,
    )


def is_token(mount: dict[str, Any]) -> bool:
    return bool(mount["name"].startswith("kube-api-access-"))


@pytest.mark.parametrize(
    ("profile", "limits", "spec"),
    [
        pytest.param("train", None, {}, id="token"),
        pytest.param("train", None, NOT_AUTOMOUNTED, id="no-token"),
        pytest.param("train", LIMITS, {}, id="limit-range"),
        pytest.param("file", LIMITS, {}, id="file-and-limit-range"),
        pytest.param("own-image", None, {}, id="own-image"),
    ],
)
def test_every_pod_costs_one_call(
    api: Client,
    namespace: NamespaceFactory,
    webhook: Webhook,
    profile: str,
    limits: Any,
    spec: dict[str, Any],
) -> None:
    where = namespace(profile)
    if limits:
        limit(api, where, **limits)
    create(api, plain(profile=profile), where, dry_run=True)  # the webhook knows the namespace
    sent = [manifest(name) for name in pods.all_names()]
    calls = Calls(webhook)
    created = []
    for pod in sent:
        pod["spec"] = {**without_token(pod["spec"]), **spec}
        created.append(create(api, pod, where, dry_run=True))
    assert calls.made() == len(sent)
    waiting = [found for found in map(wait_container, created) if found is not None]
    assert len(waiting) > 5
    for container in waiting:
        assert not any(map(is_token, container["volumeMounts"])), (
            "the wait container needs no token"
        )
    training = [pod["spec"]["containers"][0] for pod in created]
    mounted = sum(any(map(is_token, container.get("volumeMounts", []))) for container in training)
    assert mounted == (0 if spec else len(sent)), "the other containers get theirs as before"


def test_a_pod_that_mounts_a_token_itself_costs_one_call(
    api: Client, namespace: NamespaceFactory, webhook: Webhook
) -> None:
    where = namespace("train")
    pod = manifest("pods/kubeflow-pytorchjob-1.yaml")
    pod["spec"] = without_token(pod["spec"])
    sources = [{"serviceAccountToken": {"path": "token", "audience": "vault"}}]
    pod["spec"].setdefault("volumes", []).append(
        {"name": "vault", "projected": {"sources": sources}}
    )
    mounts = pod["spec"]["containers"][0].setdefault("volumeMounts", [])
    mounts.append({"name": "vault", "mountPath": TOKEN_PATH, "readOnly": True})
    calls = Calls(webhook)
    created = create(api, pod, where, dry_run=True)
    assert calls.made() == 1
    found = wait_container(created)
    assert found is not None
    assert {mount["name"] for mount in found["volumeMounts"]} == {names.WAIT_VOLUME}
