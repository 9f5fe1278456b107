"""Say which network the job trains over, by NCCL's log, and why that is not the fabric.

Only the choice of a network and the channels of a communicator count. The sockets by which the
ranks meet (``Bootstrap``, ``OOB``) are there with every transport.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from webhook.core import names
from webhook.core.accelerators import is_accelerator
from webhook.core.injection.environment import RDMA_SWITCHES, disables_rdma
from webhook.core.wording import listed
from webhook.diagnose.explain.job import ObservedJob
from webhook.diagnose.explain.nccl_log import NcclLog, PodLog, Sign
from webhook.diagnose.explain.networks import further_interfaces
from webhook.diagnose.finding import About, Code, Finding, ok
from webhook.diagnose.jobs import ObservedPod
from webhook.diagnose.snapshot import Snapshot

RDMA_MEMORY_REFUSED = Code(
    "transport/rdma-memory-refused",
    "NCCL could not lock memory for RDMA.",
    "let ipcLock of the profile add IPC_LOCK, or raise memlock in the nodes' container runtime",
)
RDMA_UNCONNECTED = Code(
    "transport/rdma-unconnected",
    "NCCL's RDMA devices of two pods do not reach each other.",
    "do not fix NCCL_IB_GID_INDEX; see that the nodes are on one network",
)
TRANSPORT_UNTOLD = Code(
    "transport/transport-untold",
    "The log does not tell which network the job trains over.",
    "set NCCL_DEBUG=INFO in the environment of the training container and start the job again",
)
TRANSPORT_TCP = Code(
    "transport/transport-tcp",
    "By its log, the job's NCCL uses sockets (TCP), which is slow where the fabric has RDMA.",
    "see the message for the cause; NCCL_DEBUG_SUBSYS=INIT,NET,ENV lets NCCL tell more of it",
)

_MOST_NAMED = 4
_TCP, _LOCAL = "TCP", "no network"
_EFA = "efa"
_KERNEL_PROVIDERS = frozenset({"tcp", "sockets", "udp", "net"})
"""Of libfabric, those that send by the kernel's sockets."""
_ASK = "set NCCL_DEBUG=INFO in the environment of container {} and start the job again"
_MORE = "set NCCL_DEBUG_SUBSYS=INIT,NET,ENV beside NCCL_DEBUG=INFO and start the job again"


class _Use(NamedTuple):
    """Say what a pod trains over: *ways* as ``("RDMA",)``, *text* as ``RDMA on mlx5_0``.

    *is_seen*: channels are made.
    """

    ways: tuple[str, ...]
    text: str
    is_seen: bool


def what_it_trains_over(snapshot: Snapshot, job: ObservedJob) -> Iterator[Finding]:
    """Look at the logs that were read; at none where nobody asked for logs."""
    if job.logs is None:
        return
    read = [(pod, job.logs[pod.name]) for pod in job.pods if pod.name in job.logs]
    jobs: dict[str, list[tuple[ObservedPod, PodLog]]] = {}
    for pod, found in read:
        if Sign.LOCKED_MEMORY in found.log.signs:
            message = "NCCL may not lock the memory that RDMA needs (Cannot allocate memory)"
            yield RDMA_MEMORY_REFUSED.fail(pod, message)
        if Sign.UNCONNECTED in found.log.signs:
            message = "NCCL has found its RDMA devices, and they do not reach those of another pod"
            yield RDMA_UNCONNECTED.fail(pod, message)
        if found.log.tells:
            jobs.setdefault(pod.job, []).append((pod, found))
        else:
            yield _untold(pod, found)
    for key, members in jobs.items():
        size = sum(pod.job == key for pod in job.pods)
        yield from _of_job(f"job {key}" if key else job.target, members, size)
    if not read and not any(each.what == "logs" for each in snapshot.unread()):
        message = "no container of its pods that trains has begun to run: there is no log yet"
        yield TRANSPORT_UNTOLD.warn(job.target, message, "ask again when the pods run")


