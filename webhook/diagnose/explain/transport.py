"""Say which network the job trains over, by what NCCL prints in its log, and why that is not the fabric.

Only the choice of a network and the channels of a communicator count: the sockets by which the ranks meet (``Bootstrap``, ``OOB``) are
there with every transport.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from webhook.core import names
from webhook.core.accelerators import is_accelerator
from webhook.core.cluster.nodes import devices
from webhook.core.injection.environment import RDMA_SWITCHES, disables_rdma
from webhook.core.networks.rdma_devices import rdma_devices
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.interfaces import value_that_counts
from webhook.diagnose.explain.nccl_log import NcclLog, PodLog, Sign
from webhook.diagnose.explain.networks import further_interfaces
from webhook.diagnose.explain.observation import Observation, Stage, named
from webhook.diagnose.explain.part import Part
from webhook.diagnose.explain.reading import Reading, seconds_since
from webhook.diagnose.wording import duration, listed

_MOST_NAMED = 4
_LATE_SECONDS = 60.0
"""How long after its container a log may begin: NCCL's lines of init are not older than the container."""
_TCP, _LOCAL = "TCP", "no network"
_EFA = "efa"
_KERNEL_PROVIDERS = frozenset({"tcp", "sockets", "udp", "net"})
"""Of libfabric, those that send by the kernel's sockets."""
ASK = "set NCCL_DEBUG=INFO in the environment of container {container} and start the job again; explain --logs then tells"


class _Use(NamedTuple):
    """Say what a pod trains over: *ways* as ``("RDMA",)``, *text* as ``RDMA on mlx5_0 (net1)``; *is_seen*: channels are made."""

    ways: tuple[str, ...]
    text: str
    is_seen: bool


def observe(reading: Reading, parts: Sequence[Part]) -> Iterator[Observation]:
    """Look at the logs that were read; at none where nobody asked for logs."""
    if reading.logs is None:
        return
    read = [(part, found) for part in parts if (found := reading.logs.get(part.name)) is not None]
    jobs: dict[str, list[tuple[Part, PodLog]]] = {}
    for part, found in read:
        yield from _failures(part, found.log)
        if found.log.tells:
            jobs.setdefault(part.job, []).append((part, found))
        else:
            yield _untold(reading, part, found)
    for key, members in jobs.items():
        size = sum(part.job == key for part in parts)
        yield from _job(f"job {key}" if key else reading.target, members, size)
    if not read and not any(each.what == "logs" for each in reading.unread):
        message = (
            "no container of its pods that trains has begun to run, so there is no log to read"
        )
        action = "ask again when the pods run"
        yield Observation(
            Stage.SPEED, "warn", Code.TRANSPORT_UNTOLD, message, action, subject=reading.target
        )


def _job(subject: str, members: Sequence[tuple[Part, PodLog]], size: int) -> Iterator[Observation]:
    """Tell once what is true of all members, and name those that differ."""
    uses = {part.name: _use(part, found.log, is_alone=size == 1) for part, found in members}
    by_ways: dict[tuple[str, ...], list[str]] = {}
    for name, use in uses.items():
        by_ways.setdefault(use.ways, []).append(name)
    rest = (
        "" if len(members) >= size else f"; told by the logs of {len(members):,} of {size:,} pods"
    )
    common = len(by_ways) == 1
    if not common:
        told = "; ".join(
            f"{' and '.join(ways)} in {len(pods):,} ({named(pods)})"
            for ways, pods in sorted(
                by_ways.items(), key=lambda item: (len(item[1]), _TCP not in item[0])
            )
        )
        message = (
            f"its pods train over different networks, and all wait for the slowest: {told}{rest}"
        )
        yield Observation(Stage.SPEED, "warn", Code.TRANSPORTS_DIFFER, message, subject=subject)
    same = len({use.text for use in uses.values()}) == 1
    for part, found in members:
        use = uses[part.name]
        whom: dict[str, Any] = {"subject": subject} if common else {"pods": (part.name,)}
        text = use.text if same or not common else " and ".join(use.ways)
        whom["detail"] = (
            "" if same or not common else use.text
        )  # devices may have another name on each node
        if found.is_previous:
            text += " in the run before its container was restarted"
        yield from _told(part, found, use, f"{text}{rest if common else ''}", whom)


