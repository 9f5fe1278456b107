"""Answer admission's questions for somebody who may not read all networks, as most users may not those of other namespaces."""

from __future__ import annotations

from webhook.core.errors import Unavailable
from webhook.core.model import Namespace, NetworkDefinition, World
from webhook.kube.resource import Key

REFUSED = " answered 403"


class PermittedWorld:
    """Implement model.World by another one; a network that may not be read is taken to exist, to give addresses and to name no device.

    ``assumed``: those networks, by (namespace, name), each with the API server's words.
    """

    def __init__(self, world: World) -> None:
        self.assumed: dict[Key, str] = {}
        self._world = world

    def namespace(self, name: str) -> Namespace | None:
        """Look a namespace up by name."""
        return self._world.namespace(name)

    def fresh_namespace(self, name: str) -> Namespace | None:
        """Look a namespace up live."""
        return self._world.fresh_namespace(name)

    def network(self, namespace: str, name: str) -> NetworkDefinition | None:
        """Look a network up, or assume it."""
        if (namespace, name) not in self.assumed:
            try:
                return self._world.network(namespace, name)
            except Unavailable as error:
                if REFUSED not in str(error):
                    raise
                self.assumed[namespace, name] = str(error)
        return NetworkDefinition(namespace, name, has_ipam=True)
