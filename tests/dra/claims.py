"""Claims as users and administrators write them, what becomes of them, and jobs that have them."""

import json
from collections.abc import Sequence
from typing import Any

from tests import pods as fixtures
from tests.cluster.node import jobs
from tests.cluster.node.namespace import Namespace
from tests.cluster.node.pods import Pod, Report
from tests.cluster.objects import made
from tests.cluster.operators.expectations import assert_wait_ended
from webhook.core.model import Object

from .drivers import DRANET

CARDS = "cards"
"""The DeviceClass of DRANET's devices."""
API = "resource.k8s.io/v1"


def device_class(name: str, driver: str, **spec: Any) -> Object:
    """Give the DeviceClass of all devices of the driver; *spec* is added to its spec."""
    selectors = [{"cel": {"expression": f'device.driver == "{driver}"'}}]
    return made(f"{API} DeviceClass", name, spec={"selectors": selectors, **spec})


def create_template(space: Namespace, name: str, class_: str = CARDS) -> None:
    """Create a template of claims for one card, net1 in the pod, as kubectl does: keys in order.

    The API server keeps the bytes of opaque parameters, and server-side apply writes them so. Where
    they were not, it takes a driver's apply to the status for a change of the allocation, and
    refuses it.
    """
    opaque = {"driver": DRANET, "parameters": {"interface": {"name": "net1"}}}
    requests = [{"name": "card", "exactly": {"deviceClassName": class_}}]
    devices = {"requests": requests, "config": [{"opaque": opaque}]}
    manifest = made(f"{API} ResourceClaimTemplate", name, spec={"spec": {"devices": devices}})
    body = json.dumps(manifest, separators=(",", ":"), sort_keys=True)
    space.api.expect("POST", space.api.path(manifest, space.name), body)


def give(pod: Object, template: str) -> Object:
    """Let the pod claim what the template says, for its first container; return the pod."""
    claim = {"name": "card", "resourceClaimTemplateName": template}
    pod["spec"].setdefault("resourceClaims", []).append(claim)
    resources = pod["spec"]["containers"][0].setdefault("resources", {})
    resources.setdefault("claims", []).append({"name": "card"})
    return pod


def claims_of(pod: Pod) -> list[Object]:
    """Give the pod's claims, as its status names them."""
    statuses = pod.get()["status"].get("resourceClaimStatuses", [])
    names = [one["resourceClaimName"] for one in statuses if "resourceClaimName" in one]
    path = f"/apis/{API}/namespaces/{pod.namespace}/resourceclaims"
    return [pod.api.expect("GET", f"{path}/{name}") for name in names]


def network_data(pod: Pod) -> list[Object]:
    """Give the networkData of the pod's devices: interfaceName, ips as CIDR, hardwareAddress."""
    statuses = [one.get("status", {}) for one in claims_of(pod)]
    devices = [device for status in statuses for device in status.get("devices", [])]
    return [device["networkData"] for device in devices if "networkData" in device]


def claim_address(pod: Pod) -> str:
    """Wait until the pod's only claim has an address, and give it."""
    pod.wait(lambda _: any(one.get("ips") for one in network_data(pod)), "its claim's address")
    (found,) = network_data(pod)
    return str(found["ips"][0]).partition("/")[0]


def pytorchjob(template: str = "", **changes: Any) -> list[Object]:
    """Give Master and Worker of a PyTorchJob that hold on; with claims of the *template*, if any.

    *changes* are fields of their containers. A pod's claims are gone as soon as it has ended.
    """
    pods = jobs.holding(**changes)
    for pod in pods:
        fixtures.drop_env(pod, "PET_NPROC_PER_NODE")
        fixtures.add_env(pod, "PET_NPROC_PER_NODE", "1")
        if template:
            give(pod, template)
    return pods


def assert_met_at_the_claims_address(reports: Sequence[Report]) -> str:
    """Assert that each rank waited for the address of rank 0's claim and met there; give it."""
    address = claim_address(reports[0].pod)
    for rank, report in enumerate(reports):
        assert report.train["rank"] == rank
        assert report.master_addr == address
        assert_wait_ended(report)
    return address
