"""Pods of every training system, created through a real API server with our webhook registered, and read back."""

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import urllib3

from tests import pods
from tests.apiserver.injector import AFTER, BEFORE, other_injector
from tests.cluster.client import Client
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.objects import made, without_token
from tests.cluster.webhook import Webhook
from tests.pods import is_within
from tests.profiles import as_text
from tests.waiting import wait_until
from webhook.core import names

PROFILES = as_text("""
shared:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
  sharedMemory: {sizeLimit: 16Gi}
rails:
  networks: [{network: default/rail-0}, {network: default/rail-1}]
variable:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
  container: {env: [{name: NCCL_IB_HCA, value: mlx5_0}]}
""")


def manifest(name: str) -> dict[str, Any]:
    """Give a fixture's pod as its creator sends it."""
    pod = pods.load(name)
    pod |= {"apiVersion": "v1", "kind": "Pod"}
    pod.pop("status", None)
    metadata = pod["metadata"]
    metadata.pop("namespace", None)
    metadata.pop("managedFields", None)
    return pod


def create(
    api: Client, pod: dict[str, Any], namespace: str, *, dry_run: bool = False
) -> dict[str, Any]:
    answer = api.create(pod, namespace, dry_run=dry_run)
    assert answer.status == 201, answer.message
    created: dict[str, Any] = answer.json
    return created


def ask(webhook: Webhook, pod: dict[str, Any], namespace: str) -> dict[str, Any]:
    """Give the dry run's answer about one pod."""
    url = f"{webhook.dry_run_url}/dry-run?namespace={namespace}"
    answer = urllib3.request("POST", url, body=json.dumps(pod), retries=False)
    assert answer.status == 200, answer.data
    [told] = answer.json()["pods"]
    found: dict[str, Any] = told
    return found


@pytest.mark.parametrize("name", pods.all_names())
@pytest.mark.parametrize("profile", ["shared", "rails"])
def test_every_pod_is_created_and_holds_what_was_decided(
    api: Client, namespace: NamespaceFactory, webhook: Webhook, name: str, profile: str
) -> None:
    """What the API server keeps is what the dry run tells: no field is lost in decoding, none is changed by defaulting."""
    where = namespace(profile)
    wait_until(lambda: is_known(webhook, where), "the webhook to see the namespace")
    told = ask(webhook, manifest(name), where)
    created = create(api, manifest(name), where)
    read = api.expect("GET", f"/api/v1/namespaces/{where}/pods/{created['metadata']['name']}")
    assert read["spec"] == created["spec"]
    assert is_within(without_token(told["pod"]["spec"]), without_token(read["spec"]))
    for part in ("labels", "annotations"):
        assert read["metadata"].get(part, {}) == told["pod"]["metadata"].get(part, {})
    assert read["metadata"].get("labels", {}).get(names.JOB, "") == told["job"]


def is_known(webhook: Webhook, namespace: str) -> bool:
    return bool(ask(webhook, manifest("pods/volcano-pod-0.yaml"), namespace)["profile"])


def test_pods_are_injected_from_the_first_moment_of_a_label(
    api: Client, namespace: NamespaceFactory, webhook: Webhook
) -> None:
    """A namespace that is younger than the webhook's cache is asked for, not skipped."""
    for _ in range(10):
        where = namespace("shared")
        created = create(api, manifest("pods/jobset-1.yaml"), where)
        assert created["metadata"]["annotations"][names.NETWORKS] == "default/rdma-net"


def test_a_dry_run_create_shows_the_change_and_makes_nothing(
    api: Client, control_plane: ControlPlane, namespace: NamespaceFactory, webhook: Webhook
) -> None:
    where = namespace("shared")
    pod = manifest("pods/kubeflow-pytorchjob-1.yaml")
    shown = create(api, pod, where, dry_run=True)
    assert shown["spec"]["initContainers"][-1]["name"] == names.WAIT_CONTAINER
    assert api.request("GET", f"/api/v1/namespaces/{where}/pods/bert-worker-0").status == 404
    printed = control_plane.kubectl(
        "create", "-n", where, "--dry-run=server", "-o", "json", "-f", "-", input=json.dumps(pod)
    ).stdout
    assert json.loads(printed)["metadata"]["labels"][names.RENDEZVOUS] == "worker"


def test_a_denied_pod_tells_the_user_what_to_do(
    control_plane: ControlPlane, namespace: NamespaceFactory, webhook: Webhook
) -> None:
    where = namespace("shared")
    pod = manifest("pods/statefulset-1.yaml")
    pod["metadata"]["annotations"] = {names.NETWORKS: "default/rdma-net,rail-9"}
    with pytest.raises(RuntimeError) as refusal:
        control_plane.kubectl("create", "-n", where, "-f", "-", input=json.dumps(pod))
    said = ("pods.fabric-injector.io", "denied the request", "ddp-1", names.NETWORKS, "rail-9")
    told = str(refusal.value).partition("\n")[2]
    assert [part for part in (*said, where) if part not in told] == []