def _told(
    part: Part, found: PodLog, use: _Use, text: str, whom: dict[str, Any]
) -> Iterator[Observation]:
    if _LOCAL in use.ways:
        message = f"each of NCCL's communicators is within one pod or one NVLink domain, {text}"
        yield Observation(Stage.SPEED, "ok", Code.TRANSPORT_LOCAL, message, **whom)
        return
    if any(
        _is_doubtful(network, found.log) for network in (*found.log.channels, *found.log.chosen)
    ):
        by = " and ".join(found.log.providers)
        message = f"cannot tell whether it trains over the fabric or over TCP: its log names libfabric's providers {by}"
        action = "set FI_PROVIDER to the fabric's, so that no process takes the other, then start the job again"
        yield Observation(Stage.SPEED, "warn", Code.TRANSPORT_UNTOLD, message, action, **whom)
        return
    message = (
        f"trains over {text}"
        if use.is_seen
        else f"has chosen {text}, and made no channel between nodes yet"
    )
    if _TCP not in use.ways:
        yield Observation(Stage.SPEED, "ok", Code.TRANSPORT_FABRIC, message, **whom)
        return
    cause = _cause(part, found)
    if cause is None:
        yield Observation(Stage.SPEED, "ok", Code.TRANSPORT_TCP, message, "", **whom)
    else:
        why, action = cause
        yield Observation(
            Stage.SPEED, "warn", Code.TRANSPORT_TCP, f"{message}: {why}", action, **whom
        )


def _use(part: Part, log: NcclLog, *, is_alone: bool) -> _Use:
    if not log.channels and _needs_no_network(log, is_alone):
        return _Use((_LOCAL,), f"by {listed(log.local, _MOST_NAMED) or 'memory'}", is_seen=True)
    ways: dict[str, dict[str, None]] = {}
    unseen = [network for network in log.chosen if not log.channels or _way(network, log) == _TCP]
    for network in dict.fromkeys((*log.channels, *unseen)):
        way = _way(network, log)
        known = log.interfaces if way == _TCP else log.devices
        ways.setdefault(way, {}).update(log.channels.get(network) or known)
    direct = ", with GPUDirect RDMA" if log.channels and log.is_direct and _TCP not in ways else ""
    text = " and ".join(f"{way}{_on(part, where)}" for way, where in sorted(ways.items()))
    return _Use(tuple(sorted(ways)), f"{text}{direct}", is_seen=bool(log.channels))


def _needs_no_network(log: NcclLog, is_alone: bool) -> bool:
    """Tell whether all communicators are within a node or NVLink domain; channels within a pod are made before those between pods."""
    if log.nodes == 1:
        return True
    if not log.local:
        return False
    return log.is_domain or not log.chosen or (is_alone and not log.nodes)


def _way(network: str, log: NcclLog) -> str:
    """Return what a network of NCCL's is by name; one of a plugin that is not known is named as it is."""
    if network == "Socket":
        return _TCP
    if network == "gIB" or network.startswith("IB"):  # IBext, IBext_v8: of NVIDIA's plugin
        return "RDMA"
    if network.endswith("Libfabric") or network == "OFI":
        if log.providers and all(map(_is_of_kernel, log.providers)):
            return _TCP
        return f"libfabric ({' or '.join(log.providers) or 'provider not told'})"
    return f"NCCL's plugin {network}"


def _is_of_kernel(provider: str) -> bool:
    return provider.partition(";")[0] in _KERNEL_PROVIDERS


