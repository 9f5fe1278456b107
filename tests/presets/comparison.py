"""Say what a pod asks for as items, ``{"mount /dev/shm": "tmpfs"}``, and whether one value gives what another asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from webhook.core import names
from webhook.core.model import Object
from webhook.core.quantity import parse_quantity

Items = dict[str, Any]
_OURS = names.PREFIX


def items_of(pod: Object, container: str) -> Items:
    """Return what *pod* asks for with its training *container*; our own labels and annotations are left out."""
    metadata, spec = pod.get("metadata", {}), pod["spec"]
    sources = {volume["name"]: _source(volume) for volume in spec.get("volumes", [])}
    found: Items = {}
    for kind in ("annotation", "label"):
        found |= {f"{kind} {key}": value for key, value in _own(metadata.get(f"{kind}s", {}))}
    found |= {f"node label {key}": value for key, value in (spec.get("nodeSelector") or {}).items()}
    found |= {f"toleration {toleration}": True for toleration in spec.get("tolerations", [])}
    for each in spec["containers"]:
        head = "" if each["name"] == container else f"container {each['name']} "
        found |= dict(_of_container(each, sources, head))
    for each in spec.get("initContainers", []):
        if each.get("restartPolicy") == "Always":
            found |= dict(_of_container(each, sources, f"sidecar {each['name']} "))
        else:
            found[f"init container {each['name']}"] = True
    return found


def gives(item: str, asked: Any, found: Any) -> bool:
    """Tell whether a pod whose *item* is *found* has what is *asked*."""
    if item.startswith("resource "):
        return parse_quantity(str(asked)) == parse_quantity(str(found))
    if item.endswith("variable LD_LIBRARY_PATH"):
        return set(asked.split(":")) <= set(found.split(":"))
    if item.endswith(" runs"):
        return asked in found
    if item == f"annotation {names.NETWORKS}":  # the vendor's pods are in their network's namespace
        found = found.rpartition("/")[2]
    elif item.startswith("annotation "):
        found = yaml.safe_load(found)
    elif item == "variable NCCL_SOCKET_IFNAME":
        found = found.removeprefix("=")  # "=" makes a prefix a whole name
    elif (
        item == "mount /dev/shm"
    ):  # the node's own is a tmpfs too, which all of its pods would share
        asked = "tmpfs"
    return bool(asked == found)


def _own(values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((key, value) for key, value in values.items() if not key.startswith(_OURS))


def _source(volume: Object) -> str:
    if "hostPath" in volume:
        return f"hostPath {volume['hostPath']['path']}"
    if "configMap" in volume:
        return f"configMap {volume['configMap']['name']}"
    if "emptyDir" in volume:
        return "tmpfs" if (volume["emptyDir"] or {}).get("medium") == "Memory" else "emptyDir"
    return next((kind for kind in volume if kind != "name"), "")


def _of_container(
    container: Object, sources: Mapping[str, str], head: str
) -> Iterator[tuple[str, Any]]:
    for resource, quantity in container.get("resources", {}).get("limits", {}).items():
        yield f"{head}resource {resource}", quantity
    for variable in container.get("env", []):
        yield f"{head}variable {variable['name']}", variable.get("value", variable.get("valueFrom"))
    for mount in container.get("volumeMounts", []):
        yield f"{head}mount {mount['mountPath']}", sources[mount["name"]]
    security = container.get("securityContext") or {}
    for capability in security.get("capabilities", {}).get("add", []):
        yield f"{head}capability {capability}", True
    if security.get("privileged"):
        yield f"{head}privileged", True
    if head.startswith("sidecar "):
        yield f"{head}image", container["image"]
        yield f"{head}runs", " ".join([*container.get("command", []), *container.get("args", [])])
