"""Read the names of a pod's RDMA devices in its network-status; write them for NCCL and UCX.

Each entry may hold the description of its device, ``{"device-info": {"type": "pci", "pci":
{"rdma-device": "mlx5_4"}}}``. A device plugin writes it for the devices that it gives, and Multus
passes it on. A PCI device with several RDMA devices has a comma list; vdpa, vhost-user and memif
have none. Source: k8snetworkplumbingwg device-info-spec 1.1.0 SPEC.md 3.1.3.3;
network-attachment-definition-client pkg/apis/k8s.cni.cncf.io/v1/types.go PciDevice;
sriov-network-device-plugin pkg/netdevice/netResourcePool.go StoreDeviceInfoFile, which joins the
names with commas.
"""

import re
from typing import Any

from webhook.core.networks.status import secondary_networks

MOST_DEVICES = 64
"""More are taken for none: NCCL reads 32 names, and UCX ends the process for more than 64.
Source: NCCL src/transport/net_ib MAX_IB_DEVS; UCX ucp_is_resource_in_device_list."""
MAX_NAME = 64
"""Longest name of an RDMA device: Linux' IB_DEVICE_NAME_MAX."""
MAX_VALUE = MOST_DEVICES * (MAX_NAME + len(",:1"))
"""Longest value of a variable that is written here."""
_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_NAME}}}")


def rdma_devices(status: str) -> tuple[str, ...]:
    """Return the RDMA devices that a network-status value names, in the order of the interfaces.

    Those of the cluster network do not count. Empty where none is named. Empty too where one cannot
    be a device's name: to name the rest would rule that one out.
    """
    found: dict[str, None] = {}
    for entry in secondary_networks(status) or ():
        for name in _listed(entry):
            if not _NAME.fullmatch(name):
                return ()
            found[name] = None
    return tuple(found) if len(found) <= MOST_DEVICES else ()


def _listed(entry: dict[str, Any]) -> list[str]:
    info = entry.get("device-info")
    pci = info.get("pci") if isinstance(info, dict) else None
    names = pci.get("rdma-device") if isinstance(pci, dict) else None
    if names is None or names == "":
        return []
    return names.split(",") if isinstance(names, str) else [""]


def nccl_ib_hca(devices: tuple[str, ...]) -> str:
    """Write the value of NCCL_IB_HCA: whole names, since without ``=`` mlx5_1 is mlx5_10 too.

    For none it is ``=``: an empty list of names matches every device, and an empty annotation is
    one that is still to come. Source: NCCL src/misc/utils.cc parseStringList, matchIfList, as since
    2.9; docs/userguide/source/env.rst NCCL_IB_HCA.
    """
    return "=" + ",".join(devices)


def ucx_net_devices(devices: tuple[str, ...]) -> str:
    """Write the value of UCX_NET_DEVICES: names with their port; of none UCX's default ``all``.

    An empty list is no device. Releases of UCX compare the whole ``name:port``. What device plugins
    give has one port, which is 1: virtual functions, and every device of mlx5. Source: UCX
    src/ucp/core/ucp_context.c ucp_config_table, ucp_is_resource_in_device_list (1.10 to 1.20).
    """
    return ",".join([f"{name}:1" for name in devices]) or "all"
