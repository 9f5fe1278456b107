"""Claims as users and administrators write them, and what has become of them."""

import json
from typing import Any

from tests.cluster.node.namespace import Namespace
from tests.cluster.node.pods import Pod
from webhook.core.model import Object

from .drivers import DRANET

CARDS = "cards"
"""The DeviceClass of DRANET's devices."""
RESOURCE_API = "resource.k8s.io/v1"


def device_class(name: str, driver: str, **spec: Any) -> Object:
    """Give the DeviceClass of all devices of the driver; *spec* is added to its spec."""
    selectors = [{"cel": {"expression": f'device.driver == "{driver}"'}}]
    return _kind("DeviceClass", name, {"selectors": selectors, **spec})


def template(name: str, interface: str, device_class_name: str = CARDS) -> Object:
    """Give a ResourceClaimTemplate for one card, which is to be this interface in the pod."""
    opaque = {"driver": DRANET, "parameters": {"interface": {"name": interface}}}
    devices = {
        "requests": [{"name": "card", "exactly": {"deviceClassName": device_class_name}}],
        "config": [{"opaque": opaque}],
    }
    return _kind("ResourceClaimTemplate", name, {"spec": {"devices": devices}})


def _kind(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": RESOURCE_API, "kind": kind, "metadata": {"name": name}, "spec": spec}


def create_template(space: Namespace, manifest: Object) -> None:
    """Create a ResourceClaimTemplate as kubectl does, in compact JSON with sorted keys.

    The API server keeps the bytes of opaque parameters, and server-side apply writes them so. Where
    they were not, it takes a driver's apply to the status for a change of the allocation, and
    refuses it.
    """
    body = json.dumps(manifest, separators=(",", ":"), sort_keys=True)
    space.api.expect("POST", space.api.path(manifest, space.name), body)


def give(pod: Object, template_name: str, name: str = "card") -> Object:
    """Let the pod claim what the template says, for its first container; return the pod."""
    pod["spec"].setdefault("resourceClaims", []).append(
        {"name": name, "resourceClaimTemplateName": template_name}
    )
    container = pod["spec"]["containers"][0]
    container.setdefault("resources", {}).setdefault("claims", []).append({"name": name})
    return pod


def claims_of(pod: Pod) -> list[Object]:
    """Give the pod's claims, as its status names them."""
    statuses = pod.get()["status"].get("resourceClaimStatuses", [])
    names = [one["resourceClaimName"] for one in statuses if "resourceClaimName" in one]
    path = f"/apis/{RESOURCE_API}/namespaces/{pod.namespace}/resourceclaims"
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
