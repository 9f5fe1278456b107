"""Read the small languages inside a profile: networks, resource lists, durations, sizes, images.

A class with ``read`` is the type of such a field: `load` calls it with what is written. Each reader
raises ValueError with what was found and what is allowed. It refuses what the program cannot read;
the CustomResourceDefinition refuses more.
"""

import json
import re
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Self

from webhook.core.printable import quoted
from webhook.core.qualified_name import DNS_SUBDOMAIN, is_label_key
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
        if not _NETWORK.fullmatch(network):
            shape = "an interface has 1 to 15 of a-z, 0-9, '-'"
            raise _refused(network, f"write [namespace/]name[@interface]; {shape}")
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
        names = dict.fromkeys(name.strip() for name in _text(written).split(","))
        if not all(map(is_label_key, names)):
            raise _refused(written, "write domain/name, such as rdma/rdma_shared_device_a")
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
        devices = _DEVICES.fullmatch(str(written))
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
        return cls("" if text == NONE else text)


class Amount(str):
    """Hold how much a container asks for of a device, or of huge pages."""

    @classmethod
    def read(cls, written: Any) -> Self:
        """Read a whole number, ``5Gi``."""
        text = quantity_text(written)
        amount = parse_quantity(text)
        if not 0 <= amount <= MAX_AMOUNT or amount.denominator != 1:
            raise _refused(text, f"write a whole number from 0 to {MAX_AMOUNT}")
        return cls(text)


class Parameters(str):
    """Hold an object as JSON in one form, so that equal ones are equal."""

    @classmethod
    def read(cls, written: Any) -> Self:
        """Read an object of a driver."""
        if not isinstance(written, dict):
            raise ValueError(f"found {type_name(written)}; write an object")
        whole = _whole(written)
        return cls(json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


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
    text = str(written).strip()
    try:
        parse_quantity(text)
    except ValueError:
        raise _refused(text, allowed) from None
    return text
