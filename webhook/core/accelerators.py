"""Tell the resources of GPUs and other training accelerators, by device plugins' names."""

import re
from functools import lru_cache
from typing import Final

from webhook.core.model import Object
from webhook.core.podspec import claims, containers, is_compute_domain_channel, limits, requests
from webhook.core.quantity import stored_quantity

_BY_DOMAIN: Final = re.compile(
    # gpu.intel.com/i915; i915_monitoring sees all devices and computes on none
    r"(?:gpu|npu)\.[^/]+/(?!.*monitoring)"
    r"|cloud-tpus\.google\.com/"
    r"|(?:habana|furiosa|rebellions)\.ai/"
    r"|(?:graphcore\.ai|tenstorrent\.com)/"
    r"|alpha\.kubernetes\.io/nvidia-gpu$"
    r"|dra\.llm-d\.io/gpu-nic-pair$",  # openshift-psap/dra-rail-admission-webhook
    re.IGNORECASE,
)
_BY_NAME: Final = re.compile(
    r"[^/]+/(?:[psvq]?gpu|mig-|[scdq]px_nps|gaudi|neuron|[ntpx]pu|v?mlu|[dg]cu|ascend|vcuda|qaic)",
    re.IGNORECASE,
)
_CLASS: Final = re.compile(
    r"(?:^|[^a-z])(?:[psvq]?gpu|mig|gaudi|neuron|[ntpx]pu|v?mlu|[dg]cu|ascend|qaic)s?(?:[^a-z]|$)",
    re.IGNORECASE,
)
_TPU: Final = re.compile(r"google\.com/tpu|cloud-tpus\.google\.com/", re.IGNORECASE)
_SHARE: Final = re.compile(r"mem|core|percent|ratio|share", re.IGNORECASE)
"""Words of a resource that counts parts of an accelerator, not accelerators."""
_FABRIC: Final = re.compile(
    r"rdma|roce|sriov|vlan|hostdev|hca|(?:^|[^a-z])(?:nic|vf|net|eth|ib|rail)s?(?:[^a-z]|$)",
    re.IGNORECASE,
)
"""Words of a card's resource; cards are named after the GPU beside them, ``rdma/gpu0_nic``."""


@lru_cache(256)
def is_accelerator(resource: str) -> bool:
    """Tell whether a resource is a GPU or another training accelerator: ``nvidia.com/mig-1g.5gb``.

    Source: the device plugins of the vendors; there is no common mark.
    """
    if _BY_DOMAIN.match(resource):
        return True
    return _BY_NAME.match(resource) is not None and not _FABRIC.search(resource)


def is_accelerator_class(device_class: str) -> bool:
    """Tell whether a DeviceClass may give accelerators, by its name: ``gpu.nvidia.com``."""
    return _CLASS.search(device_class) is not None


def find_pod_accelerator(pod: Object) -> str | None:
    """Return the first accelerator that a container of the pod asks for."""
    return next(filter(None, map(find_accelerator, containers(pod))), None)


def may_have_accelerator(pod: Object) -> bool:
    """Tell a pod that asks for an accelerator, or has a claim that may be of one."""
    if find_pod_accelerator(pod):
        return True
    claimed = {claim.get("name") for one in containers(pod) for claim in claims(one)}
    return bool(claimed) and any(
        each.get("name") in claimed and not is_compute_domain_channel(each)
        for each in pod["spec"].get("resourceClaims") or ()
    )


def find_tpu(pod: Object) -> str | None:
    """Return the TPU resource that a container asks for, ``google.com/tpu``."""
    for container in containers(pod):
        for quantities in (limits(container), requests(container)):
            for name in quantities:
                if "tpu" in name and _TPU.match(name):
                    return name
    return None


def count_accelerators(container: Object) -> int | None:
    """Return how many accelerators a container asks for; None where that is not certain.

    It is certain where one resource of whole accelerators is asked for. Shares of one are counted
    in other units, as ``aliyun.com/gpu-mem: 16``, or beside the accelerators, as HAMi's
    ``nvidia.com/gpucores``.
    """
    asked = {**requests(container), **limits(container)}
    found = [
        quantity
        for resource, quantity in asked.items()
        if is_accelerator(resource) and not _SHARE.search(resource) and quantity not in ("0", 0)
    ]
    if len(found) != 1:
        return None
    amount = stored_quantity(found[0])
    return amount.numerator if amount.denominator == 1 and amount > 0 else None


def find_accelerator(container: Object) -> str | None:
    """Return the first accelerator that a container's limits or requests ask for."""
    for quantities in (limits(container), requests(container)):
        for resource, quantity in quantities.items():
            if "/" in resource and quantity not in ("0", 0) and is_accelerator(resource):
                return resource
    return None
