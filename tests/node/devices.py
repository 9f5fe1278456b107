"""Devices with ids, by a device plugin; those of `kubelet.DEVICES` are numbers without any.

No card is behind them: the plugin is ours (tests/cluster/tools/deviceplugin), and it writes for
each device the file that sriov-network-device-plugin writes for a virtual function, by the same
function of the same library. A card that pods get whole is one end of a veth pair, whose other end
is on a bridge as a card's port is on a switch; the CNI plugin host-device finds it by PCI address
and moves it. Resources are named as in the examples of NVIDIA's network operator.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.cluster.assets import binary
from tests.cluster.node.cni import batch, define, link_names, network_config
from tests.cluster.node.kubelet import NAME
from tests.cluster.node.node import Node
from tests.cluster.processes import Server

FUNCTION, CARD = "nvidia.com/sriovlegacy", "nvidia.com/hostdev"
FUNCTIONS = {f"0000:82:{n // 8:02x}.{n % 8}": f"mlx5_{n}" for n in range(2, 18)}
"""The name of each virtual function's RDMA device, by its id, which is its PCI address."""
CARDS = {f"0000:83:00.{n}": f"fi-card{n}" for n in range(4)}
"""The interface of each whole card, by its id."""
SYSFS = """\
set -e
mount -t tmpfs tmpfs /sys/bus/pci/devices
mkdir -p /sys/bus/pci/devices/drivers/mlx5_core
for card in "$@"; do
  folder=/sys/bus/pci/devices/${card%%=*}
  mkdir -p "$folder/net/${card#*=}"
  ln -s ../drivers/mlx5_core "$folder/driver"
done
"""


@contextmanager
def device_plugin(node: Node, resource: str, devices: Mapping[str, str]) -> Iterator[None]:
    """Run the plugin with the devices' RDMA devices by id; the node offers all on entry."""
    described = [f"{address}={rdma}" for address, rdma in devices.items()]
    log = f"deviceplugin-{resource.partition('/')[2]}.log"
    command = node.inside(str(binary("deviceplugin")), resource, *described)
    with Server(command, node.folder / log, lambda: offered(node, resource) == len(devices)):
        yield


def offered(node: Node, resource: str) -> int:
    """Give how many of the devices pods may ask the node for."""
    status = node.api.expect("GET", f"/api/v1/nodes/{NAME}")["status"]
    return int(status["allocatable"].get(resource, 0))


@contextmanager
def cards(node: Node, network: str) -> Iterator[None]:
    """Give the node whole cards, and the cluster the network ``namespace/name`` of them."""
    batch("link add fi-switch type bridge\nlink set fi-switch up\n")
    for number, card in enumerate(CARDS.values()):
        batch(f"link add fi-port{number} type veth peer name {card}\n")
        batch(f"link set fi-port{number} master fi-switch up\n")
    node.run("sh", "-c", SYSFS, "sh", *(f"{id_}={card}" for id_, card in CARDS.items()))
    try:
        namespace, _, name = network.partition("/")
        config = {"cniVersion": "0.3.1", "name": name, "type": "host-device"}
        config["ipam"] = network_config(node.api)["ipam"]
        node.api.ensure(define(namespace, name, json.dumps(config), CARD))
        with device_plugin(node, CARD, dict.fromkeys(CARDS, "")):
            yield
    finally:
        node.run("umount", "/sys/bus/pci/devices")


def cards_of_the_machine() -> set[str]:
    """Give which of the cards no pod has now."""
    return {*link_names()} & {*CARDS.values()}
