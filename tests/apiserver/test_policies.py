"""Pods that other policies of a namespace judge after us: LimitRange, ResourceQuota, PodSecurity, and plain validation."""

from typing import Any

import pytest

from tests.cluster.client import Client, Response
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.objects import made, pod
from tests.cluster.webhook import Webhook
from tests.profiles import as_text
from tests.waiting import wait_until
from webhook.core import names

from .test_admission import create, manifest

PROFILES = as_text("""
shared:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
  sharedMemory: {sizeLimit: 16Gi}
skip:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
  podSecurity: skip
ignore:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
  podSecurity: ignore
most:
  networks: [{network: default/rdma-net, resource: rdma/hca, count: 9223372036854775}]
  container: {resources: {limits: {nvidia.com/hostdev: 9223372036854775}}}
  sharedMemory: {sizeLimit: 8Ei}
hugepages:
  container: {resources: {limits: {hugepages-2Mi: 64Mi}}}
""")
WHOLE = {"cpu": "4", "memory": "1Gi"}


def worker(resources: dict[str, Any] | None = None) -> dict[str, Any]:
    """Give a pod that gets a wait container, its training container with these resources."""
    pod = manifest("pods/statefulset-1.yaml")
    pod["spec"].pop("initContainers", None)
    pod["spec"]["containers"][0]["resources"] = resources or {}
    return pod


def plain(
    container: dict[str, Any] | None = None, profile: str = "shared", **spec: Any
) -> dict[str, Any]:
    """Give a pod of no training system that asks for a profile itself."""
    return pod(labels={names.PROFILE: profile}, container=container, **spec)


def limit(api: Client, namespace: str, **limits: Any) -> None:
    """Make a LimitRange, and wait until it counts: the API server reads LimitRanges from a cache."""
    mark = {"ephemeral-storage": "1Gi"}
    limits["default"] = {**limits.get("default", {}), **mark}
    body = made("v1 LimitRange", "limits")
    spec = {"limits": [{"type": "Container", **limits}]}
    api.expect("POST", f"/api/v1/namespaces/{namespace}/limitranges", {**body, "spec": spec})
    probe = plain({"resources": {"limits": {"cpu": "1", "memory": "1Ti"}}})
    probe["metadata"]["labels"] = {names.PROFILE: names.PROFILE_NONE}

    def counts() -> bool:
        answer = api.create(probe, namespace, dry_run=True)
        return (
            answer.status == 403
            or "ephemeral-storage" in answer.json["spec"]["containers"][0]["resources"]["limits"]
        )

    wait_until(counts, "the LimitRange to count")


@pytest.mark.parametrize(
    ("limits", "resources"),
    [
        pytest.param({"default": {"cpu": "500m", "memory": "512Mi"}}, None, id="defaults"),
        pytest.param(
            {"default": {"cpu": "1"}, "min": {"cpu": "1"}}, None, id="default-is-the-minimum"
        ),
        pytest.param(
            {"min": {"cpu": "4"}}, {"requests": {"cpu": "4"}, "limits": {"cpu": "8"}}, id="minimum"
        ),
        pytest.param({"min": WHOLE}, {"limits": WHOLE}, id="guaranteed-minimum"),
        pytest.param({"max": WHOLE, "min": {"memory": "1Gi"}}, {"limits": WHOLE}, id="maximum"),
        pytest.param(
            {"maxLimitRequestRatio": {"cpu": "4"}},
            {"limits": {"cpu": "4"}, "requests": {"cpu": "1"}},
            id="ratio",
        ),
        pytest.param(
            {"maxLimitRequestRatio": {"cpu": "1", "memory": "1"}},
            {"limits": WHOLE},
            id="ratio-of-one",
        ),
    ],
)
def test_a_limit_range_that_takes_the_training_container_takes_the_wait_container(
    api: Client, namespace: NamespaceFactory, webhook: Webhook, limits: Any, resources: Any
) -> None:
    where = namespace("shared")
    limit(api, where, **limits)
    left_alone = worker(resources)
    left_alone["metadata"]["labels"][names.PROFILE] = names.PROFILE_NONE
    before = create(api, left_alone, where, dry_run=True)
    after = create(api, worker(resources), where)
    assert after["spec"]["initContainers"][-1]["name"] == names.WAIT_CONTAINER
    assert after["spec"]["containers"][0]["resources"]["limits"]["rdma/hca"] == "1"
    assert after["status"]["qosClass"] == before["status"]["qosClass"]


