"""Know what drivers may give by claims (DRA): the DeviceClasses, and whose drivers run.

How many devices they give is not counted: selectors are CEL, and devices may be shared. A class
gives an extended resource by the name in ``spec.extendedResourceName``, and always by the one that
begins with IMPLICIT. Source: kubernetes staging/src/k8s.io/api/resource/v1 types.go.
"""

import re
from typing import NamedTuple

from webhook.core.model import Object

IMPLICIT = "deviceclass.resource.kubernetes.io/"
MOST_EXPRESSION = 10 * 1024
"""Longest CEL expression that the API server takes."""
_DRIVER = re.compile(r'device\.driver\s*==\s*["\']([a-z0-9.-]{1,253})["\']')


class DeviceClass(NamedTuple):
    """Hold a DeviceClass; *resource*: its extended resource, empty for none.

    *named*: the drivers that its selectors name.
    """

    name: str
    resource: str = ""
    named: tuple[str, ...] = ()

    def gives(self, resource: str) -> bool:
        """Tell whether pods that ask for the extended resource get its devices."""
        return resource != "" and resource in (self.resource, f"{IMPLICIT}{self.name}")


class DeviceOffers(NamedTuple):
    """Hold the classes, and the drivers that have published a ResourceSlice; None: unread."""

    classes: tuple[DeviceClass, ...] | None = ()
    drivers: frozenset[str] | None = frozenset()

    def giving(self, resource: str) -> tuple[str, ...]:
        """Return the classes that may give the resource, without those whose drivers are silent."""
        return tuple(
            each.name
            for each in self.classes or ()
            if each.gives(resource) and not self.silent_drivers(each)
        )

    def silent_drivers(self, device_class: DeviceClass) -> tuple[str, ...]:
        """Return the drivers that the class names where none has published a ResourceSlice."""
        if self.drivers is None or self.drivers.intersection(device_class.named):
            return ()
        return device_class.named


def read_device_class(obj: Object) -> DeviceClass:
    """Keep what matters of a DeviceClass. Raises TypeError, AttributeError for one that is none."""
    spec = obj.get("spec") or {}
    selectors = spec.get("selectors") or ()
    texts = [str((each.get("cel") or {}).get("expression") or "") for each in selectors]
    named = [name for text in texts for name in _DRIVER.findall(text[:MOST_EXPRESSION])]
    resource = str(spec.get("extendedResourceName") or "")
    return DeviceClass(obj["metadata"]["name"], resource, tuple(dict.fromkeys(named)))


def read_driver(device_slice: Object) -> str:
    """Return the driver of a ResourceSlice."""
    return str((device_slice.get("spec") or {}).get("driver") or "")
