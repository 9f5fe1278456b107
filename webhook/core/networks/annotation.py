"""Read and extend the value of ``k8s.v1.cni.cncf.io/networks`` as Multus understands it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from webhook.core.networks.selection import NetworkElement, check_count, parse_selection

_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_SPACE: Final = re.compile(r"\s", re.ASCII)
_LONGEST_INTERFACE: Final = 15
_JSON_SIGNS: Final = re.compile(r'[\[{"]')


class NetworksAnnotation(NamedTuple):
    """Hold a value, its *text*, and what it asks for: *elements* in order, repeats kept."""

    text: str = ""
    elements: tuple[NetworkElement, ...] = ()
    is_json: bool = False

    def with_added(self, added: Sequence[NetworkElement]) -> str:
        """Return the value with *added* after what is there, whose text stays as it is.

        *added*: at least one, with names that an object may have. One that the comma form cannot
        hold, ``rail.0``, turns the whole value into the JSON form.
        """
        if self.is_json:
            inside, _, after = self.text.rpartition("]")
            kept = inside.rstrip()
            comma = "," if self.elements else ""
            return f"{kept}{comma}{_json(added)}{inside[len(kept) :]}]{after}"
        if any("." in element.name for element in added):
            return f"[{_json((*self.elements, *added))}]"
        kept = f"{self.text.rstrip()}," if self.text else ""
        return kept + ",".join(map(_comma, added))


def parse_networks(value: str, default_namespace: str) -> NetworksAnnotation:
    """Read a value in either form; a network without a namespace is in *default_namespace*.

    Shape: ``rail-0, rails/rail-1@rdma1`` or
    ``[{"name": "rail-1", "namespace": "rails", "interface": "rdma1"}]``.
    Accepts what Multus accepts, so also empty elements, which no network answers to.
    Raises ValueError naming the element that Multus refuses, TooMuch for one that is more than is
    read. Source: multus-cni 4.3 pkg/k8sclient parsePodNetworkAnnotation.
    """
    if not value:
        return NetworksAnnotation()
    if _JSON_SIGNS.search(value):
        return NetworksAnnotation(value, parse_selection(value, default_namespace), is_json=True)
    items = value.split(",")
    check_count(len(items))
    elements = [_read_item(item, index, default_namespace) for index, item in enumerate(items, 1)]
    return NetworksAnnotation(value, tuple(elements))


def _read_item(item: str, index: int, default_namespace: str) -> NetworkElement:
    """Read ``[namespace/]name[@interface]``.

    Source: multus-cni pkg/k8sclient parsePodNetworkObjectName.
    """
    item = item.strip()
    for sign in "/@":
        if item.count(sign) > 1:
            raise ValueError(f"element {index}: {_shown(item)} has more than one {sign!r}")
    namespace, _, rest = item.rpartition("/")
    name, _, interface = rest.partition("@")
    namespace, name, interface = namespace.strip(), name.strip(), interface.strip()
    for part in (namespace, name):
        if part and not _NAME.fullmatch(part):
            where = "" if part == item else f" of {_shown(item)}"
            hint = "; only the JSON form takes a name with a dot" if "." in part else ""
            raise ValueError(
                f"element {index}: {_shown(part)}{where} may hold only a-z, 0-9 and '-', "
                f"with a letter or digit at both ends{hint}"
            )
    if len(interface.encode()) > _LONGEST_INTERFACE or _SPACE.search(interface):
        raise ValueError(
            f"element {index}: interface {_shown(interface)} of {_shown(item)} may have no space "
            f"and at most {_LONGEST_INTERFACE} bytes"
        )
    return NetworkElement(namespace or default_namespace, name, interface or None)


def _comma(element: NetworkElement) -> str:
    named = f"{element.namespace}/{element.name}"
    return f"{named}@{element.interface}" if element.interface else named


def _json(elements: Sequence[NetworkElement]) -> str:
    """Write the elements, without the brackets of a list."""
    objects = []
    for element in elements:
        members = {"name": element.name, "namespace": element.namespace}
        if element.interface:
            members["interface"] = element.interface
        objects.append(members)
    return json.dumps(objects, separators=(",", ":"))[1:-1]


def _shown(text: str) -> str:
    return repr(text[:60])