def _is_doubtful(network: str, log: NcclLog) -> bool:
    """Tell where libfabric may send by a fabric or by the kernel's sockets: processes have chosen both, and channels name neither."""
    is_libfabric = network.endswith("Libfabric") or network == "OFI"
    return is_libfabric and len(set(map(_is_of_kernel, log.providers))) > 1


def _on(part: Part, where: Iterable[str]) -> str:
    """Write `` on mlx5_0 (net1), mlx5_1 (net2)``, as far as the pod's network-status tells the interface of a device."""
    interfaces: dict[str, str] = {}
    for entry in part.attached or ():
        for device in rdma_devices(json.dumps([entry])):
            interfaces.setdefault(device, str(entry.get("interface") or ""))
    told = [f"{name} ({interfaces[name]})" if interfaces.get(name) else name for name in where]
    return f" on {listed(told, _MOST_NAMED)}" if told else ""


def _cause(part: Part, found: PodLog) -> tuple[str, str] | None:
    """Say why it is TCP, and what to do; None where that is the fabric: sockets on a further network, and no device asked for."""
    log, container = found.log, found.container
    asked = [resource for resource in devices(part.pod) if not is_accelerator(resource)]
    has_devices = bool(asked or (part.pod.get("spec") or {}).get("resourceClaims"))
    for variable in RDMA_SWITCHES:
        value, where = value_that_counts(part, variable)
        value = log.settings.get(variable) or value
        if value and disables_rdma(variable, value):
            return f"{variable}={value}", f"remove the variable from {where}, then restart the job"
    further = further_interfaces(part)
    if not has_devices and log.interfaces and further.issuperset(_used(log)):
        return None
    if Sign.NO_VERBS in log.signs:
        why = f"the image of container {container} lacks libibverbs.so, by which NCCL uses RDMA"
        return why, "install libibverbs1 (Debian, Ubuntu) or rdma-core into the image"
    if not has_devices:
        if further and (value := value_that_counts(part, names.ENV_NCCL_SOCKET_IFNAME)[0]):
            left_out = listed(sorted(further), _MOST_NAMED)
            why = f"the pod asks for no RDMA device, and NCCL_SOCKET_IFNAME={value} leaves out {left_out}"
            return (
                why,
                f"let NCCL_SOCKET_IFNAME name {min(further)}, or remove it so that it is injected",
            )
        why = "the pod asks for no device of a fabric"
        return (
            why,
            "see above why it was not injected; or name the resource of the fabric's device in the profile",
        )
    title = listed(asked, _MOST_NAMED) or "a device by a claim"
    if any(_EFA in resource for resource in asked) and Sign.NO_PROVIDER in log.signs:
        return f"libfabric finds no EFA device, though the pod asks for {title}", (
            "is libfabric of the EFA installer in the image, and the device in the container? ls /dev/infiniband"
        )
    if any(_EFA in resource for resource in asked) and Sign.NO_PLUGIN in log.signs:
        return "NCCL finds no plugin libnccl-net.so, and EFA is used by that of AWS alone", (
            "install aws-ofi-nccl into the image, and name its folder in LD_LIBRARY_PATH"
        )
    if Sign.NO_OPEN in log.signs:
        return f"NCCL cannot open an RDMA device, though the pod asks for {title}", (
            "may the container's user open /dev/infiniband/uverbs*? See that the device plugin gives the device to this container"
        )
    hca, where = value_that_counts(part, names.ENV_NCCL_IB_HCA)
    hca = log.settings.get(names.ENV_NCCL_IB_HCA) or hca
    if Sign.NO_DEVICE in log.signs and hca:
        return (
            f"NCCL_IB_HCA={hca} names no RDMA device that works in the container, which asks for {title}",
            (
                f"compare it with `ls /sys/class/infiniband` in the container, and remove the variable from {where}"
            ),
        )
    if Sign.NO_DEVICE in log.signs:
        return (
            f"NCCL finds no RDMA device that works in the container, though the pod asks for {title}",
            (
                "see `ls /dev/infiniband /sys/class/infiniband` in the container, and that the port is ACTIVE; then the device plugin's log"
            ),
        )
    why = f"its log does not say why it leaves {title} alone"
    return why, "set NCCL_DEBUG_SUBSYS=INIT,NET,ENV beside NCCL_DEBUG=INFO and start the job again"


