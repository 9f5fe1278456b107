"""Read a NetworkAttachmentDefinition: what it costs, where it is, whether it gives addresses."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import orjson

from webhook.core import names
from webhook.core.model import NetworkDefinition, Object
from webhook.core.qualified_name import is_extended_resource, is_label_key, is_label_value

_READ_ALREADY = (
    names.RESOURCE_NAME,
    names.NODE_SELECTOR,
    "kubectl.kubernetes.io/last-applied-configuration",
)
_OVN_KUBERNETES = "ovn-k8s-cni-overlay"
_ADDRESSES_ITS_PODS = ("kube-ovn", "flannel")
"""Plugins that give addresses with no ``ipam`` of their own."""
MAX_RESOURCES = 64
MAX_ANNOTATIONS, MAX_ANNOTATION = 64, 1024
"""Annotations that are kept, and characters of each: users may write networks, and all are held."""


def define_network(obj: Object) -> NetworkDefinition:
    """Keep what matters of a NetworkAttachmentDefinition.

    An annotation that cannot be used becomes the definition's *problem*, so that only pods that ask
    for the network are denied.
    """
    metadata = _map(obj.get("metadata"))
    annotations = _map(metadata.get("annotations"))
    resources, bad_resources = _read_resources(names.RESOURCE_NAME, annotations)
    node_selector, bad_selector = _read_node_selector(annotations.get(names.NODE_SELECTOR))
    has_ipam, ipv6_only, bad_config = _read_config(_map(obj.get("spec")).get("config"))
    others = {
        key: text
        for key, value in annotations.items()
        if key not in _READ_ALREADY and len(text := str(value)) <= MAX_ANNOTATION
    }
    return NetworkDefinition(
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata.get("name") or ""),
        resources=resources,
        node_selector=node_selector,
        annotations=dict(islice(others.items(), MAX_ANNOTATIONS)),
        has_ipam=has_ipam,
        ipv6_only=ipv6_only,
        problem=bad_selector,
        resource_problem=bad_resources,
        config_problem=bad_config,
    )


def with_resource_name_keys(
    definition: NetworkDefinition, keys: Iterable[str]
) -> NetworkDefinition:
    """Read the resources from the annotations *keys*; a network may carry several.

    Source: network-resources-injector pkg/webhook parseNetworkAttachDefinition, flag
    -network-resource-name-keys.
    """
    standard = definition.resources, definition.resource_problem
    read = [
        standard if key == names.RESOURCE_NAME else _read_resources(key, definition.annotations)
        for key in keys
    ]
    problems = "; ".join([problem for _, problem in read if problem])
    resources = chain.from_iterable([found for found, _ in read])
    return replace(definition, resources=tuple(resources), resource_problem=problems)


def _map(value: Any) -> Object:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _read_resources(key: str, annotations: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    """Split ``"rdma/a, rdma/b"``; empty pieces do not count."""
    value = annotations.get(key)
    pieces = [piece for piece in map(str.strip, str(value or "").split(",")) if piece]
    if len(pieces) > MAX_RESOURCES:
        return (), _problem(
            key, value, f"it names {len(pieces)} resources; {MAX_RESOURCES} are the most"
        )
    for piece in pieces:
        if not is_extended_resource(piece):
            why = "is no extended resource, such as rdma/rdma_shared_device_a"
            return (), _problem(key, value, f"{piece[:60]!r} {why}")
    return tuple(pieces), ""


def _read_node_selector(value: Any) -> tuple[dict[str, str], str]:
    """Read ``"key=value"`` or ``"key"``, whose value is then empty; never more than one label.

    Source: network-resources-injector pkg/webhook parseNetworkAttachDefinition.
    """
    text = str(value or "").strip()
    if not text:
        return {}, ""
    key, _, label = map(str.strip, text.partition("="))
    if not is_label_key(key) or not is_label_value(label):
        return {}, _problem(names.NODE_SELECTOR, value, "write one label, as rail=fast")
    return {key: label}, ""


def _problem(annotation: str, value: Any, why: str) -> str:
    return f"annotation {annotation} is {str(value)[:80]!r}: {why}"


def _read_config(config: Any) -> tuple[bool, bool, str]:
    """Return whether it gives addresses, whether of IPv6 only, and why Multus cannot read it.

    *config*: the text of one plugin or of a list of plugins. Text that is missing gives none: then
    Multus reads a file on the node, which nobody but the node can see.
    Source: multus-cni netattachdef GetCNIConfigFromSpec.
    """
    if not isinstance(config, str) or not config:
        return False, False, ""
    try:
        parsed = orjson.loads(config)
    except ValueError as error:
        return False, False, f"unusable spec.config, which is not JSON: {error}"
    if not isinstance(parsed, dict):
        return False, False, "unusable spec.config, which is not a JSON object"
    listed = parsed.get("plugins")
    for plugin in [parsed] if parsed.get("type") or not isinstance(listed, list) else listed:
        if _gives_addresses(_map(plugin)):
            ranges = _ranges(plugin)
            return True, bool(ranges) and all(":" in text for text in ranges), ""
    return False, False, ""


def _gives_addresses(plugin: Object) -> bool:
    kind = plugin.get("type")
    if _map(plugin.get("ipam")).get("type") or kind in _ADDRESSES_ITS_PODS:
        return True
    return kind == _OVN_KUBERNETES and bool(plugin.get("subnets"))


def _ranges(plugin: Object) -> list[str]:
    """Return the ranges and addresses of OVN-Kubernetes, whereabouts, host-local and static."""
    ipam = _map(plugin.get("ipam"))
    found = [ipam.get("range"), ipam.get("subnet")]
    found += [_map(each).get("range") for each in _list(ipam.get("ipRanges"))]
    found += [_map(each).get("address") for each in _list(ipam.get("addresses"))]
    for alternatives in _list(ipam.get("ranges")):
        found += [_map(each).get("subnet") for each in _list(alternatives)]
    if plugin.get("type") == _OVN_KUBERNETES:
        found += str(plugin.get("subnets") or "").split(",")
    return [text for text in found if isinstance(text, str) and text.strip()]
