"""Read byte counters of interfaces and RDMA devices, as a command in a pod prints them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_INTERFACE = re.compile(r"\s*([\w.@-]{1,32}):\s*(\d{1,20})(?:\s+\d{1,20}){7}\s+(\d{1,20})\s")
_PORT = re.compile(
    r"/sys/class/infiniband/([\w.-]{1,64})/ports/(\d{1,3})/counters/port_(xmit|rcv)_data (\d{1,20})\s*$", re.MULTILINE
)
_WORD = 4
"""Bytes of a unit of port_xmit_data and port_rcv_data. Source: Linux Documentation/ABI/stable/sysfs-class-infiniband."""
_MOST_LINES = 1024
COMMANDS = (
    (
        "sh",
        "-c",
        'r() { while read -r l; do echo "$l"; done < "$1"; }; r /proc/net/dev; '
        'for f in /sys/class/infiniband/*/ports/*/counters/port_*_data; do [ -r "$f" ] && echo "$f $(r "$f")"; done; exit 0',
    ),
    ("cat", "/proc/net/dev"),
)
"""What reads the counters: a shell alone, else cat alone, which knows no RDMA devices."""


@dataclass(frozen=True, slots=True)
class Counters:
    """Hold bytes received and sent since the interface was made: of *interfaces*, and of RDMA *devices* as ``mlx5_0/1``."""

    interfaces: Mapping[str, tuple[int, int]]
    devices: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Traffic:
    """Hold the counters of a pod at two times that are *seconds* apart."""

    seconds: float
    first: Counters
    second: Counters


def read_counters(text: str) -> Counters | None:
    """Read what one of COMMANDS has written; None where it holds no interface."""
    interfaces = {}
    for line in text.splitlines()[:_MOST_LINES]:
        if found := _INTERFACE.match(f"{line} "):
            interfaces[found[1]] = (int(found[2]), int(found[3]))
    devices: dict[str, tuple[int, int]] = {}
    for name, port, way, words in _PORT.findall(text):
        received, sent = devices.get(key := f"{name}/{port}", (0, 0))
        count = int(words) * _WORD
        devices[key] = (received, count) if way == "xmit" else (count, sent)
    interfaces.pop("lo", None)
    return Counters(interfaces, devices) if interfaces else None
