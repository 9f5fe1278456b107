"""Read the JSON form of the networks annotation into the elements that Multus makes of it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Final

from webhook.core.networks import go_json
from webhook.core.networks.go_net import is_cidr, is_mac, parse_ip
from webhook.core.value_types import INTEGER, LIST, NUMBER, OBJECT, STRING, type_name

MOST_ELEMENTS: Final = 256
"""Networks of one pod; the largest public manifest names 32."""
_MOST_COMMAS: Final = 16 * MOST_ELEMENTS
"""In JSON, which stand between all that it holds: counted before it is read."""
_SURROGATE = re.compile(f"[{chr(0xD800)}-{chr(0xDFFF)}]")
_INTEGER = re.compile(r"-?[0-9]{1,19}")


class TooMuch(ValueError):
    """Refuse a value that is more than is read."""


def check_count(found: int) -> None:
    """Raise TooMuch for more networks than are read."""
    if found > MOST_ELEMENTS:
        raise TooMuch(f"names {found} networks, and at most {MOST_ELEMENTS} are read; name fewer")


@dataclass(slots=True)
class NetworkElement:
    """Name one attachment that a pod asks for.

    *interface*: the name it asks for; None: Multus counts. *gateways*: default routes that it asks for, IPv4 and IPv6.
    """

    namespace: str
    name: str
    interface: str | None = None
    gateways: tuple[int, int] = (0, 0)


def parse_selection(text: str, default_namespace: str) -> tuple[NetworkElement, ...]:
    """Read a list of network selection elements, ``[{"name": "rail-0", "namespace": "rails"}]``.

    Keys match without regard to case, the last of a repeated key wins, unknown keys are ignored.
    Raises ValueError naming the element that Multus refuses, TooMuch for one that is more than is read.
    Source: multus-cni pkg/k8sclient parsePodNetworkAnnotation, pkg/types NetworkSelectionElement; Go encoding/json.
    """
    if not text.lstrip(" \t\n\r").startswith("["):
        raise ValueError(
            "holds '[', '{' or '\"' and is not a JSON list; write [{\"name\": ...}], or names and commas alone"
        )
    if (commas := text.count(",")) > _MOST_COMMAS:
        raise TooMuch(
            f"holds {commas} commas, and at most {_MOST_COMMAS} are read; name fewer networks, and less of each"
        )
    try:
        elements = go_json.parse(text)
    except RecursionError:
        raise TooMuch("is nested deeper than is read; leave out what is nested") from None
    check_count(len(elements))
    found = []
    for index, element in enumerate(elements, 1):
        try:
            found.append(_read_element(element, default_namespace))
        except ValueError as error:
            raise ValueError(f"element {index}: {error}") from None
    return tuple(found)


def _read_element(element: go_json.Value, default_namespace: str) -> NetworkElement:
    if type(element) is not tuple:
        raise ValueError(f"{_kind(element)} in place of {OBJECT}")
    texts: dict[str, str] = {}
    ips: list[str] = []
    remembered: list[str] = []
    gateways = (0, 0)
    for key, value in element:
        field = key if key in _FIELDS else _FOLDED.get(_fold(key))
        if field in _TEXTS:
            if value is not None:
                texts[field] = _read_text(field, value)
        elif field == "ips":
            ips = _read_ips(value, remembered)
        elif field == "default-route":
            gateways = _read_gateways(value)
        elif field is not None:
            _CHECKS[field](field, value)
    _check_texts(texts, ips)
    return NetworkElement(
        texts.get("namespace") or default_namespace,
        texts.get("name") or "",
        texts.get("interface") or texts.get("interfaceRequest") or None,
        gateways,
    )


def _check_texts(texts: dict[str, str], ips: list[str]) -> None:
    for field in ("mac", "infiniband-guid"):
        text = texts.get(field)
        if text and not is_mac(text):
            raise ValueError(
                f"{field} {_shown(text)} is not a hardware address, as 02:00:5e:10:00:01"
            )
    for ip in ips:
        if "/" in ip:
            if not is_cidr(ip):
                raise ValueError(
                    f"ips: {_shown(ip)} is not an address with prefix length, as 10.0.0.7/24"
                )
        elif parse_ip(ip) is None:
            raise ValueError(f"ips: {_shown(ip)} is not an IP address")


def _read_text(field: str, value: go_json.Value, verb: str = "is") -> str:
    if type(value) is not str:
        raise ValueError(f"{field} {verb} {_kind(value)}, not {STRING}")
    return value if value.isascii() else _SURROGATE.sub("\ufffd", value)


def _list(field: str, value: go_json.Value) -> list[go_json.Value]:
    if type(value) is not list:
        raise ValueError(f"{field} is {_kind(value)}, not {LIST}")
    return value


def _read_ips(value: go_json.Value, remembered: list[str]) -> list[str]:
    """Read a list of text; in a key's repetition, null leaves what *remembered* holds at that place."""
    if not value and type(value) in (list, type(None)):
        remembered.clear()
        return []
    for index, item in enumerate(_list("ips", value)):
        if item is not None:
            remembered[index : index + 1] = [_read_text("ips", item, "holds")]
        elif index == len(remembered):
            remembered.append("")
    return remembered[: len(value)]


