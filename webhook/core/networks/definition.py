"""Read a NetworkAttachmentDefinition: what it costs a pod, where it is, and whether it gives addresses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from webhook.core import names
from webhook.core.model import NetworkDefinition, Object
from webhook.core.networks.ipam import read_ipam
from webhook.core.qualified_name import extended_resource_problem, is_label_key, is_label_value

_READ_ALREADY = (names.RESOURCE_NAME, names.NODE_SELECTOR, "kubectl.kubernetes.io/last-applied-configuration")


def define_network(obj: Object) -> NetworkDefinition:
    """Keep what matters of a NetworkAttachmentDefinition; one without a usable configuration has no IPAM.

    An annotation that cannot be used becomes the definition's *problem*, so that only pods that ask for the network are denied.
    """
    metadata = _map(obj.get("metadata"))
    annotations = _map(metadata.get("annotations"))
    resources, bad_resources = _read_resources(names.RESOURCE_NAME, annotations)
    node_selector, bad_selector = _read_node_selector(annotations.get(names.NODE_SELECTOR))
    has_ipam, ipv6_only = read_ipam(_map(obj.get("spec")).get("config"))
    return NetworkDefinition(
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata.get("name") or ""),
        resources=resources,
        node_selector=node_selector,
        annotations={key: str(value) for key, value in annotations.items() if key not in _READ_ALREADY},
        has_ipam=has_ipam,
        ipv6_only=ipv6_only,
        problem=bad_selector,
        resource_problem=bad_resources,
    )


def with_resource_name_keys(definition: NetworkDefinition, keys: Iterable[str]) -> NetworkDefinition:
    """Read the resources from the annotations *keys* in place of resourceName alone; a network may carry several of them.

    Source: network-resources-injector pkg/webhook parseNetworkAttachDefinition, flag -network-resource-name-keys.
    """
    resources: tuple[str, ...] = ()
    problems = []
    for key in keys:
        if key == names.RESOURCE_NAME:
            found, problem = definition.resources, definition.resource_problem
        else:
            found, problem = _read_resources(key, definition.annotations)
        resources += found
        problems.append(problem)
    return replace(definition, resources=resources, resource_problem="; ".join(filter(None, problems)))


def _map(value: Any) -> Object:
    return value if isinstance(value, dict) else {}


def _read_resources(key: str, annotations: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    """Split ``"rdma/a, rdma/b"``; empty pieces do not count."""
    value = annotations.get(key)
    pieces = [piece for piece in map(str.strip, str(value or "").split(",")) if piece]
    for piece in pieces:
        problem = extended_resource_problem(piece)
        if problem:
            return (), _problem(key, value, f"{piece[:60]!r} {problem}")
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