def _of_job(
    subject: str, members: Sequence[tuple[ObservedPod, PodLog]], size: int
) -> Iterator[Finding]:
    """Say once what is true of all members, and name those that differ."""
    uses = [_use(found.log, is_alone=size == 1) for _, found in members]
    rest = f"; by the logs of {len(members):,} of {size:,} pods" if len(members) < size else ""
    common = len({use.ways for use in uses}) == 1
    is_example = common and len({use.text for use in uses}) > 1
    for use, (pod, found) in zip(uses, members, strict=True):
        # devices may have another name on each node
        text = " and ".join(use.ways) if is_example else use.text
        before = " in the run before its container was restarted" if found.is_previous else ""
        text = f"{text}{before}{rest if common else ''}"
        message = f"trains over {text}"
        if _LOCAL in use.ways:
            message = f"each NCCL communicator is within one pod or one NVLink domain, {text}"
        elif not use.is_seen:
            message = f"has chosen {text}, and made no channel between nodes yet"
        about: About = subject if common else pod
        detail = use.text if is_example else ""
        if _TCP in use.ways and _LOCAL not in use.ways and (cause := _cause(pod, found)):
            message = f"{message}: {cause[0]}"
            yield TRANSPORT_TCP.warn(about, message, cause[1], detail=detail)
        else:
            yield ok("transport", about, message, detail)


def _use(log: NcclLog, *, is_alone: bool) -> _Use:
    if not log.channels and _needs_no_network(log, is_alone):
        return _Use((_LOCAL,), f"by {listed(log.local, _MOST_NAMED) or 'memory'}", is_seen=True)
    ways: dict[str, dict[str, None]] = {}
    unseen = [network for network in log.chosen if not log.channels or _way(network, log) == _TCP]
    for network in dict.fromkeys((*log.channels, *unseen)):
        way = _way(network, log)
        known = log.interfaces if way == _TCP else log.devices
        ways.setdefault(way, {}).update(log.channels.get(network) or known)
    direct = ", with GPUDirect RDMA" if log.channels and log.is_direct and _TCP not in ways else ""
    text = " and ".join(
        f"{way} on {listed(found, _MOST_NAMED)}" if found else way
        for way, found in sorted(ways.items())
    )
    return _Use(tuple(sorted(ways)), f"{text}{direct}", is_seen=bool(log.channels))


def _needs_no_network(log: NcclLog, is_alone: bool) -> bool:
    """Tell whether all communicators are within a node or NVLink domain.

    Channels within a pod are made before those between pods.
    """
    is_within = log.is_domain or not log.chosen or (is_alone and not log.nodes)
    return log.nodes == 1 or (bool(log.local) and is_within)


def _way(network: str, log: NcclLog) -> str:
    """Return what a network of NCCL's is by name; one of an unknown plugin is named as it is."""
    if network == "Socket":
        return _TCP
    if network == "gIB" or network.startswith("IB"):  # IBext, IBext_v8: of NVIDIA's plugin
        return "RDMA"
    if network.endswith("Libfabric") or network == "OFI":
        providers = {provider.partition(";")[0] for provider in log.providers}
        if providers and providers <= _KERNEL_PROVIDERS:
            return _TCP
        return f"libfabric ({' or '.join(log.providers) or 'provider not told'})"
    return f"NCCL's plugin {network}"


