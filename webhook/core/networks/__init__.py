"""Work out what Multus will attach to a pod: annotations, networks and interfaces."""

from webhook.core.networks.annotation import NetworksAnnotation, parse_networks
from webhook.core.networks.definition import define_network
from webhook.core.networks.resolve import Attachment, ResolvedNetworks, resolve_networks
from webhook.core.networks.selection import NetworkElement

__all__ = [
    "Attachment",
    "NetworkElement",
    "NetworksAnnotation",
    "ResolvedNetworks",
    "define_network",
    "parse_networks",
    "resolve_networks",
]
