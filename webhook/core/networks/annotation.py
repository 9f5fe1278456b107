"""Read and extend the value of ``k8s.v1.cni.cncf.io/networks`` as Multus understands it.

A value whose networks cannot be told is refused. Whatever else Multus refuses of it, such as a
hardware address, stands in the pod's Events.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from webhook.core.value_types import OBJECT, STRING, type_name

MOST_ELEMENTS: Final = 256
"""Networks of one pod; the largest public manifest names 32."""
_JSON_SIGNS: Final = re.compile(r'[\[{"]')
_TEXTS: Final = ("name", "namespace", "interface", "interfaceRequest")


class TooMuch(ValueError):
    """Refuse a value that is more than is read."""


@dataclass(slots=True)
class NetworkElement:
    """Name one attachment that a pod asks for; *interface* None: Multus counts."""

    namespace: str
    name: str
    interface: str | None = None


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
        named = [(f"{each.namespace}/{each.name}", each.interface) for each in added]
        return kept + ",".join([f"{name}@{own}" if own else name for name, own in named])


def _json(elements: Sequence[NetworkElement]) -> str:
    """Write the elements, without the brackets of a list."""
    objects = []
    for element in elements:
        members = {"name": element.name, "namespace": element.namespace}
        interface = {"interface": element.interface} if element.interface else {}
        objects.append(members | interface)
    return json.dumps(objects, separators=(",", ":"))[1:-1]


def parse_networks(value: str, default_namespace: str) -> NetworksAnnotation:
    """Read a value in either form; a network without a namespace is in *default_namespace*.

    Shape: ``rail-0, rails/rail-1@rdma1`` or
    ``[{"name": "rail-1", "namespace": "rails", "interface": "rdma1"}]``, whose keys match without
    regard to case; unknown ones are ignored. Accepts what Multus accepts, so also empty elements,
    which no network answers to.
    Raises ValueError naming the element that Multus refuses, TooMuch for one that is more than is
    read. Source: multus-cni 4.3 pkg/k8sclient parsePodNetworkAnnotation, pkg/types
    NetworkSelectionElement; Go encoding/json.
    """
    if not value:
        return NetworksAnnotation()
    is_json = _JSON_SIGNS.search(value) is not None
    written = _parse(value) if is_json else value.split(",")
    if len(written) > MOST_ELEMENTS:
        found = f"names {len(written)} networks, and at most {MOST_ELEMENTS} are read"
        raise TooMuch(f"{found}; name fewer")
    read = _read_object if is_json else _read_item
    elements = []
    for index, item in enumerate(written, 1):
        try:
            elements.append(read(item, default_namespace))
        except ValueError as error:
            raise ValueError(f"element {index}: {error}") from None
    return NetworksAnnotation(value, tuple(elements), is_json=is_json)


def _read_item(item: str, default_namespace: str) -> NetworkElement:
    """Read ``[namespace/]name[@interface]``.

    Source: multus-cni pkg/k8sclient parsePodNetworkObjectName.
    """
    namespace, _, rest = item.rpartition("/")
    name, _, interface = map(str.strip, rest.partition("@"))
    return NetworkElement(namespace.strip() or default_namespace, name, interface or None)


def _parse(text: str) -> list[Any]:
    if not text.lstrip(" \t\n\r").startswith("["):
        raise ValueError(
            "holds '[', '{' or '\"' and is not a JSON list; "
            'write [{"name": ...}], or names and commas alone'
        )
    try:
        elements: list[Any] = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        rest = text[error.pos : error.pos + 20]
        where = f" at character {error.pos + 1}: {rest!r}" if rest else ": it ends too early"
        raise ValueError(f"is not JSON{where}") from None
    return elements


def _read_object(element: Any, default_namespace: str) -> NetworkElement:
    if not isinstance(element, dict):
        raise ValueError(f"{type_name(element)} in place of {OBJECT}")
    members = {key.lower(): value for key, value in element.items() if value is not None}
    texts = {field: _text(field, members.get(field.lower(), "")) for field in _TEXTS}
    return NetworkElement(
        texts["namespace"] or default_namespace,
        texts["name"],
        texts["interface"] or texts["interfaceRequest"] or None,
    )


def _text(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{field} is {type_name(value)}, not {STRING}")
    return value
