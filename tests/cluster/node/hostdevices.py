"""Network cards that pods get whole: interfaces of the machine, which the CNI plugin host-device finds by PCI address and moves.

No card is behind them. Each is one end of a veth pair, whose other end is on a bridge as a card's port is on a switch; the machine's
/sys/bus/pci/devices, as the node's programs see it, has a folder for each, with the driver and the name of the interface in it.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from .cni import define, host_local
from .deviceplugin import device_plugin
from .node import Node

RESOURCE = "nvidia.com/hostdev"
"""As NVIDIA's network operator names it in its example of a HostDeviceNetwork."""
COUNT = 4
ADDRESSES = tuple(f"0000:83:00.{number}" for number in range(COUNT))
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
def host_devices(node: Node, network: str) -> Iterator[None]:
    """Give the node the cards, by a device plugin, and the cluster the network ``namespace/name``, as NVIDIA's operator makes it."""
    interfaces = {
        address: node.links.interface(f"h{number}") for number, address in enumerate(ADDRESSES)
    }
    switch = node.links.interface("d")
    try:
        _ip("link", "add", switch, "type", "bridge")
        _ip("link", "set", switch, "up")
        for number, interface in enumerate(interfaces.values()):
            port = node.links.interface(f"o{number}")
            _ip("link", "add", port, "type", "veth", "peer", "name", interface)
            _ip("link", "set", port, "master", switch, "up")
        cards = (f"{address}={interface}" for address, interface in interfaces.items())
        node.run("sh", "-c", SYSFS, "sh", *cards)
        try:
            _define(node, network)
            with device_plugin(node, RESOURCE, dict.fromkeys(ADDRESSES, "")):
                yield
        finally:
            node.run("umount", "/sys/bus/pci/devices")
    finally:
        for interface in (*(node.links.interface(f"o{number}") for number in range(COUNT)), switch):
            subprocess.run(["ip", "link", "del", interface], capture_output=True)


def interfaces_of_the_machine(node: Node) -> set[str]:
    """Give which of the cards no pod has now."""
    there = {one["ifname"] for one in json.loads(_ip("-json", "link", "show"))}
    return there & {node.links.interface(f"h{number}") for number in range(COUNT)}


def _define(node: Node, network: str) -> None:
    namespace, _, name = network.partition("/")
    addresses = host_local(node.folder / "addresses", {"subnet": node.links.fabric})
    config = {"cniVersion": "0.3.1", "name": name, "type": "host-device", "ipam": addresses}
    node.api.ensure(define(namespace, name, json.dumps(config), RESOURCE))


def _ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout
