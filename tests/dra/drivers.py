"""The node's DRA drivers: DRANET, whose devices are its cards, and Kubernetes' test driver.

The cards are macvlan interfaces, which DRANET moves into pods. An interface loses its addresses
where it moves into a pod or back: DRANET asks for them, as its webhook for clouds
(pkg/cloudprovider/webhook).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from tests.cluster.assets import binary
from tests.cluster.node.cni import FABRIC, batch
from tests.cluster.node.json_server import json_server
from tests.cluster.node.kubelet import NAME
from tests.cluster.node.node import Node
from tests.cluster.processes import Server, free_port
from tests.waiting import wait_until
from webhook.core.model import Object

SLICES = "/apis/resource.k8s.io/v1/resourceslices"
DRANET, TEST_DRIVER = "dra.net", "test-driver.cdi.k8s.io"
CARDS = {f"fi-card{number}": f"198.19.0.{number + 200}/24" for number in range(8)}
"""Each card's address."""
ONLY_CARDS = 'attributes["dra.net/ifName"].StringValue.startsWith("fi-card")'


class Driver(Server):
    """The kubelet plugin of a driver, from entering the `with` block until it is left."""

    def __init__(
        self, node: Node, name: str, command: Sequence[str], devices: int, told: str
    ) -> None:
        """Prepare one that publishes so many devices; *told* once it can serve pods."""
        whole = node.inside(*command, f"--kubeconfig={node.control_plane.admin}")
        super().__init__(whole, node.folder / f"{name}.log", lambda: told in self.output())
        self.name, self._node, self._devices = name, node, devices

    def __enter__(self) -> Self:
        """Start it, and return once its devices are published."""
        self.start()
        wanted = f"{self._devices} devices of {self.name}"
        wait_until(lambda: len(self.devices()) == self._devices, wanted, 180)
        return self

    def __exit__(self, *_: object) -> None:
        """Kill it: DRANET would wait for its pods."""
        self.stop(force=True)

    def devices(self) -> list[Object]:
        """Give the devices of its ResourceSlices."""
        slices = self._node.api.expect("GET", SLICES)["items"]
        specs = [one["spec"] for one in slices if one["spec"]["driver"] == self.name]
        return [each for spec in specs for each in spec.get("devices", [])]


@contextmanager
def dranet(node: Node) -> Iterator[Driver]:
    """Run DRANET; its only devices are the cards, not those of the machine itself."""
    for name in CARDS:
        batch(f"link add link {FABRIC} name {name} type macvlan mode bridge\n")

    def answer(path: str, device: Any) -> object:
        if device is None:
            return {"cloudProvider": True, "profileProvider": False}
        address = CARDS.get(device["name"])
        known = path == "/GetDeviceConfig" and address
        return {"interface": {"addresses": [address]}} if known else {}

    with json_server(answer) as url:
        command = [
            str(binary("dranet")),
            f"--hostname-override={NAME}",
            f'--filter="dra.net/ifName" in attributes && {ONLY_CARDS}',
            f"--bind-address=127.0.0.1:{free_port()}",
            "--cloud-provider-hint=webhook",
            f"--webhook-url={url}",
            "--v=4",
        ]
        told = "Synchronized state with the runtime"
        with Driver(node, DRANET, command, len(CARDS), told) as driver:
            yield driver


def test_driver(node: Node, devices: int) -> Driver:
    """Prepare Kubernetes' own test driver with so many devices."""
    # it makes only the folder above
    node.run("mkdir", "-p", f"/var/lib/kubelet/plugins/{TEST_DRIVER}")
    command = [
        *(str(binary("dra-test-driver")), "kubelet-plugin", f"--node-name={NAME}"),
        *(f"--num-devices={devices}", "--enable-device-metadata"),
    ]
    return Driver(node, TEST_DRIVER, command, devices, "Waiting for signal")
