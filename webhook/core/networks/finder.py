"""Look networks up for one pod, and deny the pod where one cannot be attached."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from webhook.core import names
from webhook.core.errors import Denied, Unavailable, raise_first
from webhook.core.model import NetworkDefinition, Reason
from webhook.core.networks.definition import with_resource_name_keys
from webhook.core.networks.selection import NetworkElement
from webhook.core.profiles import Multus

STEP: Final = "networks"

Lookup: TypeAlias = Callable[[str, str], NetworkDefinition | None]
"""Takes namespace and name; None: does not exist; raises Unavailable where that cannot be known."""

_MOST_FAULTS: Final = 5
_STANDARD_KEYS = (names.RESOURCE_NAME,)
_POSSIBLE: Final = re.compile(
    r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?"
)
"""Whatever else an annotation names is never asked of the API server, whose paths it could change: ``../secrets``."""


class Finder:
    """Ask *lookup* for each network once; *namespace* is the pod's."""

    __slots__ = ("_known", "_lookup", "_multus", "_namespace", "pod_name")

    def __init__(self, pod_name: str, namespace: str, multus: Multus, lookup: Lookup) -> None:
        self.pod_name = pod_name
        self._namespace = namespace
        self._multus = multus
        self._lookup = lookup
        self._known: dict[tuple[str, str], NetworkDefinition] = {}

    def find(
        self, element: NetworkElement, source: str, *, isolated: bool = True
    ) -> NetworkDefinition:
        """Return the definition of *element*; *source* tells in a denial where it is written.

        Raises Denied for a network in a namespace that Multus' isolation forbids, one that does not exist, and one whose own
        annotations cannot be used. Source: multus-cni pkg/k8sclient GetNetworkDelegates.
        """
        namespace, name = key = element.namespace, element.name
        if isolated and self._multus.namespace_isolation and namespace != self._namespace:
            self._check_isolation(element, source)
        known = self._known.get(key)
        if known is not None:
            return known
        found = (
            self._lookup(namespace, name) if _POSSIBLE.fullmatch(f"{namespace}/{name}") else None
        )
        if found is None:
            raise self._denied(Reason.NETWORK_ABSENT, source, element, _why_absent(element))
        if found.problem:
            why = f", whose {found.problem}; correct the NetworkAttachmentDefinition"
            raise self._denied(Reason.BAD_RESOURCE, source, element, why)
        if self._multus.resource_name_keys != _STANDARD_KEYS:
            found = with_resource_name_keys(found, self._multus.resource_name_keys)
        self._known[key] = found
        return found

    def find_all(self, wanted: Iterable[tuple[NetworkElement, str]]) -> list[NetworkDefinition]:
        """Return the definition of each element; *wanted* holds elements and where each is written.

        Raises Denied for the first fault, with a few others: each that is absent costs a request to the API server.
        """
        found: list[NetworkDefinition] = []
        faults: list[Denied] = []
        for element, source in wanted:
            try:
                found.append(self.find(element, source))
            except Denied as denied:
                faults.append(denied)
                if len(faults) == _MOST_FAULTS:
                    break
            except Unavailable:
                if not faults:
                    raise
                break
        raise_first(faults)
        return found

    def _check_isolation(self, element: NetworkElement, source: str) -> None:
        allowed = self._multus.global_namespaces
        if element.namespace not in allowed:
            usable = ", ".join(dict.fromkeys((self._namespace, *allowed)))
            why = f", but Multus keeps namespaces apart here; use a network of namespace {usable}"
            raise self._denied(Reason.NETWORK_ISOLATED, source, element, why)

    def _denied(self, reason: Reason, source: str, element: NetworkElement, why: str) -> Denied:
        named = _shown(f"{element.namespace}/{element.name}")
        return Denied(STEP, reason, f"pod {self.pod_name}: {source} names network {named}{why}")


def _why_absent(element: NetworkElement) -> str:
    if not element.name:
        return ", which has no name; write namespace/name, or remove the element and its comma"
    return (
        f", which does not exist; create NetworkAttachmentDefinition {_shown(element.name)} "
        f"in namespace {_shown(element.namespace)}, or correct the name"
    )


def _shown(text: str) -> str:
    return text if len(text) <= 120 and text.isprintable() else repr(text[:120])
