"""Work out what Multus will attach to a pod: annotations, networks and interfaces."""

from webhook.core.networks.annotation import parse_networks
from webhook.core.networks.definition import define_network
from webhook.core.networks.resolve import Attachment, ResolvedNetworks, resolve_networks

__all__ = ["Attachment", "ResolvedNetworks", "define_network", "parse_networks", "resolve_networks"]