def test_a_quota_counts_the_device_and_not_the_wait_container(
    api: Client, namespace: NamespaceFactory, webhook: Webhook
) -> None:
    """A quota that just fits the training container fits the injected pod; the second device is one too many."""
    where = namespace("shared")
    hard = {
        "requests.cpu": "4",
        "limits.cpu": "4",
        "requests.memory": "1Gi",
        "limits.memory": "1Gi",
    }
    quota = made("v1 ResourceQuota", "quota", spec={"hard": {**hard, "requests.rdma/hca": "1"}})
    counted = api.expect("POST", f"/api/v1/namespaces/{where}/resourcequotas", quota)
    hard_all = counted["spec"]["hard"]
    counted["status"] = {"hard": hard_all, "used": dict.fromkeys(hard_all, "0")}
    api.expect("PUT", f"/api/v1/namespaces/{where}/resourcequotas/quota/status", counted)

    def is_enforced() -> bool:
        too_much = plain({"resources": {"limits": {"cpu": "5", "memory": "1Gi"}}})
        return "exceeded quota" in api.create(too_much, where, dry_run=True).message

    wait_until(is_enforced, "the quota to count")
    create(api, worker({"limits": WHOLE}), where)
    used = api.expect("GET", f"/api/v1/namespaces/{where}/resourcequotas/quota")["status"]["used"]
    assert used == {**hard, "requests.rdma/hca": "1"}
    refused = api.create(plain({"resources": {"limits": {"cpu": "0", "memory": "0"}}}), where)
    assert refused.status == 403
    assert "requests.rdma/hca=1" in refused.message


PASSES = {
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def secured(api: Client, namespace: str) -> Response:
    pod = worker({"limits": WHOLE})
    pod["spec"]["containers"][0]["securityContext"] = PASSES
    return api.create(pod, namespace)


@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_pod_security_meets_each_setting_of_the_profile(
    api: Client, namespace: NamespaceFactory, webhook: Webhook, level: str
) -> None:
    enforced = {"pod-security.kubernetes.io/enforce": level}
    denied = secured(api, namespace("shared", enforced))
    assert (denied.status, "podSecurity: skip or ignore in the profile" in denied.message) == (
        422,
        True,
    )
    skipped = secured(api, namespace("skip", enforced))
    assert skipped.status == 201, skipped.message
    assert skipped.json["spec"]["containers"][0]["securityContext"] == PASSES
    assert skipped.json["spec"]["containers"][0]["resources"]["limits"]["rdma/hca"] == "1"
    ignored = secured(api, namespace("ignore", enforced))
    assert (ignored.status, f'violates PodSecurity "{level}' in ignored.message) == (403, True)
    assert names.WAIT_CONTAINER not in ignored.message


def test_the_most_that_a_profile_may_say_is_valid(
    api: Client, namespace: NamespaceFactory, webhook: Webhook
) -> None:
    created = create(api, plain(profile="most"), namespace("shared"), dry_run=True)
    limits = created["spec"]["containers"][0]["resources"]["limits"]
    assert limits == {"rdma/hca": "9223372036854775", "nvidia.com/hostdev": "9223372036854775"}


def test_names_at_their_limits_are_valid(
    api: Client, namespace: NamespaceFactory, webhook: Webhook
) -> None:
    pod = worker({"limits": WHOLE})
    long = "n" * 63
    pod["metadata"]["name"] = f"{'p' * 251}-1"
    pod["spec"]["hostname"] = pod["metadata"]["name"][:63].rstrip("-")
    pod["spec"]["containers"][0]["name"] = long
    pod["metadata"]["labels"][names.PROFILE] = "hugepages"
    pod["spec"]["containers"][0]["resources"] = {"limits": {**WHOLE, "hugepages-2Mi": "2Mi"}}
    created = create(api, pod, namespace("shared", name="t" * 63))
    assert created["metadata"]["annotations"][names.CONTAINER] == long
