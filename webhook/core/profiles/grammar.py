"""Read the small languages inside a profile: networks, resource lists, durations, sizes, images.

A class with ``read`` is the type of such a field: `load` calls it with what is written. Each reader
raises ValueError with what was found and what is allowed.
"""

import json
import re
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Self

from webhook.core.names import INTERFACES_OF_EVERY_POD
from webhook.core.printable import quoted
from webhook.core.profiles.slips import did_you_mean
from webhook.core.qualified_name import (
    DNS_SUBDOMAIN,
    extended_resource_problem,
    is_dns_subdomain,
    is_label_value,
)
from webhook.core.quantity import parse_quantity
from webhook.core.value_types import type_name

INSTALLED: Final = "installed"
"""Written as waitImage for the image of fabric-injector itself."""
HUGE_PAGES: Final = "hugepages-"
NONE: Final = "none"
"""Written for no size and no image."""
_MAX_SIZE: Final = 2**63 - 1
MAX_AMOUNT: Final = _MAX_SIZE // 1000
"""The API server counts devices in thousandths.
Source: kubernetes pkg/apis/core/validation ValidateResourceQuantityValue."""
_MAX_PARAMETERS: Final = 10 * 1024
"""Bytes. Source: k8s.io/api resource/v1 OpaqueParametersMaxLength."""
_NAMESPACE: Final = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_INTERFACE: Final = r"[a-z0-9](?:[-a-z0-9]{0,13}[a-z0-9])?"
_NETWORK: Final = re.compile(rf"(?:{_NAMESPACE}/)?{DNS_SUBDOMAIN}(?:@{_INTERFACE})?")
_SECONDS: Final = {
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 1000),
}
_DURATION_PART: Final = r"([0-9]+(?:\.[0-9]+)?)(h|ms|m|s)"
_DURATION: Final = re.compile(rf"(?:{_DURATION_PART})+", re.ASCII)
_LONGEST_DURATION: Final = 40
_DEVICES: Final = re.compile(r"(0|[1-9][0-9]{0,9})(?:/([1-9][0-9]{0,9}))?", re.ASCII)


def _refused(text: str, allowed: str) -> ValueError:
    return ValueError(f"found {quoted(text)}; {allowed}")


def _text(written: Any) -> str:
    if not isinstance(written, str):
        raise ValueError(f"found {type_name(written)}; write a string in quotes")
    return written


class NetworkName(str):
    """Hold ``[namespace/]name[@interface]``; without namespace it is the pod's own.

    Every version of Multus takes it: up to 4.0.2 interfaces follow the name's pattern.
    Source: multus-cni pkg/k8sclient/k8sclient.go, parsePodNetworkObjectName.
    """

    @classmethod
    def read(cls, written: Any) -> Self:
        """Read what a profile holds."""
        network = cls(_text(written))
        if not _NETWORK.fullmatch(network) or not is_dns_subdomain(network.name):
            shape = "an interface has 1 to 15 of a-z, 0-9, '-'"
            raise _refused(network, f"write [namespace/]name[@interface]; {shape}")
        if network.interface in INTERFACES_OF_EVERY_POD:
            raise _refused(network, "every pod already has this interface; write another: rail0")
        return network

    @cached_property
    def _parts(self) -> tuple[str | None, str, str | None]:
        reference, _, interface = self.partition("@")
        namespace, _, name = reference.rpartition("/")
        return namespace or None, name, interface or None

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
    """Hold the extended resources of a comma list, ``rdma/rdma_shared_device_a``."""

    @classmethod
    def read(cls, written: Any) -> Self:
        """Read what a profile holds."""
        names = [name.strip() for name in _text(written).split(",")]
        for name in names:
            if problem := extended_resource_problem(name):
                raise _refused(written, f"{quoted(name)} {problem}")
            if (times := names.count(name)) > 1:
                raise _refused(written, f"write {name} once, with count: {times}")
        return cls(names)


