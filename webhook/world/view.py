"""Answer admission's questions by four functions, whatever they look in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from webhook.core.errors import Unavailable
from webhook.core.model import Namespace, NetworkDefinition, World
from webhook.kube.resource import Key

REFUSED = " answered 403"


def _has_none(_name: str) -> bool:
    return False


@dataclass
class View:
    """Implement model.World; each function may raise Unavailable."""

    namespace: Callable[[str], Namespace | None]
    fresh_namespace: Callable[[str], Namespace | None]
    network: Callable[[str, str], NetworkDefinition | None]
    has_profile: Callable[[str], bool] = _has_none


class PermittedWorld(View):
    """Answer as *world* for somebody who may not read all networks, as most users may not.

    A network that may not be read is taken to exist, to give addresses and to name no device.
    ``assumed``: those networks, each with the API server's words.
    """

    def __init__(self, world: World) -> None:
        super().__init__(
            world.namespace, world.fresh_namespace, self._find_or_assume, world.has_profile
        )
        self.assumed: dict[Key, str] = {}
        self._find = world.network

    def _find_or_assume(self, namespace: str, name: str) -> NetworkDefinition | None:
        if (namespace, name) not in self.assumed:
            try:
                return self._find(namespace, name)
            except Unavailable as error:
                if REFUSED not in str(error):
                    raise
                self.assumed[namespace, name] = str(error)
        return NetworkDefinition(namespace, name, has_ipam=True)
