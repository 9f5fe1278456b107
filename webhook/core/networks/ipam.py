"""Find out whether a CNI configuration gives a pod addresses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_OVN_KUBERNETES = "ovn-k8s-cni-overlay"
_ADDRESSES_ITS_PODS = ("kube-ovn", "flannel")
"""Plugins that give addresses with no ``ipam`` of their own."""


def read_ipam(config: Any) -> tuple[bool, bool]:
    """Return whether the configuration gives addresses, and whether they are known to be IPv6 only.

    *config*: the text of one plugin or of a list of plugins. Text that is missing or broken gives none: then Multus reads a file
    on the node, which nobody but the node can see.
    """
    try:
        parsed = json.loads(config) if isinstance(config, str) else None
    except (ValueError, RecursionError):
        return False, False
    if not isinstance(parsed, dict):
        return False, False
    listed = parsed.get("plugins")
    for plugin in [parsed] if parsed.get("type") or not isinstance(listed, list) else listed:
        if isinstance(plugin, dict) and _gives_addresses(plugin):
            ranges = list(_ranges(plugin))
            return True, bool(ranges) and all(":" in text for text in ranges)
    return False, False


def _gives_addresses(plugin: dict[str, Any]) -> bool:
    ipam = plugin.get("ipam")
    if isinstance(ipam, dict) and ipam.get("type"):
        return True
    kind = plugin.get("type")
    return kind in _ADDRESSES_ITS_PODS if kind != _OVN_KUBERNETES else bool(plugin.get("subnets"))


def _ranges(plugin: dict[str, Any]) -> Iterator[str]:
    """Yield the ranges and addresses that OVN-Kubernetes, whereabouts, host-local and static are configured with."""
    if plugin.get("type") == _OVN_KUBERNETES:
        yield from _texts(str(plugin.get("subnets") or "").split(","))
    ipam = plugin.get("ipam")
    if isinstance(ipam, dict):
        yield from _texts([ipam.get("range"), ipam.get("subnet")])
        yield from _members(ipam.get("ipRanges"), "range")
        yield from _members(ipam.get("addresses"), "address")
        ranges = ipam.get("ranges")
        for alternatives in ranges if isinstance(ranges, list) else ():
            yield from _members(alternatives, "subnet")


def _members(items: Any, key: str) -> Iterator[str]:
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            yield from _texts([item.get(key)])


def _texts(values: list[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str) and value.strip():
            yield value
