"""Pod info: the files of network-resources-injector, beside whatever is mounted at their path already."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.builders import attachment, carry_out, message, outcomes, plan, profile, volume_at
from tests.pods import minimal_container, minimal_pod
from webhook.core.injection.pod_info import inject
from webhook.core.model import Object, Outcome, Reason
from webhook.core.profiles import PodInfo, Profile

ADDED, KEPT = (Outcome.INJECTED, Reason.ADDED), (Outcome.KEPT, Reason.ALREADY_THERE)
PATH = "/etc/podnetinfo"
RAIL = attachment()
LABELS = {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}
ANNOTATIONS = {"path": "annotations", "fieldRef": {"fieldPath": "metadata.annotations"}}
NAMESPACE = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
BOTH = profile(pod_info=PodInfo(labels=True, annotations=True))
HUGEPAGES = profile(pod_info=PodInfo(hugepages=True))


def _hugepages(size: str, kind: str, container: str, resource: str) -> Object:
    reference = {"containerName": container, "resource": f"{kind}s.{resource}", "divisor": "1Mi"}
    return {"path": f"hugepages_{size}_{kind}_{container}", "resourceFieldRef": reference}


def _of_trainer(*resources: tuple[str, str]) -> list[Object]:
    return [_hugepages(size, kind, "trainer", name) for size, name in resources for kind in ("request", "limit")]


def test_skips_hugepages_of_amount_zero_however_it_is_written() -> None:
    pod = minimal_pod(
        minimal_container(resources={"limits": {"hugepages-1Gi": "0Gi"}, "requests": {"hugepages-2Mi": 0.0}})
    )
    result, decisions = carry_out(inject, pod, plan(pod, RAIL, profile=HUGEPAGES))
    assert result == pod
    assert outcomes(decisions) == [(Outcome.SKIPPED, Reason.NOT_ASKED)]


def test_leaves_a_volume_that_only_an_init_container_mounts_elsewhere() -> None:
    items = [{"path": "labels", "fieldRef": {"fieldPath": "metadata.name"}}]
    early = minimal_container("early", volumeMounts=[{"name": "podnetinfo", "mountPath": "/early"}])
    pod = minimal_pod(initContainers=[early], volumes=[{"name": "podnetinfo", "downwardAPI": {"items": items}}])
    result, _ = carry_out(inject, pod, plan(pod, RAIL, profile=BOTH))
    assert volume_at(result, PATH) == {"name": "podnetinfo-2", "downwardAPI": {"items": [LABELS, ANNOTATIONS]}}
    assert result["spec"]["volumes"][0] == pod["spec"]["volumes"][0]


def test_leaves_a_container_without_a_name_to_the_api_server() -> None:
    pod = minimal_pod(minimal_container(), {"image": "i", "resources": {"limits": {"hugepages-2Mi": "2Mi"}}})
    result, decisions = carry_out(inject, pod, plan(pod, RAIL, profile=HUGEPAGES))
    assert outcomes(decisions) == [ADDED]
    assert len(result["spec"]["containers"]) == 2


def _mount(volume: str, path: str = PATH) -> Object:
    return {"name": volume, "mountPath": path}


@pytest.mark.parametrize(
    ("chosen", "items"),
    [
        pytest.param(BOTH, [LABELS, ANNOTATIONS], id="labels-and-annotations"),
        pytest.param(profile(pod_info=PodInfo(annotations=True)), [ANNOTATIONS], id="annotations"),
    ],
)
def test_mounts_files_in_every_container(chosen: Profile, items: Any) -> None:
    pod = minimal_pod(minimal_container(), minimal_container("side"), initContainers=[minimal_container("early")])
    result, decisions = carry_out(inject, pod, plan(pod, RAIL, profile=chosen))
    for index in (0, 1):
        assert volume_at(result, PATH, index) == {"name": "podnetinfo", "downwardAPI": {"items": items}}
        assert result["spec"]["containers"][index]["volumeMounts"] == [{**_mount("podnetinfo"), "readOnly": True}]
        assert "env" not in result["spec"]["containers"][index]
    assert result["spec"]["initContainers"] == pod["spec"]["initContainers"]
    assert outcomes(decisions) == [ADDED]


@pytest.mark.parametrize(
    ("resources", "items"),
    [
        pytest.param({"limits": {"hugepages-1Gi": "2Gi"}}, _of_trainer(("1G", "hugepages-1Gi")), id="limit-only"),
        pytest.param(
            {
                "limits": {"hugepages-2Mi": "2Gi", "hugepages-1Gi": 1},
                "requests": {"hugepages-2Mi": "2Gi", "memory": "1Gi"},
            },
            _of_trainer(("1G", "hugepages-1Gi"), ("2M", "hugepages-2Mi")),
            id="two-sizes",
        ),
        pytest.param(
            {"limits": {"hugepages-2Mi": "much"}},
            _of_trainer(("2M", "hugepages-2Mi")),
            id="an-amount-that-the-api-server-will-refuse",
        ),
    ],
)
def test_shows_hugepages(resources: Object, items: Any) -> None:
    pod = minimal_pod(minimal_container(resources=resources), minimal_container("side"))
    result, decisions = carry_out(inject, pod, plan(pod, RAIL, profile=HUGEPAGES))
    assert (
        volume_at(result, PATH) == volume_at(result, PATH, 1) == {"name": "podnetinfo", "downwardAPI": {"items": items}}
    )
    assert result["spec"]["containers"][0]["env"] == [{"name": "CONTAINER_NAME", "value": "trainer"}]
    assert "env" not in result["spec"]["containers"][1]
    assert outcomes(decisions) == [ADDED]
    assert message(decisions, Outcome.INJECTED) == f"{PATH} holds {', '.join(item['path'] for item in items)}"


def test_shows_the_hugepages_of_each_container() -> None:
    resources = {"limits": {"hugepages-1Gi": "2Gi"}}
    pod = minimal_pod(minimal_container(resources=resources), minimal_container("side", resources=resources))
    result, _ = carry_out(inject, pod, plan(pod, RAIL, profile=HUGEPAGES))
    paths = [item["path"] for item in volume_at(result, PATH)["downwardAPI"]["items"]]
    assert paths == [f"hugepages_1G_{kind}_{name}" for name in ("trainer", "side") for kind in ("request", "limit")]
    assert [container["env"][0]["value"] for container in result["spec"]["containers"]] == ["trainer", "side"]


@pytest.mark.parametrize("resources", [{}, {"limits": {"hugepages-1Gi": "0"}}, {"limits": {"memory": "1Gi"}}])
def test_skips_where_no_container_asks_for_hugepages(resources: Object) -> None:
    pod = minimal_pod(minimal_container(resources=resources))
    result, decisions = carry_out(inject, pod, plan(pod, RAIL, profile=HUGEPAGES))
    assert result == pod
    assert outcomes(decisions) == [(Outcome.SKIPPED, Reason.NOT_ASKED)]


def test_skips_where_the_profile_offers_nothing() -> None:
    pod = minimal_pod(minimal_container(resources={"limits": {"hugepages-1Gi": "2Gi"}}))
    result, decisions = carry_out(inject, pod, plan(pod))
    assert result == pod
    assert outcomes(decisions) == [(Outcome.SKIPPED, Reason.NOT_ASKED)]


def test_leaves_pods_without_network_and_device_alone() -> None:
    pod = minimal_pod()
    result, decisions = carry_out(inject, pod, plan(pod, profile=BOTH))
    assert result == pod
    assert outcomes(decisions) == [(Outcome.SKIPPED, Reason.NOT_ASKED)]
    with_device = profile(pod_info=PodInfo(labels=True), resources={"vpc.amazonaws.com/efa": "1"})
    result, _ = carry_out(inject, pod, plan(pod, profile=with_device))
    assert volume_at(result, PATH)["downwardAPI"] == {"items": [LABELS]}


def test_keeps_the_users_container_name() -> None:
    entry = {"name": "CONTAINER_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    pod = minimal_pod(minimal_container(resources={"limits": {"hugepages-1Gi": "2Gi"}}, env=[entry]))
    result, _ = carry_out(inject, pod, plan(pod, RAIL, profile=HUGEPAGES))
    assert result["spec"]["containers"][0]["env"] == [entry]


@pytest.mark.parametrize(
    ("volume", "mounted_at", "items", "wanted"),
    [
        pytest.param(
            "podnetinfo", PATH, [NAMESPACE], ("podnetinfo", [NAMESPACE, LABELS, ANNOTATIONS]), id="same-name-and-path"
        ),
        pytest.param(
            "mine", "/etc/podnetinfo/", [NAMESPACE], ("mine", [NAMESPACE, LABELS, ANNOTATIONS]), id="other-name"
        ),
        pytest.param("mine", PATH, None, ("mine", [LABELS, ANNOTATIONS]), id="no-items"),
        pytest.param("podnetinfo", "/etc/x", [NAMESPACE], ("podnetinfo-2", [LABELS, ANNOTATIONS]), id="other-path"),
        pytest.param("mine", "/etc/x", [NAMESPACE], ("podnetinfo", [LABELS, ANNOTATIONS]), id="other-name-and-path"),
        pytest.param("podnetinfo", PATH, [ANNOTATIONS, LABELS], ("podnetinfo", [ANNOTATIONS, LABELS]), id="all-there"),
        pytest.param(
            "podnetinfo",
            PATH,
            [{"path": "labels", "fieldRef": {"fieldPath": "metadata.name"}}],
            ("podnetinfo", [{"path": "labels", "fieldRef": {"fieldPath": "metadata.name"}}, ANNOTATIONS]),
            id="users-own-content",
        ),
    ],
)
def test_completes_what_is_mounted(volume: str, mounted_at: str, items: Any, wanted: tuple[str, list[Object]]) -> None:
    pod = minimal_pod(
        minimal_container(volumeMounts=[_mount(volume, mounted_at)]),
        volumes=[{"name": volume, "downwardAPI": {"items": items, "defaultMode": 420}}],
    )
    result, _ = carry_out(inject, pod, plan(pod, RAIL, profile=BOTH))
    by_name = {one["name"]: one["downwardAPI"]["items"] for one in result["spec"]["volumes"]}
    assert by_name[wanted[0]] == wanted[1]
    if wanted[0] != volume:
        assert by_name[volume] == items
    mounts = {one["mountPath"].rstrip("/"): one["name"] for one in result["spec"]["containers"][0]["volumeMounts"]}
    assert mounts[PATH] == wanted[0]


def test_shares_the_volume_of_another_container() -> None:
    pod = minimal_pod(
        minimal_container("side"),
        minimal_container(volumeMounts=[_mount("mine")]),
        volumes=[{"name": "mine", "downwardAPI": {"items": [LABELS]}}],
    )
    result, decisions = carry_out(inject, pod, plan(pod, RAIL, container=1, profile=BOTH))
    assert (
        volume_at(result, PATH, 0)
        == volume_at(result, PATH, 1)
        == {"name": "mine", "downwardAPI": {"items": [LABELS, ANNOTATIONS]}}
    )
    assert outcomes(decisions) == [ADDED]


def test_completes_the_volume_of_each_container() -> None:
    pod = minimal_pod(
        *(minimal_container(name, volumeMounts=[_mount(name)]) for name in ("trainer", "side")),
        volumes=[{"name": name, "downwardAPI": {"items": [NAMESPACE]}} for name in ("trainer", "side")],
    )
    result, _ = carry_out(inject, pod, plan(pod, RAIL, profile=BOTH))
    for index in (0, 1):
        assert volume_at(result, PATH, index)["downwardAPI"] == {"items": [NAMESPACE, LABELS, ANNOTATIONS]}


def test_leaves_another_kind_of_volume_alone() -> None:
    pod = minimal_pod(
        minimal_container(volumeMounts=[_mount("mine")]), volumes=[{"name": "mine", "configMap": {"name": "podinfo"}}]
    )
    result, decisions = carry_out(inject, pod, plan(pod, RAIL, profile=BOTH))
    assert result == pod
    assert outcomes(decisions) == [KEPT, (Outcome.WARNED, Reason.USER_VALUE)]


def test_leaves_a_mount_of_no_volume_to_the_api_server() -> None:
    pod = minimal_pod(minimal_container(volumeMounts=[_mount("absent")]))
    result, decisions = carry_out(inject, pod, plan(pod, RAIL, profile=BOTH))
    assert result == pod
    assert outcomes(decisions) == [KEPT]


def test_keeps_what_network_resources_injector_made() -> None:
    """The shape is that of network-resources-injector, with the API server's defaults."""
    items = [
        {"path": "labels", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"}},
        {"path": "annotations", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.annotations"}},
    ]
    pod = minimal_pod(
        minimal_container(volumeMounts=[{**_mount("podnetinfo"), "readOnly": True}]),
        volumes=[{"name": "podnetinfo", "downwardAPI": {"items": items, "defaultMode": 420}}],
    )
    result, decisions = carry_out(inject, pod, plan(pod, RAIL, profile=BOTH))
    assert result == pod
    assert outcomes(decisions) == [KEPT]


def test_serves_a_container_that_was_added_later() -> None:
    pod = minimal_pod()
    result, _ = carry_out(inject, pod, plan(pod, RAIL, profile=BOTH))
    result["spec"]["containers"].insert(0, minimal_container("injected"))
    again, _ = carry_out(inject, result, plan(result, RAIL, container=1, profile=BOTH))
    assert volume_at(again, PATH, 0) == volume_at(again, PATH, 1)
    assert len(again["spec"]["volumes"]) == 1
