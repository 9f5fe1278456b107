"""Read the JSON form of the networks annotation into the elements that Multus makes of it.

What Multus refuses is refused here where a user may have written it: the pod would hang else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv6Interface, ip_interface
from typing import Any, Final

from webhook.core.value_types import LIST, OBJECT, STRING, type_name

MOST_ELEMENTS: Final = 256
"""Networks of one pod; the largest public manifest names 32."""
_SURROGATE: Final = re.compile(f"[{chr(0xD800)}-{chr(0xDFFF)}]")
_TEXTS: Final = ("name", "namespace", "interface", "interfaceRequest", "deviceID")
_MACS: Final = ("mac", "infiniband-guid")
_MAC: Final = re.compile(
    r"[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}(?:(?:[0-9a-f]{2}\1){2}|(?:[0-9a-f]{2}\1){14})?"
    r"[0-9a-f]{2}"
    r"|[0-9a-f]{4}\.[0-9a-f]{4}\.(?:[0-9a-f]{4}\.|(?:[0-9a-f]{4}\.){7})?[0-9a-f]{4}"
    r"|[0-9a-f]{12}(?:[0-9a-f]{4}|[0-9a-f]{28})?",
    re.IGNORECASE | re.ASCII,
)
"""6, 8 or 20 octets: ``02:00:5e:10:00:01``, with ``-``, ``0200.5e10.0001`` or bare.
Source: Go 1.26 net.ParseMAC (older releases refuse the bare form)."""
_IP: Final = re.compile(r"[0-9A-Fa-f:.]+(?:/[0-9]+)?")
"""Without zone and netmask, which Python reads and Go does not."""


class TooMuch(ValueError):
    """Refuse a value that is more than is read."""


def check_count(found: int) -> None:
    """Raise TooMuch for more networks than are read."""
    if found > MOST_ELEMENTS:
        raise TooMuch(f"names {found} networks, and at most {MOST_ELEMENTS} are read; name fewer")


@dataclass(slots=True)
class NetworkElement:
    """Name one attachment that a pod asks for.

    *interface*: the name it asks for; None: Multus counts. *gateways*: default routes that it asks
    for, IPv4 and IPv6.
    """

    namespace: str
    name: str
    interface: str | None = None
    gateways: tuple[int, int] = (0, 0)


def parse_selection(text: str, default_namespace: str) -> tuple[NetworkElement, ...]:
    """Read a list of network selection elements, ``[{"name": "rail-0", "namespace": "rails"}]``.

    Keys match without regard to case, unknown keys are ignored.
    Raises ValueError naming the element that Multus refuses, TooMuch for one that is more than is
    read. Source: multus-cni pkg/k8sclient parsePodNetworkAnnotation, pkg/types
    NetworkSelectionElement; Go encoding/json.
    """
    if not text.lstrip(" \t\n\r").startswith("["):
        raise ValueError(
            "holds '[', '{' or '\"' and is not a JSON list; "
            'write [{"name": ...}], or names and commas alone'
        )
    elements = _parse(text)
    check_count(len(elements))
    found = []
    for index, element in enumerate(elements, 1):
        try:
            found.append(_read_element(element, default_namespace))
        except ValueError as error:
            raise ValueError(f"element {index}: {error}") from None
    return tuple(found)


def _parse(text: str) -> list[Any]:
    try:
        elements: list[Any] = json.loads(text, parse_int=float)  # of any number of digits
    except RecursionError:
        raise TooMuch("is nested deeper than is read; leave out what is nested") from None
    except json.JSONDecodeError as error:
        rest = text[error.pos : error.pos + 20]
        where = f" at character {error.pos + 1}: {rest!r}" if rest else ": it ends too early"
        raise ValueError(f"is not JSON{where}") from None
    return elements


def _read_element(element: Any, default_namespace: str) -> NetworkElement:
    if not isinstance(element, dict):
        raise ValueError(f"{type_name(element)} in place of {OBJECT}")
    members = {key.lower(): value for key, value in element.items() if value is not None}
    texts = {field: _text(field, members.get(field.lower(), "")) for field in (*_TEXTS, *_MACS)}
    for field in _MACS:
        if texts[field] and not _MAC.fullmatch(texts[field]):
            raise ValueError(
                f"{field} {_shown(texts[field])} is not a hardware address, as 02:00:5e:10:00:01"
            )
    for ip in _list("ips", members):
        if _parse_ip(ip) is None:
            prefixed = "address with prefix length, as 10.0.0.7/24"
            raise ValueError(
                f"ips: {_shown(ip)} is not an {prefixed if '/' in ip else 'IP address'}"
            )
    return NetworkElement(
        texts["namespace"] or default_namespace,
        texts["name"],
        texts["interface"] or texts["interfaceRequest"] or None,
        _count_gateways(_list("default-route", members)),
    )


def _text(field: str, value: object, verb: str = "is") -> str:
    if not isinstance(value, str):
        raise ValueError(f"{field} {verb} {type_name(value)}, not {STRING}")
    return value if value.isascii() else _SURROGATE.sub("\ufffd", value)


def _list(field: str, members: Mapping[str, Any]) -> list[str]:
    value = members.get(field, [])
    if not isinstance(value, list):
        raise ValueError(f"{field} is {type_name(value)}, not {LIST}")
    return ["" if item is None else _text(field, item, "holds") for item in value]


def _count_gateways(gateways: list[str]) -> tuple[int, int]:
    """Count IPv4 and IPv6; an empty text counts as IPv6, as Multus counts it."""
    ipv4 = 0
    for text in gateways:
        ip = _parse_ip(text)
        if text and (ip is None or "/" in text):
            raise ValueError(f"default-route: {_shown(text)} is not an IP address")
        ipv4 += isinstance(ip, IPv4Interface) or (ip is not None and ip.ipv4_mapped is not None)
    return ipv4, len(gateways) - ipv4


def _parse_ip(text: str) -> IPv4Interface | IPv6Interface | None:
    """Read an address, with a prefix length or without. Source: Go net.ParseIP, net.ParseCIDR."""
    try:
        return ip_interface(text) if _IP.fullmatch(text) else None
    except ValueError:
        return None


def _shown(text: str) -> str:
    return repr(text[:40])
