"""Answer admission's questions from what a survey has listed, as if each namespace carried the label."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from webhook.core import names
from webhook.core.model import MasterAddress, Namespace, NetworkDefinition
from webhook.diagnose.survey.reading import ClusterReading


class Supposition(Enum):
    """Name one thing that an administrator may put right: what a profile then changes is told as if that were done."""

    NETWORKS_EXIST = "networks exist"
    NO_POD_SECURITY = "no PodSecurity"
    NAMESPACES_ALLOWED = "namespaces allowed"
    PARTS_ALLOWED = "paths and images allowed"


class ListedWorld:
    """Implement model.World; *profile* stands in the label of each namespace, empty for what is there now.

    A network that is not known to be missing is taken to exist, to give addresses and to name no device.
    """

    def __init__(self, reading: ClusterReading, profile: str, suppositions: Collection[Supposition] = ()) -> None:
        self._namespaces = {space.name: space for space in reading.namespaces.items}
        self._networks = {(each.namespace, each.name): each for each in reading.networks.items}
        self._profile = profile
        self._assumes = Supposition.NETWORKS_EXIST in suppositions or reading.networks.known is None
        self._left_out = {names.MODE} | (
            {names.POD_SECURITY_ENFORCE} if Supposition.NO_POD_SECURITY in suppositions else set()
        )

    def namespace(self, name: str) -> Namespace:
        """Look a namespace up; one that was not listed has the label alone."""
        found = self._namespaces.get(name, Namespace(name))
        labels = {key: value for key, value in found.labels.items() if key not in self._left_out}
        return Namespace(name, labels | ({names.PROFILE: self._profile} if self._profile else {}))

    def fresh_namespace(self, name: str) -> Namespace:
        """Look a namespace up, as `namespace` does."""
        return self.namespace(name)

    def network(self, namespace: str, name: str) -> NetworkDefinition | None:
        """Look a network up."""
        found = self._networks.get((namespace, name))
        return NetworkDefinition(namespace, name, has_ipam=True) if found is None and self._assumes else found

    def master(self, namespace: str, job: str) -> MasterAddress | None:
        """Look up a published address: nothing is injected, and there is none."""
        return None
