"""The status of FabricProfiles on a real API server: what `kubectl get fabricprofiles` shows, and what only a cluster knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.cluster.controller import Controller
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import made
from tests.waiting import wait_until
from webhook.core.profiles.objects import PLURAL, PROFILE_API_VERSION, PROFILE_KIND
from webhook.validate.definition import definition

from .conftest import NETWORK

PATH = f"/apis/{PROFILE_API_VERSION}/{PLURAL}"
TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
LABEL = "fabric-injector.io/profile"
DEVICE = "rdma/rdma_shared_device_a"
RDMA = {
    "networks": [
        {"network": "default/rdma-net-ipam", "resource": DEVICE},
        {"network": "default/rail-1"},
    ]
}


@pytest.fixture(scope="module")
def replicas(
    plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Controller]]:
    """Start two replicas before there is a CustomResourceDefinition, and install it once one of them leads."""
    space = plane.create_namespace("leases")
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("replicas")
        both = [
            stack.enter_context(Controller(plane, folder / str(number), space))
            for number in range(2)
        ]
        wait_until(lambda: sum(one.leads() for one in both) == 1, "one leader")
        said = "watch of fabricprofiles: GET /apis/fabric-injector.io/v1alpha1/fabricprofiles answered 404"
        wait_until(
            lambda: all(said in one.output() for one in both), "the missing definition to be told"
        )
        assert all(one.is_ready() for one in both), "addresses are published without it"
        plane.api.ensure(definition())
        yield both
        assert [one.output().count(said) for one in both] == [1, 1]
        assert not any("Traceback" in one.output() for one in both)


def create(plane: ControlPlane, name: str, spec: dict[str, Any]) -> None:
    body = made(f"{PROFILE_API_VERSION} {PROFILE_KIND}", name, spec=spec)
    wait_until(
        lambda: plane.api.request("POST", PATH, body).status in (201, 409),
        "the definition to be served",
    )


def wait_for(plane: ControlPlane, name: str, condition: str, wanted: str) -> None:
    """Wait until the profile's condition is so; what lacks is looked for again each minute."""
    what = f"{condition} of profile {name}: {wanted}"
    wait_until(lambda: conditions(plane, name).get(condition) == wanted, what, 240)


def conditions(plane: ControlPlane, name: str) -> dict[str, str]:
    """Give the status and reason of each condition."""
    found = plane.api.expect("GET", f"{PATH}/{name}").get("status", {})
    return {
        each["type"]: f"{each['status']} {each['reason']}" for each in found.get("conditions", ())
    }


def test_kubectl_shows_networks_namespaces_and_readiness(
    plane: ControlPlane, replicas: list[Controller]
) -> None:
    plane.api.ensure(NETWORK)
    plane.api.ensure({**NETWORK, "metadata": {"name": "rail-1", "namespace": "default"}})
    plane.create_namespace("ml", {LABEL: "a"})
    create(plane, "a", RDMA)
    wait_for(plane, "a", "Ready", "True Usable")
    table = plane.api.expect("GET", PATH, headers=TABLE)
    columns = [column["name"] for column in table["columnDefinitions"]]
    assert columns == ["Name", "Networks", "Namespaces", "Ready", "Reason", "Message", "Age"]
    cells = {row["cells"][0]: row["cells"][1:4] for row in table["rows"]}
    assert cells["a"] == ["default/rdma-net-ipam, default/rail-1", 1, "True"]


def claim(device_class: str, *selectors: str) -> dict[str, Any]:
    request = {"name": "r", "deviceClassName": device_class, "selectors": list(selectors)}
    return {"claims": [{"name": "nic", "requests": [request]}]}


def test_says_what_only_the_cluster_knows_of_each_profile(
    plane: ControlPlane, replicas: list[Controller]
) -> None:
    nic = made("resource.k8s.io/v1 DeviceClass", "nic.example.com", spec={})
    plane.api.ensure(nic)
    create(plane, "no-net", {"networks": [{"network": "default/absent", "resource": DEVICE}]})
    create(plane, "no-class", claim("absent.example.com"))
    create(plane, "bad-cel", claim("nic.example.com", "device.driver == "))
    create(plane, "good-cel", claim("nic.example.com", 'device.driver == "a"'))
    wait_for(plane, "no-net", "Ready", "False NetworkMissing")
    wait_for(plane, "no-class", "Ready", "False DeviceClassMissing")
    wait_for(plane, "bad-cel", "Ready", "False ClaimRefused")
    wait_for(plane, "good-cel", "Ready", "True Usable")
    assert ready_message(plane, "no-net").startswith("network default/absent does not exist")
    assert ready_message(plane, "no-class").startswith("DeviceClass absent.example.com does not")
    said = "spec.spec.devices.requests[0].exactly.selectors[0].cel.expression: Invalid value:"
    assert said in ready_message(plane, "bad-cel")
    assert "Syntax error: mismatched input" in ready_message(plane, "bad-cel")


def ready_message(plane: ControlPlane, name: str) -> str:
    found = plane.api.expect("GET", f"{PATH}/{name}")["status"]["conditions"]
    return next(str(each["message"]) for each in found if each["type"] == "Ready")