def _cause(pod: ObservedPod, found: PodLog) -> tuple[str, str] | None:
    """Say why it is TCP, and what to do; None where sockets on a further network are the fabric."""
    log, container = found.log, found.container
    asked = [resource for resource in pod.devices if not is_accelerator(resource)]
    has_devices = bool(asked or (pod.pod.get("spec") or {}).get("resourceClaims"))
    for variable in RDMA_SWITCHES:
        value, where = value_that_counts(pod, variable)
        value = log.settings.get(variable) or value
        if value and disables_rdma(variable, value):
            return f"{variable}={value}", f"remove the variable from {where}, then restart the job"
    further = further_interfaces(pod)
    used = log.channels.get("Socket") or log.interfaces
    if not has_devices and log.interfaces and further.issuperset(used):
        return None
    if Sign.NO_VERBS in log.signs:
        why = f"the image of container {container} lacks libibverbs.so, by which NCCL uses RDMA"
        return why, "install libibverbs1 (Debian, Ubuntu) or rdma-core into the image"
    if not has_devices:
        value = value_that_counts(pod, names.ENV_NCCL_SOCKET_IFNAME)[0]
        if further and value:
            left_out = listed(sorted(further), _MOST_NAMED)
            given = f"NCCL_SOCKET_IFNAME={value} leaves out {left_out}"
            why = f"the pod asks for no RDMA device, and {given}"
            return why, f"let NCCL_SOCKET_IFNAME name {min(further)}, or remove it"
        why = "the pod asks for no device of a fabric"
        return why, "name the resource of the fabric's device in the profile, if it was injected"
    title = listed(asked, _MOST_NAMED) or "a device by a claim"
    if any(_EFA in resource for resource in asked):
        if Sign.NO_PROVIDER in log.signs:
            why = f"libfabric finds no EFA device, though the pod asks for {title}"
            return why, "put libfabric of the EFA installer into the image; see ls /dev/infiniband"
        if Sign.NO_PLUGIN in log.signs:
            why = "NCCL finds no plugin libnccl-net.so, and only that of AWS uses EFA"
            action = "install aws-ofi-nccl into the image, and name its folder in LD_LIBRARY_PATH"
            return why, action
    if Sign.NO_OPEN in log.signs:
        why = f"NCCL cannot open an RDMA device, though the pod asks for {title}"
        return why, "let the container's user open /dev/infiniband/uverbs*; see the device plugin"
    if Sign.NO_DEVICE in log.signs:
        hca, where = value_that_counts(pod, names.ENV_NCCL_IB_HCA)
        if hca := log.settings.get(names.ENV_NCCL_IB_HCA) or hca:
            why = f"NCCL_IB_HCA={hca} names no RDMA device that works, and the pod asks for {title}"
            compare = "compare it with ls /sys/class/infiniband"
            return why, f"{compare}, and remove the variable from {where}"
        why = f"NCCL finds no RDMA device that works, though the pod asks for {title}"
        return why, "see ls /sys/class/infiniband in the container, and the device plugin's log"
    return f"its log does not say why it leaves {title} alone", _MORE


def _untold(pod: ObservedPod, found: PodLog) -> Finding:
    """Say that the log does not tell, why, and how to ask."""
    log, container = found.log, found.container
    file = value_that_counts(pod, "NCCL_DEBUG_FILE")[0]
    is_informed = (value_that_counts(pod, "NCCL_DEBUG")[0] or "").upper() in ("INFO", "TRACE")
    why, action = "NCCL prints its lines only where NCCL_DEBUG=INFO is set", _ASK.format(container)
    if log.messages:
        why = "NCCL's lines there name no network yet"
        action = "look again in a moment; if it stays so, set NCCL_DEBUG_SUBSYS=INIT,NET,ENV"
    elif file:
        why = "NCCL_DEBUG_FILE sends NCCL's lines to a file"
        action = "read that file, or remove NCCL_DEBUG_FILE"
    elif is_informed:
        why = "the log has none of NCCL's lines, though NCCL_DEBUG asks for them"
        action = "look again when training has begun; if the log was rotated, start the job again"
    return TRANSPORT_UNTOLD.warn(pod, f"its network is unknown: {why}", action)


def value_that_counts(pod: ObservedPod, variable: str) -> tuple[str | None, str]:
    """Return the value that counts, and where it is from; what its command exports comes first."""
    if variable in pod.command:  # rarely so, and cheaper to know
        found = re.findall(rf"\b{variable}=[\"']?([^\s\"';&|$`]+)", pod.command)
        if found:
            return str(found[-1]), "its command"
    return pod.literals.get(variable), "the job or the profile"
