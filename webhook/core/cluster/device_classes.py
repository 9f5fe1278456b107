"""Count the devices that drivers give by claims (DRA), as far as that needs no CEL.

A DeviceClass gives an extended resource by the name in ``spec.extendedResourceName``, and always
by the one that begins with IMPLICIT. Its selectors choose devices of the ResourceSlices.
Source: kubernetes staging/src/k8s.io/api/resource/v1 types.go.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from webhook.core.model import Object
from webhook.core.wording import listed

IMPLICIT = "deviceclass.resource.kubernetes.io/"
MOST_EXPRESSION = 10 * 1024
"""Longest CEL expression that the API server takes."""
_DRIVER = re.compile(r'device\.driver\s*==\s*["\']([a-z0-9.-]{1,253})["\']')
_SHOWN = 3


class DeviceClass(NamedTuple):
    """Hold what is kept of a DeviceClass; *resource*: its extended resource, empty for none.

    *driver*: whose devices it takes, all of them; empty for those of every driver, None where its
    selectors must be evaluated. *named*: the drivers that its selectors name.
    """

    name: str
    resource: str
    driver: str | None
    named: tuple[str, ...]

    def gives(self, resource: str) -> bool:
        """Tell whether pods that ask for the extended resource get its devices."""
        return resource != "" and resource in (self.resource, f"{IMPLICIT}{self.name}")


class DeviceSlice(NamedTuple):
    """Hold a ResourceSlice: one of the *parts* of a driver's pool in this *generation*.

    *node*: whose *devices* they are. *is_sure* False: some may be given out or not: they are
    tainted, share counters, or are of several nodes.
    """

    driver: str
    pool: str
    generation: int
    parts: int
    node: str
    devices: int
    is_sure: bool


class Given(NamedTuple):
    """Say what claims give of one resource: devices *by_node*, and a *doubt* where it may be more.

    *classes*: the DeviceClasses that give it; none where that cannot be known.
    """

    classes: tuple[str, ...]
    by_node: Mapping[str, Fraction]
    doubt: str = ""

    def __str__(self) -> str:
        """Name the classes for a message."""
        word = "DeviceClass" if len(self.classes) == 1 else "DeviceClasses"
        return f"{word} {listed(self.classes, _SHOWN)}"


class DeviceOffers(NamedTuple):
    """Hold the classes and slices of a cluster, None for what cannot be read; *problem*: why."""

    classes: tuple[DeviceClass, ...] | None = ()
    slices: tuple[DeviceSlice, ...] | None = ()
    problem: str = ""

    def given(self, resource: str) -> Given | None:
        """Return what claims give of the resource; None where no class gives it."""
        if self.classes is None:
            return Given((), {}, f"DeviceClasses cannot be read: {self.problem}")
        found = [each for each in self.classes if each.gives(resource)]
        if not found:
            return None
        names = tuple(each.name for each in found)
        if len(found) > 1:
            return Given(names, {}, "which of them the scheduler takes is not known here")
        driver = found[0].driver
        if driver is None:
            return Given(names, {}, "its selectors are CEL, which is not evaluated here")
        if self.slices is None:
            return Given(names, {}, f"ResourceSlices cannot be read: {self.problem}")
        by_node, is_sure = self._count(driver)
        doubt = "" if is_sure else "not all devices of its driver are certain to be given out"
        return Given(names, by_node, doubt)

    def silent_drivers(self, device_class: DeviceClass) -> tuple[str, ...]:
        """Return the drivers that the class names where none has published a ResourceSlice."""
        if self.slices is None or any(each.driver in device_class.named for each in self.slices):
            return ()
        return device_class.named

    def _count(self, driver: str) -> tuple[Mapping[str, Fraction], bool]:
        """Count the devices of each node, and tell whether there can be no more."""
        current = list(self._current(driver))
        there = Counter((each.driver, each.pool) for each in current)
        by_node: Counter[str] = Counter()
        is_sure = True
        for each in current:
            is_whole = there[each.driver, each.pool] >= each.parts
            is_sure = is_sure and is_whole and each.is_sure
            if is_whole and each.node:
                by_node[each.node] += each.devices
        return {node: Fraction(number) for node, number in by_node.items()}, is_sure

    def _current(self, driver: str) -> Iterator[DeviceSlice]:
        """Yield the slices of each pool's newest generation: older ones do not count."""
        slices = [each for each in self.slices or () if driver in ("", each.driver)]
        newest: dict[tuple[str, str], int] = {}
        for each in slices:
            pool = each.driver, each.pool
            newest[pool] = max(each.generation, newest.get(pool, 0))
        yield from (each for each in slices if each.generation == newest[each.driver, each.pool])


def read_device_class(obj: Object) -> DeviceClass:
    """Keep what matters of a DeviceClass. Raises TypeError, AttributeError for one that is none."""
    spec = obj.get("spec") or {}
    selectors = spec.get("selectors") or ()
    texts = [str((each.get("cel") or {}).get("expression") or "") for each in selectors]
    texts = [text if len(text) <= MOST_EXPRESSION else "" for text in texts]
    named = tuple(dict.fromkeys(name for text in texts for name in _DRIVER.findall(text)))
    is_plain = all(_DRIVER.fullmatch(text.strip()) for text in texts)
    driver = named[0] if texts and is_plain and len(named) == 1 else None
    resource = str(spec.get("extendedResourceName") or "")
    return DeviceClass(obj["metadata"]["name"], resource, driver if texts else "", named)


def read_device_slice(obj: Object) -> DeviceSlice:
    """Keep what matters of a ResourceSlice: it lists each device with its attributes."""
    spec = obj.get("spec") or {}
    pool, devices = spec.get("pool") or {}, spec.get("devices") or ()
    node = str(spec.get("nodeName") or "")
    special = ("taints", "consumesCounters", "nodeSelector")
    plain = [
        device
        for device in devices
        if not any(device.get(key) for key in special)
        and (device.get("nodeName") or node) == node
        and not spec.get("nodeSelector")
    ]
    return DeviceSlice(
        str(spec.get("driver") or ""),
        str(pool.get("name") or ""),
        int(pool.get("generation") or 0),
        int(pool.get("resourceSliceCount") or 1),
        node,
        len(plain),
        is_sure=len(plain) == len(devices) and bool(node or not devices),
    )
