"""Answer admission's questions by four functions, whatever they look in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from sys import intern

from webhook.core import names
from webhook.core.errors import Unavailable
from webhook.core.model import Namespace, NetworkDefinition, Object, World
from webhook.kube.resource import Key

REFUSED = " answered 403"
_NO_LABELS: Mapping[str, str] = {}
_READ_LABELS = (
    names.PROFILE,
    names.MODE,
    names.POD_SECURITY_ENFORCE,
    names.ISTIO_INJECTION,
    names.ISTIO_REVISION,
)
"""Labels of a namespace that admission reads. It may have 150,000 others, and all are held."""


@dataclass
class View:
    """Implement model.World; each function may raise Unavailable."""

    namespace: Callable[[str], Namespace | None]
    fresh_namespace: Callable[[str], Namespace | None]
    network: Callable[[str, str], NetworkDefinition | None]
    has_profile: Callable[[str], bool] = lambda _name: False


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


def read_namespace(obj: Object) -> Namespace:
    """Keep name, the labels that are read, and whether it is being deleted; equal texts once."""
    metadata = obj["metadata"]
    labels = metadata.get("labels") or {}
    kept = {key: intern(labels[key]) for key in _READ_LABELS if key in labels}
    is_ending = bool(metadata.get("deletionTimestamp"))
    return Namespace(intern(metadata["name"]), kept or _NO_LABELS, _NO_LABELS, is_ending)
