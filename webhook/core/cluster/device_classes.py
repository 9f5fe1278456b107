"""Count the devices that drivers give out by claims (DRA), as far as that is certain without evaluating CEL.

A DeviceClass gives an extended resource by the name in ``spec.extendedResourceName``, and always by the one that begins with
IMPLICIT. Its selectors say which devices of the ResourceSlices it takes.
Source: kubernetes staging/src/k8s.io/api/resource/v1 types.go; pkg/scheduler dynamicresources extended resources.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from webhook.core.model import Object
from webhook.core.wording import counted, listed

IMPLICIT = "deviceclass.resource.kubernetes.io/"
MOST_EXPRESSION = 10 * 1024
"""Longest CEL expression that the API server takes."""
_DRIVER = r'device\.driver\s*==\s*(?:"([a-z0-9.-]{1,253})"|\'([a-z0-9.-]{1,253})\')'
_ONE_DRIVER = re.compile(rf"\s*{_DRIVER}\s*")
_EACH_DRIVER = re.compile(_DRIVER)
_SHOWN = 3


class DeviceClass(NamedTuple):
    """Hold what is kept of a DeviceClass.

    *resource*: its extended resource, empty for none but the implicit one. *driver*: whose devices it takes, all of them; empty for
    those of every driver, None where its selectors must be evaluated. *named*: the drivers that its selectors name.
    """

    name: str
    resource: str
    driver: str | None
    named: tuple[str, ...]

    def gives(self, resource: str) -> bool:
        """Tell whether pods that ask for the extended resource get its devices."""
        return resource != "" and resource in (self.resource, f"{IMPLICIT}{self.name}")


class DeviceSlice(NamedTuple):
    """Hold what is kept of a ResourceSlice: one part of a driver's pool, complete where *parts* of one *generation* are there.

    *node*: whose *devices* they are, empty where the slice is of several. *unsure*: devices that may be given out or not: tainted ones,
    those that share counters with others, and those of nodes that a selector chooses.
    """

    driver: str
    pool: str
    generation: int
    parts: int
    node: str
    devices: int
    unsure: int


class Given(NamedTuple):
    """Say what claims give of one resource: how many devices *by_node*, and why that may not be all, empty where it is.

    *classes*: the DeviceClasses that give it; none where that cannot be known.
    """

    classes: tuple[str, ...]
    by_node: Mapping[str, Fraction]
    doubt: str = ""

    def __str__(self) -> str:
        """Name the classes for a message."""
        return f"{'DeviceClass' if len(self.classes) == 1 else 'DeviceClasses'} {listed(self.classes, _SHOWN)}"


class DeviceOffers(NamedTuple):
    """Hold the classes and slices of a cluster, None for what cannot be read; *problem* says why."""

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
        return self._counted(names, driver)

    def _counted(self, names: tuple[str, ...], driver: str) -> Given:
        by_node: Counter[str] = Counter()
        unsure = elsewhere = 0
        partial = {(pool.driver, pool.name) for pool in self.pools(driver) if not pool.is_complete}
        for each in self._newest(driver):
            if (each.driver, each.pool) in partial:
                continue
            unsure += each.unsure
            if each.node:
                by_node[each.node] += each.devices
            else:
                elsewhere += each.devices
        doubts = (
            (len(partial), "pool", "of its driver is not complete"),
            (elsewhere, "device", "may be used from several nodes"),
            (
                unsure,
                "device",
                "may be given out or not, by taints, shared counters or a node selector",
            ),
        )
        doubt = "; ".join(
            f"{counted(number, what)} {why}" for number, what, why in doubts if number
        )
        return Given(names, {node: Fraction(number) for node, number in by_node.items()}, doubt)

    def pools(self, driver: str = "") -> list[Pool]:
        """Return the pools of a driver, of all where *driver* is empty."""
        seen: Counter[tuple[str, str]] = Counter()
        wanted: dict[tuple[str, str], int] = {}
        for each in self._newest(driver):
            seen[each.driver, each.pool] += 1
            wanted[each.driver, each.pool] = each.parts
        return [Pool(*key, there, wanted[key]) for key, there in sorted(seen.items())]

    def silent_drivers(self, device_class: DeviceClass) -> tuple[str, ...]:
        """Return the drivers that the class names where none of them has published a ResourceSlice."""
        if self.slices is None or any(each.driver in device_class.named for each in self.slices):
            return ()
        return device_class.named

    def _newest(self, driver: str) -> Iterator[DeviceSlice]:
        """Yield the slices of each pool's newest generation: older ones no longer count."""
        slices = [each for each in self.slices or () if driver in ("", each.driver)]
        newest: dict[tuple[str, str], int] = {}
        for each in slices:
            pool = each.driver, each.pool
            newest[pool] = max(each.generation, newest.get(pool, 0))
        yield from (each for each in slices if each.generation == newest[each.driver, each.pool])


class Pool(NamedTuple):
    """Hold how many ResourceSlices of a driver's pool are *there*, of how many that it consists of."""

    driver: str
    name: str
    there: int
    parts: int

    @property
    def is_complete(self) -> bool:
        """Tell whether all are there: the scheduler gives out nothing of one that is not."""
        return self.there >= self.parts


def read_device_class(obj: Object) -> DeviceClass:
    """Keep what matters of a DeviceClass. Raises TypeError, AttributeError for one that is none."""
    spec = obj.get("spec") or {}
    selectors = spec.get("selectors") or ()
    expressions = [str((each.get("cel") or {}).get("expression") or "") for each in selectors]
    short = [text for text in expressions if len(text) <= MOST_EXPRESSION]
    found = [one or other for text in short for one, other in _EACH_DRIVER.findall(text)]
    named = tuple(dict.fromkeys(found))
    driver: str | None = ""
    if expressions:
        is_plain = len(short) == len(expressions) and all(map(_ONE_DRIVER.fullmatch, short))
        driver = named[0] if is_plain and len(named) == 1 else None
    resource = str(spec.get("extendedResourceName") or "")
    return DeviceClass(obj["metadata"]["name"], resource, driver, named)


def read_device_slice(obj: Object) -> DeviceSlice:
    """Keep what matters of a ResourceSlice: it lists each device with its attributes."""
    spec = obj.get("spec") or {}
    pool = spec.get("pool") or {}
    devices = spec.get("devices") or ()
    node = str(spec.get("nodeName") or "")
    unsure = 0
    for device in devices:
        is_elsewhere = (device.get("nodeName") or node) not in ("", node)
        is_special = any(device.get(key) for key in ("taints", "consumesCounters", "nodeSelector"))
        unsure += is_elsewhere or is_special or bool(spec.get("nodeSelector"))
    return DeviceSlice(
        str(spec.get("driver") or ""),
        str(pool.get("name") or ""),
        int(pool.get("generation") or 0),
        int(pool.get("resourceSliceCount") or 1),
        node,
        len(devices) - unsure,
        unsure,
    )
