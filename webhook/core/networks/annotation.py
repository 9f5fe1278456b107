"""Read and extend the value of ``k8s.v1.cni.cncf.io/networks`` as Multus understands it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from webhook.core.networks.selection import NetworkElement, check_count, parse_selection

MAX_LENGTH: Final = 262_144
"""Bytes of all annotations of one object together. Source: apimachinery pkg/api/validation TotalAnnotationSizeLimitB."""

_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
"""What Go's strings.TrimSpace takes off."""
_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_INTERFACE_SPACE = re.compile(r"[ \t\n\v\f\r/]")
_LONGEST_INTERFACE: Final = 15
_JSON_SIGNS: Final = re.compile(r'[\[{"]')
_SURROGATE: Final = re.compile(f"[{chr(0xD800)}-{chr(0xDFFF)}]")


class NetworksAnnotation(NamedTuple):
    """Hold what a value asks for: *elements* in order, repeats kept, and the *text* that says so."""

    form: Literal["comma", "json", "empty"]
    elements: tuple[NetworkElement, ...]
    text: str

    def with_added(self, elements: Iterable[NetworkElement]) -> str:
        """Return the value with *elements*, names that an object may have, after the present ones, whose text stays as it is.

        A name that the comma form cannot hold, ``rail.0``, turns the whole value into the JSON form.
        """
        added = tuple(elements)
        if not added:
            return self.text
        if self.form == "json":
            return _append_json(self.text, bool(self.elements), added)
        if not any("." in element.name for element in added):
            written = ",".join(map(_comma, added))
            return f"{self.text.rstrip(_SPACE)},{written}" if self.form == "comma" else written
        return "[" + ",".join(map(_json, self.elements + added)) + "]"


def parse_networks(value: str, default_namespace: str) -> NetworksAnnotation:
    """Read a value in either form; a network without a namespace belongs to *default_namespace*.

    Shape: ``rail-0, rails/rail-1@rdma1`` or ``[{"name": "rail-1", "namespace": "rails", "interface": "rdma1"}]``.
    Accepts what Multus accepts, so also empty elements, which no network answers to.
    Raises ValueError naming the element that Multus refuses, TooMuch for one that is more than is read.
    Source: multus-cni 4.3 pkg/k8sclient parsePodNetworkAnnotation.
    """
    if not value:
        return _EMPTY
    if len(value) > MAX_LENGTH:
        raise ValueError(
            f"is {len(value)} characters long, and Kubernetes keeps no more than {MAX_LENGTH}"
        )
    text = value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if _JSON_SIGNS.search(text):
        return NetworksAnnotation("json", parse_selection(text, default_namespace), value)
    check_count(text.count(",") + 1)
    items = text.split(",")
    elements = tuple(
        _read_item(item, index, default_namespace) for index, item in enumerate(items, 1)
    )
    return NetworksAnnotation("comma", elements, value)


_EMPTY = NetworksAnnotation("empty", (), "")


def _read_item(item: str, index: int, default_namespace: str) -> NetworkElement:
    """Read ``[namespace/]name[@interface]``. Source: multus-cni pkg/k8sclient parsePodNetworkObjectName."""
    item = item.strip(_SPACE)
    namespace, slash, rest = item.partition("/")
    if not slash:
        namespace, rest = "", item
    elif "/" in rest:
        raise ValueError(f"element {index}: {_shown(item)} has more than one '/'")
    name, _, interface = rest.partition("@")
    if "@" in interface:
        raise ValueError(f"element {index}: {_shown(item)} has more than one '@'")
    namespace, name, interface = (
        namespace.strip(_SPACE),
        name.strip(_SPACE),
        interface.strip(_SPACE),
    )
    for part in (namespace, name):
        if part and not _NAME.fullmatch(part):
            where = "" if part == item else f" of {_shown(item)}"
            hint = "; only the JSON form takes a name with a dot" if "." in part else ""
            raise ValueError(
                f"element {index}: {_shown(part)}{where} may hold only a-z, 0-9 and '-', with a letter or digit at both ends{hint}"
            )
    if interface and (
        len(interface.encode()) > _LONGEST_INTERFACE or _INTERFACE_SPACE.search(interface)
    ):
        raise ValueError(
            f"element {index}: interface {_shown(interface)} of {_shown(item)} may have no space "
            f"and at most {_LONGEST_INTERFACE} bytes"
        )
    return NetworkElement(namespace or default_namespace, name, interface or None)


def _comma(element: NetworkElement) -> str:
    named = f"{element.namespace}/{element.name}"
    return f"{named}@{element.interface}" if element.interface else named


def _json(element: NetworkElement) -> str:
    members = {"name": element.name, "namespace": element.namespace}
    if element.interface:
        members["interface"] = element.interface
    return json.dumps(members, separators=(",", ":"))


def _append_json(text: str, has_elements: bool, added: tuple[NetworkElement, ...]) -> str:
    inside, _, after = text.rpartition("]")
    kept = inside.rstrip(" \t\n\r")
    comma = "," if has_elements else ""
    return f"{kept}{comma}{','.join(map(_json, added))}{inside[len(kept) :]}]{after}"


def _shown(text: str) -> str:
    return repr(text[:60])
