"""Say whether NCCL, Gloo and UCX may use the interfaces and devices that the pod has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from webhook.core import names, podspec
from webhook.core.accelerators import is_accelerator
from webhook.core.addresses import multus
from webhook.core.injection.environment import (
    RDMA_SWITCHES,
    disables_rdma,
    gloo_may_use,
    nccl_may_use,
)
from webhook.core.injection.fixed_settings import (
    GID_INDEX,
    INTERFACE_LISTS,
    INTERFACES,
    absent_interfaces,
    fixes_gid_index,
    may_have_more,
    rules_out_rdma,
)
from webhook.core.injection.ipc_lock import may_lock
from webhook.core.model import Object
from webhook.core.networks.rdma_devices import rdma_devices
from webhook.core.profiles import Profiles
from webhook.diagnose.explain.observation import Observation, common_form, named, warn
from webhook.diagnose.explain.snapshot import JobSnapshot, ObservedJob
from webhook.diagnose.finding import Code
from webhook.diagnose.jobs import ObservedPod

RDMA_DISABLED = Code(
    "rdma-disabled",
    "interfaces",
    "A variable of the job keeps NCCL or UCX from the RDMA devices.",
    "remove it, then restart the job",
)
GID_INDEX_FIXED = Code(
    "gid-index-fixed",
    "interfaces",
    "NCCL_IB_GID_INDEX is fixed, though the index differs from pod to pod.",
    "remove it, then restart the job",
)
INTERFACE_ABSENT = Code(
    "interface-absent",
    "interfaces",
    "A variable of the job names an interface that the pod does not have.",
    "remove it, then restart the job",
)
INTERFACE_EXCLUDED = Code(
    "interface-excluded",
    "interfaces",
    "A variable of the job rules out the interface or the devices that the pod has to use.",
    "remove it, then restart the job",
)
INTERFACES_DISAGREE = Code(
    "interfaces-disagree",
    "interfaces",
    "The members of the job name different interfaces.",
    "give all members the same, then restart the job",
)

_VARIABLES: dict[str, Callable[[str, str], bool]] = {
    names.ENV_NCCL_SOCKET_IFNAME: nccl_may_use,
    names.ENV_GLOO_SOCKET_IFNAME: gloo_may_use,
}


def what_variables_say(snapshot: JobSnapshot, job: ObservedJob) -> Iterator[Observation]:
    """Look at literal values: of the training container, over them those its command exports."""
    for pod in job.live:
        if pod.is_injected:
            yield from _without_devices(snapshot, pod)
            yield from _absent(pod)
            yield from _excluded(pod)


def _without_devices(snapshot: JobSnapshot, pod: ObservedPod) -> Iterator[Observation]:
    fabric = ", ".join(resource for resource in pod.devices if not is_accelerator(resource))
    profiles = (snapshot.profiles or Profiles()).profiles
    profile = profiles.get(str(pod.status.get("profile")))
    # of a fabric whose memory is not locked, sockets are the way to use it
    is_rdma = may_lock(pod.training.get("securityContext") or {})
    for variable in RDMA_SWITCHES if fabric and is_rdma else ():
        value, where = value_that_counts(pod, variable)
        is_of_profile = profile is not None and profile.env.get(variable) == value
        if value and disables_rdma(variable, value) and not is_of_profile:
            message = f"{variable}={value} keeps NCCL from {fabric}: it uses sockets"
            yield warn(RDMA_DISABLED, pod, message, _removed(where))
    value, where = value_that_counts(pod, names.ENV_UCX_TLS)
    if value and rules_out_rdma(value) and fabric:
        message = f"UCX_TLS={value} keeps UCX from {fabric}: it uses sockets"
        yield warn(RDMA_DISABLED, pod, message, _removed(where))
    value, where = value_that_counts(pod, names.ENV_NCCL_IB_GID_INDEX)
    if value and fixes_gid_index(value):
        message = f"NCCL_IB_GID_INDEX={value} is fixed: {GID_INDEX}"
        yield warn(GID_INDEX_FIXED, pod, message, _removed(where))


def _absent(pod: ObservedPod) -> Iterator[Observation]:
    """Compare lists of interfaces with those that the pod has, where all of these are known."""
    attached = pod.attached
    is_elsewhere = pod.member is not None and bool(pod.member.secondary.interface)
    if not attached or may_have_more(pod.pod) or is_elsewhere:
        return
    found = [entry.get("interface") for entry in attached]
    if not all(isinstance(each, str) and each for each in found):
        return
    there = [*INTERFACES, *map(str, found)]
    meets_on = pod.member.wanted.rpartition("@")[2] if pod.member else ""
    for variable in INTERFACE_LISTS:
        value, where = value_that_counts(pod, variable)
        may_use = _VARIABLES.get(variable)
        if not value or "$" in value or (meets_on and may_use and not may_use(value, meets_on)):
            continue  # the job as a whole is looked at for the latter
        if absent := absent_interfaces(variable, value, there):
            message = f"{variable}={value} names {', '.join(absent)}, and it has no such interface"
            yield warn(INTERFACE_ABSENT, pod, message, _removed(where))


def _removed(where: str) -> str:
    return f"remove the variable from {where}, then restart the job"


def value_that_counts(pod: ObservedPod, variable: str) -> tuple[str | None, str]:
    """Return the value that counts, and where it is from."""
    if variable in pod.command:  # rarely so, and cheaper to know
        found = re.findall(rf"\b{variable}=[\"']?([^\s\"';&|$`]+)", pod.command)
        if found:
            return str(found[-1]), "its command"
    return pod.literals.get(variable), "the job or the profile"


def what_members_agree_on(_snapshot: JobSnapshot, job: ObservedJob) -> Iterator[Observation]:
    """Look at whether the members agree on the interface on which they meet."""
    for key, members in job.members.items():
        for variable, may_use in _VARIABLES.items():
            values: dict[str, list[str]] = {}
            for pod in members:
                value, where = value_that_counts(pod, variable)
                if value is None:
                    continue
                values.setdefault(value, []).append(pod.name)
                interface = pod.member.wanted.rpartition("@")[2] if pod.member else ""
                if not may_use(value, interface):
                    message = f"{variable}={value} rules out {interface}, on which the ranks meet"
                    yield warn(INTERFACE_EXCLUDED, pod, message, _removed(where))
            if len(values) > 1:
                told = "; ".join(
                    f"{value or 'nothing'} in {len(pods):,} ({named(pods)})"
                    for value, pods in values.items()
                )
                message = f"its members disagree on {variable}: {told}"
                yield warn(INTERFACES_DISAGREE, f"job {key}", message)


def _excluded(pod: ObservedPod) -> Iterator[Observation]:
    """Compare lists of devices with the pod's own, where each of its networks tells them."""
    attached = pod.attached or []
    fixed = {variable: value_that_counts(pod, variable) for variable in _LISTS}
    if not attached or not any(value for value, _ in fixed.values()):
        return
    devices = rdma_devices(multus.WORDS.read(podspec.annotations(pod.pod)))
    if not all(map(_names_device, attached)) or not devices:
        return
    for variable, (value, where) in fixed.items():
        may_use = _LISTS[variable]
        if value and "$" not in value and not any(may_use(value, device) for device in devices):
            message = f"{variable}={value} names none of its RDMA devices"
            detail = common_form(f"it has {', '.join(devices)}", pod.name)
            yield warn(INTERFACE_EXCLUDED, pod, message, _removed(where), detail=detail)


def ucx_may_use(value: str, device: str) -> bool:
    """Tell whether ``UCX_NET_DEVICES=value`` lets UCX use RDMA device *device* on some port.

    A comma list of whole names, with the port or without; ``^`` in front excludes; of a range,
    ``mlx5_[0-3]:1``, True. Source: UCX src/ucs/config/parser.c
    ucs_config_sscanf_allow_list_impl, src/ucp/core/ucp_context.c ucp_is_resource_in_device_list.
    """
    if "[" in value:
        return True
    excludes = value.startswith("^")
    listed = [one.partition(":")[0] for one in value.removeprefix("^").split(",")]
    return (device in listed) is not excludes or (not excludes and "all" in listed)


_LISTS: dict[str, Callable[[str, str], bool]] = {
    names.ENV_NCCL_IB_HCA: nccl_may_use,
    names.ENV_UCX_NET_DEVICES: ucx_may_use,
}


def _names_device(entry: Object) -> bool:
    info = entry.get("device-info")
    pci = info.get("pci") if isinstance(info, dict) else None
    return bool(isinstance(pci, dict) and pci.get("rdma-device"))
