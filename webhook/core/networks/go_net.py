"""Parse addresses as Go's net package does, because CNI plugins accept only what it accepts."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address

_MAC = re.compile(
    r"[0-9a-fA-F]{2}([:-])(?:[0-9a-fA-F]{2}\1){4}(?:(?:[0-9a-fA-F]{2}\1){2}|(?:[0-9a-fA-F]{2}\1){14})?[0-9a-fA-F]{2}"
    r"|[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}\.(?:[0-9a-fA-F]{4}\.|(?:[0-9a-fA-F]{4}\.){7})?[0-9a-fA-F]{4}"
    r"|[0-9a-fA-F]{12}(?:[0-9a-fA-F]{4}|[0-9a-fA-F]{28})?"
)
_PREFIX = re.compile(r"(?=[0-9])0*+([0-9]{0,3})")


def is_mac(text: str) -> bool:
    """Tell whether *text* is a hardware address of 6, 8 or 20 octets: ``02:00:5e:10:00:01``, with ``-``, ``0200.5e10.0001`` or bare.

    Source: Go 1.26 net.ParseMAC (older releases refuse the bare form).
    """
    return _MAC.fullmatch(text) is not None


def parse_ip(text: str) -> IPv4Address | IPv6Address | None:
    """Read an IP address without a zone; None where Go refuses it, as ``10.0.0.01``.

    Source: Go net.ParseIP.
    """
    try:
        if ":" not in text:
            return IPv4Address(text)
        return None if "%" in text else IPv6Address(text)
    except ValueError:
        return None


def is_cidr(text: str) -> bool:
    """Tell whether *text* is an address with a prefix length; bits beyond the prefix may be set, ``10.0.0.7/24``.

    Source: Go net.ParseCIDR.
    """
    address, _, prefix = text.partition("/")
    ip, length = parse_ip(address), _PREFIX.fullmatch(prefix)
    return ip is not None and length is not None and int(length[1] or "0") <= ip.max_prefixlen
