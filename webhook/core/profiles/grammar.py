"""Read the small languages inside the profiles file: network references, resource lists, durations, huge-page sizes.

Each reader raises ValueError with what was found and what is allowed.
"""

from __future__ import annotations

import posixpath
import re
from fractions import Fraction

from webhook.core.printable import quoted
from webhook.core.qualified_name import (
    extended_resource_problem,
    is_dns_label,
    is_dns_subdomain,
    is_label_value,
)
from webhook.core.quantity import parse_quantity

INSTALLED = "installed"
"""Written as waitImage for the image of fabric-injector itself."""
HUGE_PAGES = "hugepages-"
_INTERFACES_OF_EVERY_POD = ("eth0", "lo")
_SECONDS = {
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}
_DURATION = r"\+?((?=\.?[0-9])[0-9]*\.?[0-9]*(h|ms|m|s|us|µs|ns))+"
_DURATION_PART = r"([0-9.]+)([a-zµ]+)"
_SECONDS_MAX = 2**63 // 10**9
IMAGE = (
    r"[A-Za-z0-9]+([-._]+[A-Za-z0-9]+)*(:[0-9]+(?=/))?(/[a-z0-9]+([-._]+[a-z0-9]+)*)*",
    r"(:[A-Za-z0-9_][-.A-Za-z0-9_]{0,127})?(@sha256:[0-9a-f]{64})?",
)
"""Patterns of an image's name, and of its tag and digest."""
_IMAGE = f"(?P<name>{IMAGE[0]}){IMAGE[1]}"
LONGEST_IMAGE = 512


def refused(text: str, allowed: str) -> ValueError:
    """Build the error that says what was found and what is allowed."""
    return ValueError(f"found {quoted(text)}; {allowed}")


def parse_network(text: str) -> tuple[str | None, str, str | None]:
    """Read ``[namespace/]name[@interface]`` as these three, in the form that every version of Multus takes.

    Source: multus-cni pkg/k8sclient/k8sclient.go, parsePodNetworkObjectName; up to 4.0.2 interfaces follow the name's pattern.
    """
    reference, at, interface = text.partition("@")
    namespace, slash, name = reference.rpartition("/")
    if slash and not is_dns_label(namespace):
        raise refused(
            text,
            f"{quoted(namespace)} is not the name of a namespace; write [namespace/]name[@interface]",
        )
    if not is_dns_subdomain(name):
        raise refused(
            text,
            f"{quoted(name)} is not the name of a network (a-z, 0-9, '-', '.'); write [namespace/]name[@interface]",
        )
    if at and (not is_dns_label(interface) or len(interface) > 15):
        raise refused(
            text,
            f"{quoted(interface)} is not a portable interface name; write 1 to 15 of a-z, 0-9, '-' after the @",
        )
    if interface in _INTERFACES_OF_EVERY_POD:
        raise refused(
            text, f"every pod already has an interface {interface}; write another, such as rail0"
        )
    return namespace or None, name, interface or None


def parse_resources(text: str) -> tuple[str, ...]:
    """Read a comma list of extended resource names, ``rdma/rdma_shared_device_a``."""
    names = tuple(name.strip() for name in text.split(","))
    for index, name in enumerate(names):
        problem = (
            extended_resource_problem(name)
            if name
            else "is empty; write names with one comma between them"
        )
        if problem:
            raise refused(text, f"{quoted(name)} {problem}")
        if name in names[:index]:
            raise refused(
                text, f"{name} is there twice; write it once, with count: {names.count(name)}"
            )
    return names


def normalize_path(text: str) -> str:
    """Write an absolute path in its one form: ``//dev//infiniband/`` becomes ``/dev/infiniband``.

    Raises ValueError for a relative path, and one that goes up with ``..``, which leads elsewhere where a part of it is a link.
    """
    if not text.startswith("/") or not text.isprintable():
        raise refused(text, "write an absolute path, such as /dev/infiniband")
    if ".." in text.split("/"):
        raise refused(text, "write the path without '..'")
    return posixpath.normpath("/" + text.lstrip("/"))


def split_image(text: str) -> tuple[str, str]:
    """Split an image reference into its name and what follows it: ``("registry:5000/a/b", ":1.2@sha256:…")``.

    Raises ValueError for what is no reference. Source: distribution/reference, regexp.go.
    """
    match = re.fullmatch(_IMAGE, text, re.ASCII) if len(text) <= LONGEST_IMAGE else None
    if match is None:
        raise refused(
            text, "write an image reference, such as registry.example.com/team/daemon:1.2"
        )
    return match["name"], text[len(match["name"]) :]


def parse_page_size(resource: str) -> int:
    """Read the bytes of one page out of ``hugepages-2Mi``."""
    size = resource.removeprefix(HUGE_PAGES)
    try:
        page = parse_quantity(size)
    except ValueError:
        page = Fraction(0)
    if page <= 0 or page.denominator != 1 or not is_label_value(size):
        raise refused(
            resource,
            "write hugepages- and the size of a page, such as hugepages-2Mi or hugepages-1Gi",
        )
    return page.numerator


def parse_duration(text: str) -> int:
    """Read a duration as Go writes it, ``1h30m``, in seconds; whole, at least 1.

    Source: Go time.ParseDuration.
    """
    seconds = Fraction(0)
    if len(text) <= 40 and re.fullmatch(_DURATION, text, re.ASCII):
        for number, unit in re.findall(_DURATION_PART, text, re.ASCII):
            seconds += Fraction(number.rstrip(".")) * _SECONDS[unit]
    if not 1 <= seconds <= _SECONDS_MAX or seconds.denominator != 1:
        raise refused(
            text, "write a duration of whole seconds, 1s or more, such as 90s, 30m or 1h30m"
        )
    return seconds.numerator
