"""Look networks up for one pod, and deny the pod where one cannot be attached."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from webhook.core import names
from webhook.core.errors import Denied, Unavailable, raise_first
from webhook.core.model import NetworkDefinition, Reason
from webhook.core.networks.definition import with_resource_name_keys
from webhook.core.networks.selection import NetworkElement
from webhook.core.profiles import Multus

Lookup: TypeAlias = Callable[[str, str], NetworkDefinition | None]
"""Takes namespace and name; None: does not exist; raises Unavailable where that cannot be known."""

_MOST_FAULTS: Final = 5
_POSSIBLE: Final = re.compile(
    r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?"
)
"""Whatever else an annotation names is never asked of the API server, whose paths it could change:
``../secrets``."""


@dataclass(slots=True)
class Finder:
    """Ask *lookup* for networks; *namespace* is the pod's."""

    pod_name: str
    namespace: str
    multus: Multus
    lookup: Lookup

    def find(
        self, element: NetworkElement, source: str, *, isolated: bool = True
    ) -> NetworkDefinition:
        """Return the definition of *element*; *source* tells in a denial where it is written.

        Raises Denied for a network in a namespace that Multus' isolation forbids, one that does not
        exist, and one whose own annotations cannot be used.
        Source: multus-cni pkg/k8sclient GetNetworkDelegates.
        """
        namespace, name = element.namespace, element.name
        path = f"{namespace}/{name}"
        named = f"{source} names network {_shown(path)}"
        allowed = (self.namespace, *self.multus.global_namespaces)
        if isolated and self.multus.namespace_isolation and namespace not in allowed:
            usable = ", ".join(dict.fromkeys(allowed))
            why = f"but Multus keeps namespaces apart here; use a network of namespace {usable}"
            raise self.denied(Reason.NETWORK_ISOLATED, f"{named}, {why}")
        found = self.lookup(namespace, name) if _POSSIBLE.fullmatch(path) else None
        if found is None:
            raise self.denied(Reason.NETWORK_ABSENT, f"{named}, {_why_absent(element)}")
        if found.problem:
            why = f"whose {found.problem}; correct the NetworkAttachmentDefinition"
            raise self.denied(Reason.BAD_RESOURCE, f"{named}, {why}")
        keys = self.multus.resource_name_keys
        return found if keys == (names.RESOURCE_NAME,) else with_resource_name_keys(found, keys)

    def find_all(self, wanted: Iterable[tuple[NetworkElement, str]]) -> list[NetworkDefinition]:
        """Return the definition of each element; *wanted* tells where each is written.

        Raises Denied for the first fault, with a few others: each that is absent costs a request to
        the API server.
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

    def denied(self, reason: Reason, message: str) -> Denied:
        """Return a denial of the pod, whose name the message begins with."""
        return Denied("networks", reason, f"pod {self.pod_name}: {message}")


def _why_absent(element: NetworkElement) -> str:
    if not element.name:
        return "which has no name; write namespace/name, or remove the element and its comma"
    return (
        f"which does not exist; create NetworkAttachmentDefinition {_shown(element.name)} "
        f"in namespace {_shown(element.namespace)}, or correct the name"
    )


def _shown(text: str) -> str:
    return text if len(text) <= 120 and text.isprintable() else repr(text[:120])