class Seconds(int):
    """Hold a duration in seconds, whole and at least 1."""

    @classmethod
    def read(cls, written: Any) -> Self:
        """Read a duration as Go writes it, ``1h30m``. Source: Go time.ParseDuration."""
        text = _text(written)
        seconds = Fraction(0)
        if len(text) <= _LONGEST_DURATION and _DURATION.fullmatch(text):
            for number, unit in re.findall(_DURATION_PART, text):
                seconds += Fraction(number) * _SECONDS[unit]
        if not 1 <= seconds <= _MAX_SIZE // 10**9 or seconds.denominator != 1:
            raise _refused(text, "write whole seconds, 1s or more, such as 90s, 30m or 1h30m")
        return cls(seconds.numerator)


class Size(str):
    """Hold a number of bytes as Kubernetes writes it; empty for ``none``."""

    @classmethod
    def read(cls, written: Any) -> Self:
        """Read ``16Gi``, a whole number of bytes above 0, or ``none``."""
        if written == NONE:
            return cls()
        text = quantity_text(written)
        size = parse_quantity(text)
        if not 0 < size <= _MAX_SIZE or size.denominator != 1:
            raise _refused(text, "write a whole number of bytes up to 8Ei, such as 16Gi, or none")
        return cls(text)


class NodeDevices(tuple[int, int]):
    """Hold how many devices a node has, and for how many accelerators; 0 where that is not said."""

    @classmethod
    def read(cls, written: Any) -> Self:
        """Read ``32/8``, or ``32`` where a node's devices are not shared."""
        is_text = isinstance(written, int | str) and not isinstance(written, bool)
        devices = _DEVICES.fullmatch(str(written)) if is_text else None
        if devices is None:
            found = quoted(str(written)) if is_text else type_name(written)
            told = f"found {found}; write the devices of a node, such as 32"
            raise ValueError(f"{told}, or 32/8: shared by its 8 accelerators")
        return cls((int(devices[1]), int(devices[2] or 0)))


class WaitImage(str):
    """Hold an image reference, or `INSTALLED`; empty for ``none``."""

    @classmethod
    def read(cls, written: Any) -> Self:
        """Read what a profile holds."""
        text = _text(written)
        if not text or " " in text or not text.isprintable():
            raise _refused(text, f"write an image such as busybox:1.37, {INSTALLED}, or {NONE}")
        if text != INSTALLED and did_you_mean(text, (INSTALLED,)):
            raise _refused(text, f"did you mean {INSTALLED}? Else write docker.io/library/{text}")
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
            raise ValueError(f"found an object of more than {_MAX_PARAMETERS} bytes; shorten it")
        return cls(text)


def _whole(value: Any) -> Any:
    """Return *value* with its whole numbers as such: the API server turns 1.0 into 1 at times."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def quantity_text(written: Any) -> str:
    """Return the text of a quantity, or raise ValueError."""
    if isinstance(written, float) and written.is_integer():
        written = int(written)
    allowed = "write a number with an optional suffix, such as 1, 8 or 16Gi"
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        raise ValueError(f"found {type_name(written)}; {allowed}")
    text = str(written)
    try:
        parse_quantity(text)
    except ValueError:
        raise _refused(text, allowed) from None
    if text != text.strip():
        raise _refused(text, "write the quantity without spaces")
    return text


def check_resource(resource: str, written: Any) -> None:
    """Refuse what is neither a device nor huge pages, and an amount that no pod may have of it."""
    page = 1
    if resource.startswith(HUGE_PAGES):
        page = _page_size(resource)
    elif problem := extended_resource_problem(resource):
        other = "write a device, domain/name, or huge pages; cpu and memory belong to the job"
        raise _refused(resource, f"the name {problem}" if "/" in resource else other)
    text = quantity_text(written)
    amount = parse_quantity(text)
    if not 0 <= amount <= MAX_AMOUNT or amount.denominator != 1:
        raise _refused(text, f"write a whole number of {resource} from 0 to {MAX_AMOUNT}")
    if amount.numerator % page:
        size = resource.removeprefix(HUGE_PAGES)
        raise _refused(text, f"write a multiple of the page size, {size}")


def _page_size(resource: str) -> int:
    """Read the bytes of one page out of ``hugepages-2Mi``."""
    size = resource.removeprefix(HUGE_PAGES)
    try:
        page = parse_quantity(size)
    except ValueError:
        page = Fraction(0)
    if page <= 0 or page.denominator != 1 or not is_label_value(size):
        raise _refused(resource, "write hugepages- and the size of a page, such as hugepages-2Mi")
    return page.numerator