def _used(log: NcclLog) -> Iterable[str]:
    return log.channels.get("Socket") or log.interfaces


def _failures(part: Part, log: NcclLog) -> Iterator[Observation]:
    if Sign.LOCKED_MEMORY in log.signs:
        message = "NCCL may not lock the memory that RDMA needs (Cannot allocate memory)"
        yield Observation(Stage.SPEED, "fail", Code.RDMA_MEMORY_REFUSED, message, pods=(part.name,))
    if Sign.UNCONNECTED in log.signs:
        message = "NCCL has found its RDMA devices, and they do not reach those of another pod"
        yield Observation(Stage.SPEED, "fail", Code.RDMA_UNCONNECTED, message, pods=(part.name,))


def _untold(reading: Reading, part: Part, found: PodLog) -> Observation:
    """Say that the log does not tell, why, and how to ask."""
    log, container = found.log, found.container
    late = _seconds_late(part, container, log)
    action = ASK.format(container=container)
    file = value_that_counts(part, "NCCL_DEBUG_FILE")[0]
    if log.messages and log.bootstrap:
        met = listed(log.bootstrap, _MOST_NAMED)
        why = f"NCCL's lines tell only where the ranks meet (Bootstrap on {met}), not what they train over"
        action = "look again in a moment; if it stays so, set NCCL_DEBUG_SUBSYS=INIT,NET,ENV"
    elif log.foreign and not log.messages:
        why = f"NCCL's lines there are of {listed(log.foreign, _MOST_NAMED)}, which is no pod of this job"
        action = (
            "NCCL names the host in front of each line: does something else write into this log?"
        )
    elif log.messages:
        why = "NCCL's lines there name no network yet"
        action = "look again in a moment; if it stays so, set NCCL_DEBUG_SUBSYS=INIT,NET,ENV"
    elif file:
        why, action = (
            "NCCL_DEBUG_FILE sends NCCL's lines to a file",
            "read that file, or remove NCCL_DEBUG_FILE",
        )
    elif _is_informed(part) and late > _LATE_SECONDS:
        why = f"the log that the node keeps begins {duration(late)} after the container, and NCCL prints its lines at the beginning"
        action = "start the job again and ask soon after, or let the nodes keep longer logs (containerLogMaxSize)"
    elif log.gloo_peers:
        why = "only Gloo's lines are there, which connects by TCP and does not name the interface; NCCL prints none"
    elif _is_informed(part):
        why = "NCCL has printed nothing, though NCCL_DEBUG asks it to"
        action = "look again when training has begun; if it stays so, does the job use NCCL, and is its output that of the container?"
    else:
        why = "NCCL prints its lines only where NCCL_DEBUG=INFO is set"
    message = f"cannot tell which network it trains over: {why}"
    return Observation(Stage.SPEED, "warn", Code.TRANSPORT_UNTOLD, message, action, (part.name,))


def _is_informed(part: Part) -> bool:
    value, _ = value_that_counts(part, "NCCL_DEBUG")
    return value is not None and value.upper() in ("INFO", "TRACE")


def _seconds_late(part: Part, container: str, log: NcclLog) -> float:
    """Return how long after its container the log begins; 0 where that is not told."""
    state = part.state_of(container)
    began = (state.get("running") or state.get("terminated") or {}).get("startedAt")
    try:
        return seconds_since(began, datetime.fromisoformat(log.begins)) or 0.0
    except ValueError:
        return 0.0
