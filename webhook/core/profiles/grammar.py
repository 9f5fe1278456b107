"""Read the small languages inside a profile: networks, resource lists, durations, sizes, images.

A class with ``read`` is the type of such a field: `load` calls it with what is written. Each reader
raises ValueError with what was found and what is allowed.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from webhook.core.printable import quoted
from webhook.core.qualified_name import (
    extended_resource_problem,
    is_dns_label,
    is_dns_subdomain,
    is_label_value,
)
from webhook.core.quantity import parse_quantity
from webhook.core.value_types import type_name

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
NONE = "none"
"""Written for no size and no image."""
_MAX_SIZE = 2**63 - 1
MAX_AMOUNT = _MAX_SIZE // 1000
"""The API server counts devices in thousandths.
Source: kubernetes pkg/apis/core/validation ValidateResourceQuantityValue."""
_MAX_PARAMETERS = 10 * 1024
"""Bytes. Source: k8s.io/api resource/v1 OpaqueParametersMaxLength."""
_LIKE_INSTALLED = re.compile("ins[a-z]*", re.IGNORECASE)


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


class NetworkName(str):
    """Hold ``[namespace/]name[@interface]``; without namespace it is the pod's own."""

    @classmethod
    def read(cls, written: Any) -> Self:
        """Read what a profile holds."""
        parse_network(_text(written))
        return cls(written)

    @cached_property
    def _parts(self) -> tuple[str | None, str, str | None]:
        return parse_network(self)

    @property
    def namespace(self) -> str | None:
        """Return the namespace; None for the pod's own."""
        return self._parts[0]

    @property
    def name(self) -> str:
        """Return the name of the NetworkAttachmentDefinition."""
        return self._parts[1]

    @property
    def interface(self) -> str | None:
        """Return the interface; None where Multus counts, ``net1``."""
        return self._parts[2]


class ResourceNames(tuple[str, ...]):
    """Hold the extended resources of a comma list."""

    @classmethod
    def read(cls, written: Any) -> Self:
        """Read what a profile holds."""
        return cls(parse_resources(_text(written)))


class Seconds(int):
    """Hold a duration in seconds."""

    @classmethod
    def read(cls, written: Any) -> Self:
        """Read ``1h30m``; a number without a unit is none."""
        if isinstance(written, int | float):
            raise refused(str(written), "write a duration with its unit, such as 90s, 30m or 1h30m")
        return cls(parse_duration(_text(written)))


class Size(str):
    """Hold a number of bytes as Kubernetes writes it; empty for ``none``."""

    @classmethod
    def read(cls, written: Any) -> Self:
        """Read ``16Gi``, a whole number of bytes above 0, or ``none``."""
        if written == NONE:
            return cls()
        text = quantity_text(written)
        size = parse_quantity(text)
        if size <= 0 or size.denominator != 1:
            hint = (
                " (the suffix m means thousandths; M and Mi mean mega)" if text[-1] == "m" else ""
            )
            allowed = "write a whole number of bytes above 0, such as 16Gi, or none"
            raise refused(text, allowed + hint)
        if size > _MAX_SIZE:
            raise refused(text, "write at most 8Ei, or none")
        return cls(text)


class WaitImage(str):
    """Hold an image reference, or `INSTALLED`; empty for ``none``."""

    @classmethod
    def read(cls, written: Any) -> Self:
        """Read what a profile holds."""
        text = _text(written)
        if len(text.split()) != 1 or text != text.strip() or not text.isprintable():
            example = f"docker.io/library/busybox:1.37, {INSTALLED}, or none"
            raise refused(text, f"write an image reference without spaces, such as {example}")
        if text != INSTALLED and _LIKE_INSTALLED.fullmatch(text):
            other = f"An image of that name is written docker.io/library/{text}"
            raise refused(text, f"did you mean {INSTALLED}? {other}")
        return cls("" if text == NONE else text)


class Parameters(str):
    """Hold an object as JSON in one form, so that equal ones are equal."""

    @classmethod
    def read(cls, written: Any) -> Self:
        """Read an object of a driver."""
        if not isinstance(written, dict):
            raise ValueError(f"found {type_name(written)}; write an object")
        text = json.dumps(
            _whole(written), sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )
        if len(text.encode()) > _MAX_PARAMETERS:
            most = f"found an object of more than {_MAX_PARAMETERS} bytes"
            raise ValueError(f"{most}, which the API server refuses")
        return cls(text)


def quantity_text(written: Any) -> str:
    """Return the text of a quantity, or raise ValueError."""
    if isinstance(written, float) and written.is_integer():
        written = int(written)
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        raise ValueError(f"found {type_name(written)}; {_A_QUANTITY}")
    text = str(written)
    try:
        parse_quantity(text)
    except ValueError:
        raise refused(text, _A_QUANTITY) from None
    if text != text.strip():
        raise refused(text, "write the quantity without spaces")
    return text


_A_QUANTITY = "write a number with an optional suffix, such as 1, 8 or 16Gi"


def check_amount(resource: str, written: Any) -> None:
    """Refuse an amount of a device or of huge pages that the API server would refuse in a pod."""
    text = quantity_text(written)
    amount = parse_quantity(text)
    if amount < 0 or amount.denominator != 1:
        raise refused(text, f"write a whole number of {resource}, 0 or more")
    if amount > MAX_AMOUNT:
        beyond = f"beyond which Kubernetes does not count {resource}"
        raise refused(text, f"write at most {MAX_AMOUNT}, {beyond}")
    if resource.startswith(HUGE_PAGES) and amount.numerator % parse_page_size(resource):
        page = resource.removeprefix(HUGE_PAGES)
        raise refused(text, f"write a multiple of the page size, {page}")


def check_resource(name: str) -> None:
    """Refuse a resource that is neither a device nor huge pages."""
    if name.startswith(HUGE_PAGES):
        parse_page_size(name)
    elif "/" not in name:
        raise refused(
            name,
            "it belongs to the job, not to the fabric; write a device, domain/name, or huge pages",
        )
    elif problem := extended_resource_problem(name):
        raise refused(name, f"the resource's name {problem}")


def _text(written: Any) -> str:
    if not isinstance(written, str):
        raise ValueError(f"found {type_name(written)}; write a string in quotes")
    return written


def _whole(value: Any) -> Any:
    """Return *value* with its whole numbers as such: the API server turns 1.0 into 1 at times."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
