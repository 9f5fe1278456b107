"""Say which RDMA devices NCCL and UCX are told of, or why of none, and whether a variable of the job leaves any of the pod's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from webhook.core import names, podspec
from webhook.core.addresses import multus
from webhook.core.injection.environment import nccl_may_use
from webhook.core.model import Object
from webhook.core.networks.rdma_devices import nccl_ib_hca, rdma_devices, ucx_net_devices
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.interfaces import value_that_counts
from webhook.diagnose.explain.observation import Observation, Stage, common_form
from webhook.diagnose.explain.part import Part

_NONE = (nccl_ib_hca(()), ucx_net_devices(()))
"""What is published where no device is known."""


def observe(parts: Iterable[Part]) -> Iterator[Observation]:
    """Look at live pods that Multus has attached."""
    for part in parts:
        if not part.is_live or not part.is_injected:
            continue
        attached = part.attached
        if attached is not None:
            yield from _excluded(part, attached)
        if part.member is not None and part.member.devices:
            yield from _told(part)


def _told(part: Part) -> Iterator[Observation]:
    """Say what is published; a pod that is not told yet waits, which is told elsewhere."""
    assert part.member is not None  # noqa: S101  # for mypy: the caller has asked
    told = podspec.annotations(part.pod)
    shown = [(key, told.get(key) or "") for key, _ in part.member.devices]
    if not all(value for _, value in shown):
        return
    pods = (part.name,)
    detail = common_form(", ".join(f"{_variable(key)}={value}" for key, value in shown), part.name)
    if any(value not in _NONE for _, value in shown):
        message = "is told the names of its RDMA devices"
        yield Observation(
            Stage.SUMMARY, "ok", Code.RDMA_DEVICES_TOLD, message, pods=pods, detail=detail
        )
        return
    why = "no device-info there names one, as a device plugin for single cards would write it"
    if any(_named(entry) for entry in part.attached or ()):
        why = "what stands there for one cannot be a device's name, or it names too many"
    message = f"annotation {names.NETWORK_STATUS} has no names of RDMA devices: {why}; NCCL and UCX choose among all"
    yield Observation(Stage.SUMMARY, "ok", Code.RDMA_DEVICES_UNNAMED, message, pods=pods)


def _variable(key: str) -> str:
    return key.removeprefix(names.PREFIX).replace("-", "_").upper()


def _excluded(part: Part, attached: list[Object]) -> Iterator[Observation]:
    """Compare lists that the user fixed with the pod's devices, where each of its networks tells its own."""
    fixed = [
        (variable, *value_that_counts(part, variable), may_use) for variable, may_use in _LISTS
    ]
    if not any(value for _, value, _, _ in fixed) or not all(map(_named, attached)):
        return
    devices = rdma_devices(multus.WORDS.read(podspec.annotations(part.pod)))
    for variable, value, where, may_use in fixed if devices else ():
        if value and "$" not in value and not any(may_use(value, device) for device in devices):
            message = f"{variable}={value} names none of its RDMA devices"
            action = f"remove the variable from {where}, then restart the job"
            detail = common_form(f"it has {', '.join(devices)}", part.name)
            yield Observation(
                Stage.SPEED,
                "warn",
                Code.RDMA_DEVICES_EXCLUDED,
                message,
                action,
                (part.name,),
                detail=detail,
            )


def ucx_may_use(value: str, device: str) -> bool:
    """Tell whether ``UCX_NET_DEVICES=value`` lets UCX use RDMA device *device* on some port.

    A comma list of whole names, with the port or without; ``^`` in front excludes; of a range, ``mlx5_[0-3]:1``, True.
    Source: UCX src/ucs/config/parser.c ucs_config_sscanf_allow_list_impl, src/ucp/core/ucp_context.c ucp_is_resource_in_device_list.
    """
    if "[" in value:
        return True
    excludes = value.startswith("^")
    listed = [one.partition(":")[0] for one in value.removeprefix("^").split(",")]
    return (device in listed) is not excludes or (not excludes and "all" in listed)


_LISTS: tuple[tuple[str, Callable[[str, str], bool]], ...] = (
    (names.ENV_NCCL_IB_HCA, nccl_may_use),
    (names.ENV_UCX_NET_DEVICES, ucx_may_use),
)


def _named(entry: Object) -> bool:
    info = entry.get("device-info")
    pci = info.get("pci") if isinstance(info, dict) else None
    return bool(isinstance(pci, dict) and pci.get("rdma-device"))
