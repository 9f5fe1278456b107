"""Tell the resources that stand for a GPU or another training accelerator, by the names that device plugins give them."""

from __future__ import annotations

from webhook import podspec
from webhook.model import Object

_WORDS = ("gpu", "mig-", "gaudi", "neuron", "tpu", "npu", "dcu", "mlu", "ascend")


def is_accelerator(resource: str) -> bool:
    """Tell an accelerator's resource name: ``nvidia.com/gpu``, ``nvidia.com/mig-1g.5gb``, ``google.com/tpu``, ``habana.ai/gaudi``.

    The word counts at the start of the last part or behind a dash, dot or underscore, so that ``rdma/shared_cx5_gpu1`` is none.
    """
    domain, slash, name = resource.partition("/")
    if not slash or domain in ("rdma", "spidernet.io"):
        return False
    return any(word in name.lower() for word in _WORDS)


def asks_for_accelerator(container: Object) -> bool:
    """Tell whether the container's limits or requests hold an accelerator."""
    return any(is_accelerator(name) for name in podspec.limits(container)) or any(
        is_accelerator(name) for name in podspec.requests(container)
    )