def _read_gateways(value: go_json.Value) -> tuple[int, int]:
    if value is None:
        return (0, 0)
    ipv4 = 0
    for item in _list("default-route", value):
        text = "" if item is None else _read_text("default-route", item, "holds")
        ip = parse_ip(text)
        if ip is None and text:
            raise ValueError(f"default-route: {_shown(text)} is not an IP address")
        ipv4 += isinstance(ip, IPv4Address) or (ip is not None and ip.ipv4_mapped is not None)
    return (ipv4, len(value) - ipv4)


def _check_ports(field: str, value: go_json.Value) -> None:
    if value is None:
        return
    for item in _list(field, value):
        if item is not None:
            _check_members(field, item, _PORT_MEMBERS)


def _check_bandwidth(field: str, value: go_json.Value) -> None:
    if value is not None:
        _check_members(field, value, _RATES)


def _check_members(field: str, value: go_json.Value, members: dict[str, str]) -> None:
    if type(value) is not tuple:
        raise ValueError(f"{field} holds {_kind(value)}, not {OBJECT}")
    for key, member in value:
        kind = members.get(_fold(key))
        if kind is None or member is None:
            continue
        if kind == "text":
            _read_text(f"{field}.{key}", member)
        elif type(member) is not go_json.Number or not _is_int64(member):
            raise ValueError(f"{field}: {key[:20]!r} must be {INTEGER}")


def _check_arguments(field: str, value: go_json.Value) -> None:
    if value is None:
        return
    if type(value) is not tuple:
        raise ValueError(f"{field} is {_kind(value)}, not {OBJECT}")
    rest: list[go_json.Value] = [value]
    while rest:
        item = rest.pop()
        if type(item) is tuple:
            rest.extend(member for _, member in item)
        elif type(item) is list:
            rest.extend(item)
        elif type(item) is go_json.Number and math.isinf(float(item)):
            raise ValueError(f"{field} holds {_shown(item)}, which is too large a number")


def _is_int64(number: str) -> bool:
    return _INTEGER.fullmatch(number) is not None and -(2**63) <= int(number) < 2**63


def _fold(key: str) -> str:
    """Fold as Go does: the long s and the Kelvin sign are the only other characters that fold to ASCII letters."""
    return key.lower().replace("\u017f", "s")


def _kind(value: go_json.Value) -> str:
    if type(value) is tuple:
        return OBJECT
    return NUMBER if type(value) is go_json.Number else type_name(value)


def _shown(text: str) -> str:
    return repr(str(text[:40]))


_TEXTS = frozenset(
    {"name", "namespace", "interface", "interfaceRequest", "mac", "infiniband-guid", "deviceID"}
)
_CHECKS: dict[str, Callable[[str, go_json.Value], None]] = {
    "portMappings": _check_ports,
    "bandwidth": _check_bandwidth,
    "cni-args": _check_arguments,
}
_FIELDS = _TEXTS | {"ips", "default-route", *_CHECKS}
_FOLDED = {field.lower(): field for field in _FIELDS}
_PORT_MEMBERS = {"hostport": "int", "containerport": "int", "protocol": "text", "hostip": "text"}
_RATES = dict.fromkeys(("ingressrate", "ingressburst", "egressrate", "egressburst"), "int")