def test_warnings_reach_the_user(
    control_plane: ControlPlane, namespace: NamespaceFactory, webhook: Webhook
) -> None:
    where = namespace("shared")
    pod = manifest("pods/statefulset-1.yaml")
    pod["spec"]["containers"][0]["securityContext"] = {"runAsUser": 1000}
    printed = control_plane.kubectl(
        "create", "-n", where, "--dry-run=server", "-f", "-", input=json.dumps(pod)
    )
    assert "Warning: " in printed.stderr
    assert "IPC_LOCK" in printed.stderr


VARIABLE = {"name": "A", "value": "b"}


def container(name: str, variable: str, value: str) -> dict[str, Any]:
    """Give what another webhook adds."""
    image = "registry.example.com/other:1"
    return {"name": name, "image": image, "env": [{"name": variable, "value": value}]}


@contextmanager
def injector(
    api: Client, folder: Path, where: str, name: str, *patch: dict[str, Any]
) -> Iterator[None]:
    """Run another webhook in the namespace, and return once the API server calls it."""
    with other_injector(api, folder, where, name, [*patch]):
        probe = made(
            "v1 Pod", "x", spec={"containers": [{"name": "m", "image": "i", "env": [VARIABLE]}]}
        )
        wait_until(
            lambda: len(create(api, probe, where, dry_run=True)["spec"]["containers"]) == 2,
            "the other injector to be called",
        )
        yield


def test_another_webhook_that_adds_a_container_makes_us_run_again(
    api: Client, namespace: NamespaceFactory, webhook: Webhook, tmp_path: Path
) -> None:
    where = namespace("shared")
    added = container("late", "MASTER_ADDR", "bert-master-0")
    patch = {"op": "add", "path": "/spec/containers/0", "value": added}
    with injector(api, tmp_path, where, AFTER, patch):
        before = webhook.calls()
        created = create(api, manifest("pods/kubeflow-pytorchjob-1.yaml"), where)
        assert webhook.calls() - before == 2
    late, training = created["spec"]["containers"]
    assert (late["name"], training["name"]) == ("late", "pytorch")
    field = late["env"][0]["valueFrom"]["fieldRef"]["fieldPath"]
    assert field == f"metadata.annotations['{names.MASTER_ADDR}']"
    assert "rdma/hca" not in late.get("resources", {}).get("limits", {})
    assert training["resources"]["limits"]["rdma/hca"] == "1"
    first, last = created["spec"]["initContainers"]
    assert (first["name"], last["name"]) == ("init-pytorch", names.WAIT_CONTAINER)
    assert created["metadata"]["annotations"][names.NETWORKS] == "default/rdma-net"
    assert created["metadata"]["annotations"][names.CONTAINER] == "pytorch"


def test_a_pod_that_an_earlier_webhook_changed_is_injected_as_it_then_is(
    api: Client, namespace: NamespaceFactory, webhook: Webhook, tmp_path: Path
) -> None:
    """Its sidecar gets no device; of its variable the profile's own value is left out."""
    where = namespace("variable")
    sidecar = {"op": "add", "path": "/spec/containers/-", "value": container("side", "A", "b")}
    variable = {"name": "NCCL_IB_HCA", "value": "mlx5_7"}
    added = {"op": "add", "path": "/spec/containers/0/env/-", "value": variable}
    with injector(api, tmp_path, where, BEFORE, sidecar, added):
        created = create(api, manifest("pods/kubeflow-pytorchjob-1.yaml"), where)
    training, side = created["spec"]["containers"]
    assert (training["name"], side["name"]) == ("pytorch", "side")
    assert training["resources"]["limits"]["rdma/hca"] == "1"
    assert "rdma/hca" not in side.get("resources", {}).get("limits", {})
    assert [one for one in training["env"] if one["name"] == "NCCL_IB_HCA"] == [variable]
    assert created["metadata"]["annotations"][names.CONTAINER] == "pytorch"


def test_labels_decide_what_reaches_us(
    api: Client, namespace: NamespaceFactory, webhook: Webhook
) -> None:
    pod = manifest("pods/statefulset-1.yaml")
    assert names.STATUS not in create(api, pod, namespace())["metadata"].get("annotations", {})
    where = namespace("shared")
    opted_out = copy.deepcopy(pod)
    opted_out["metadata"]["labels"][names.PROFILE] = names.PROFILE_NONE
    mirror = manifest("pods/statefulset-0.yaml")
    mirror["metadata"].setdefault("annotations", {})["kubernetes.io/config.mirror"] = "x"
    mirror["spec"] = {"nodeName": "node", "containers": [{"name": "main", "image": "i"}]}
    before = webhook.calls()
    for left_alone in (opted_out, mirror):
        created = create(api, left_alone, where)
        assert names.STATUS not in created["metadata"].get("annotations", {})
    assert webhook.calls() == before
