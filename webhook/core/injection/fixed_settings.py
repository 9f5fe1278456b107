"""Judge settings of NCCL, Gloo and UCX that were right elsewhere.

A fixed GID index, UCX without RDMA, names of absent interfaces: only what is certain is reported.
What a reference holds is not known here. Nor are the names of RDMA devices, which a device plugin
gives on the node: explain compares those.
"""

import re
from collections.abc import Sequence
from typing import Final

from webhook.core import names, podspec
from webhook.core.model import Object
from webhook.core.plan import Plan

INTERFACES: Final = names.INTERFACES_OF_EVERY_POD
_USUAL: Final = re.compile(r"(net|eth|ib|bond)\d+|en[ops]\d\w*")
"""Names that the kernel, systemd and Multus give; something else may make others in the pod."""
_RDMA_DEVICE: Final = re.compile(r"mlx\d+_\d+")
"""Names of RDMA devices, which no interface has."""
_NO_RDMA_DEVICE: Final = re.compile(r"lo|(net|eth|bond)\d+")
"""Names of interfaces, which no RDMA device has."""
_RDMA_TRANSPORTS = ("all", "ib", "rc", "ud", "dc", "srd", "gga", "ugni")
_INDEX: Final = re.compile(r"\s*\+?(0[xX][0-9a-fA-F]+|\d+)")
_SOCKETS = (names.ENV_NCCL_SOCKET_IFNAME, names.ENV_GLOO_SOCKET_IFNAME)
INTERFACE_LISTS = (*_SOCKETS, names.ENV_UCX_NET_DEVICES)
JUDGED: Final = frozenset(
    (*INTERFACE_LISTS, names.ENV_NCCL_IB_HCA, names.ENV_NCCL_IB_GID_INDEX, names.ENV_UCX_TLS)
)
"""The variables that are looked at."""


def fixed_setting(plan: Plan, pod: Object, name: str, value: str) -> str:
    """Say what is wrong with a literal value of one of JUDGED; empty where nothing is."""
    fabric = ", ".join(plan.fabric_resources)
    if name == names.ENV_NCCL_IB_GID_INDEX:
        return f"is fixed: {GID_INDEX}; remove it" if fixes_gid_index(value) else ""
    if name == names.ENV_UCX_TLS:
        message = f"keeps UCX from {fabric}: it would use sockets; remove it"
        return message if fabric and rules_out_rdma(value) else ""
    if name == names.ENV_NCCL_IB_HCA:
        found = ", ".join([one for one in listed(value) if _NO_RDMA_DEVICE.fullmatch(one)])
        message = f"names {found}, where NCCL takes RDMA devices and no interfaces; remove it"
        return message if found else ""
    there = _interfaces(plan, pod)
    absent = ", ".join(absent_interfaces(name, value, there)) if there else ""
    attached = [each.interface for each in plan.attachments if not each.default]
    has = ", ".join([*INTERFACES, *attached])
    message = f"names {absent}, and the pod's interfaces will be {has}; correct or remove it"
    return message if absent else ""


GID_INDEX: Final = (
    "the index of a pod's address differs from pod to pod, and NCCL finds it itself since 2.21"
)


def fixes_gid_index(value: str) -> bool:
    """Tell whether ``NCCL_IB_GID_INDEX=value`` fixes the index: a number other than the default -1.

    Each address of an RDMA device has its own, and macvlan and SR-IOV give each pod others. Source:
    NCCL issues 718, 890, 1573; src/transport/net_ib/connect.cc NCCL_PARAM(IbGidIndex,
    "IB_GID_INDEX", -1), src/misc/ibvwrap.cc, which gives the same advice.
    """
    return _INDEX.match(value) is not None


def rules_out_rdma(value: str) -> bool:
    """Tell whether ``UCX_TLS=value`` lets UCX use TCP, and no transport over RDMA.

    No error says so, all is only slow. A comma list; ``^`` in front of it excludes, and a backslash
    before a name takes it for no alias. Source: ome-projects/ome issue 837; UCX
    src/ucp/core/ucp_context.c ucp_config_table, ucp_tl_aliases.
    """
    transports = listed(value)
    return "tcp" in transports and not any(
        one.lstrip("\\").startswith(_RDMA_TRANSPORTS) for one in transports
    )


def listed(value: str) -> list[str]:
    """Return what a list names, without ports; nothing of a list that excludes.

    NCCL takes prefixes, or whole names after ``=``; Gloo and UCX whole names. Source: NCCL
    src/os/linux.cc ncclOsFindInterfaces, src/transport/net_ib/init.cc; pytorch
    torch/csrc/distributed/c10d/init.cpp; UCX src/ucs/config/parser.c
    ucs_config_sscanf_allow_list_impl.
    """
    if value.startswith("^"):
        return []
    return [name for one in value.removeprefix("=").split(",") if (name := one.partition(":")[0])]


def absent_interfaces(variable: str, value: str, there: Sequence[str]) -> list[str]:
    """Return what a value of one of INTERFACE_LISTS names, and what is certain not to be *there*.

    NCCL takes those of its list that exist: nothing is missing to it where one may.
    """
    is_for_nccl = variable == names.ENV_NCCL_SOCKET_IFNAME
    is_prefix = is_for_nccl and not value.startswith("=")
    wanted = listed(value)
    absent = [
        name
        for name in wanted
        if _is_no_other_name(variable, name)
        and name not in there
        and not (is_prefix and any(each.startswith(name) for each in there))
    ]
    return [] if is_for_nccl and len(absent) < len(wanted) else absent


def may_have_more(pod: Object) -> bool:
    """Tell a pod that may have interfaces of the node, of GKE, or of a DRA driver."""
    return bool(
        podspec.is_host_network(pod)
        or podspec.annotations(pod).get(names.GKE_INTERFACES)
        or (pod.get("spec") or {}).get("resourceClaims")
    )


def _is_no_other_name(variable: str, name: str) -> bool:
    """Tell a name of an interface of a node or of Multus, or of none; UCX takes RDMA devices."""
    return bool(_USUAL.fullmatch(name) or (variable in _SOCKETS and _RDMA_DEVICE.fullmatch(name)))


def _interfaces(plan: Plan, pod: Object) -> tuple[str, ...]:
    """Return the interfaces that the pod may have; empty where that is not certain."""
    if not plan.attachments or may_have_more(pod):
        return ()
    attached = [attachment.interface for attachment in plan.attachments]
    highest = max([int(one[3:]) for one in attached if re.fullmatch(r"net\d{1,3}", one)], default=0)
    # Lower numbers may be those of the cluster's default networks, which Multus attaches first.
    return (
        *INTERFACES,
        *attached,
        *[f"net{number}" for number in range(1, highest)],
    )
