"""Devices with ids, by a device plugin, for the node of the tests; the devices of `kubelet.DEVICES` are numbers without any.

No card is behind them: the plugin is ours (tests/cluster/tools/deviceplugin), and it writes for each device the file that
sriov-network-device-plugin writes for a virtual function, by the same function of the same library.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.cluster.assets import binary

from .kubelet import NAME
from .node import Node

RESOURCE = "nvidia.com/sriovlegacy"
"""As NVIDIA's network operator names it in its example of SR-IOV."""
RDMA_DEVICES = {f"0000:82:{n // 8:02x}.{n % 8}": f"mlx5_{n}" for n in range(2, 18)}
"""The name of each device's RDMA device, by its id, which is its PCI address."""


@contextmanager
def device_plugin(
    node: Node, resource: str = RESOURCE, devices: Mapping[str, str] = RDMA_DEVICES
) -> Iterator[None]:
    """Run the plugin; the node offers all of its devices on entry."""
    described = [f"{address}={rdma}" for address, rdma in devices.items()]
    log = f"deviceplugin-{resource.partition('/')[2]}.log"
    server = node.start([str(binary("deviceplugin")), resource, *described], log)
    try:
        server.wait_ready(lambda: offered(node, resource) == len(devices), 120)
        yield
    finally:
        server.kill()


def offered(node: Node, resource: str = RESOURCE) -> int:
    """Give how many of the devices pods may ask the node for."""
    status = node.api.expect("GET", f"/api/v1/nodes/{NAME}")["status"]
    return int(status["allocatable"].get(resource, 0))
