"""Multus' network-status: a network's address stands in the annotation that Multus, or another CNI, writes once all are attached."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import names
from webhook.core.addresses.source import Choice, Words
from webhook.core.model import Object, Reason
from webhook.core.networks import ResolvedNetworks
from webhook.core.networks.status import Secondary, Wanted, secondary_address
from webhook.core.networks.status import parse_wanted as parse_wanted
from webhook.core.profiles import Profile

WORDS = Words(
    asked=names.NETWORKS,
    told=names.NETWORK_STATUS,
    writer="Multus",
    attaches_nothing="where Multus attaches nothing",
    look="look at the network's IPAM and at Multus' log",
    look_on_node="at Multus and the CNI plugin on {node}, and at the network's IPAM",
)


def choose(_pod: Object, _profile: Profile, networks: ResolvedNetworks) -> Choice:
    """Choose what `resolve_networks` found."""
    return Choice(networks.rendezvous_network, Reason.NO_IPAM, networks.problem)


def told(annotations: Mapping[str, str]) -> str:
    """Return network-status, by its present or its former key."""
    return annotations.get(names.NETWORK_STATUS) or annotations.get(names.NETWORKS_STATUS) or ""


def secondary(told: str, wanted: Wanted) -> Secondary:
    """Find the address of the wanted network."""
    return secondary_address(told, wanted)
