"""Hold what Multus will make of one network selection element."""

from __future__ import annotations

from typing import NamedTuple

from webhook.core.model import NetworkDefinition


class Attachment(NamedTuple):
    """Describe one interface of the pod as Multus will make it.

    *interface*: the name that it gets, ``net1``. *resources*: device resource to count of this attachment, from the profile, else from
    the network. *added*: by us. *default*: from the default-network annotation, so it is eth0.
    """

    network: NetworkDefinition
    interface: str
    resources: tuple[tuple[str, int], ...] = ()
    added: bool = False
    default: bool = False

    @property
    def key(self) -> str:
        """Return ``namespace/name``."""
        return f"{self.network.namespace}/{self.network.name}"
