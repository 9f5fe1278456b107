"""Read what drivers give out by claims (DRA): nothing where the cluster has no such API, which is said of no finding."""

from __future__ import annotations

from collections.abc import Callable

from webhook.core.cluster.device_classes import (
    DeviceClass,
    DeviceOffers,
    read_device_class,
    read_device_slice,
)
from webhook.core.errors import Unavailable
from webhook.diagnose.collect.collector import Collector
from webhook.kube.catalogue import DEVICE_CLASSES, DEVICE_SLICES
from webhook.kube.claims_api import ClaimsApi


def read_device_offers(
    collector: Collector,
    is_wanted: Callable[[DeviceClass], bool] = lambda _: True,
    *,
    is_noted: bool = True,
) -> DeviceOffers:
    """List DeviceClasses, and ResourceSlices where one of them *is_wanted*: slices weigh up to 100 kB, and each node has some.

    *is_noted*: what may not be read is noted; most researchers may read neither, and few jobs need them.
    """
    try:
        version = ClaimsApi(collector.reader)
        classes, slices = version.served(DEVICE_CLASSES), version.served(DEVICE_SLICES)
        if classes is None or slices is None:
            return DeviceOffers()
        found = collector.read_list(classes, read_device_class)
    except Unavailable as error:
        return DeviceOffers(
            None, None, collector.note("DeviceClasses", error) if is_noted else str(error)
        )
    if not any(map(is_wanted, found.items)):
        return DeviceOffers(found.items)
    try:
        listed = collector.read_list(slices, read_device_slice)
    except Unavailable as error:
        problem = collector.note("ResourceSlices", error) if is_noted else str(error)
        return DeviceOffers(found.items, None, problem)
    if not (found.is_complete and listed.is_complete):
        return DeviceOffers(found.items, None, "not all could be read")
    return DeviceOffers(found.items, listed.items)
