"""Know Multus: the grammar of its annotations, the networks they name, and what a pod gets from them."""

from webhook.networks.annotation import NetworksAnnotation, parse_networks
from webhook.networks.attachment import Attachment
from webhook.networks.definition import define_network
from webhook.networks.resolve import ResolvedNetworks, resolve_networks
from webhook.networks.selection import NetworkElement

__all__ = [
    "Attachment",
    "NetworkElement",
    "NetworksAnnotation",
    "ResolvedNetworks",
    "define_network",
    "parse_networks",
    "resolve_networks",
]
