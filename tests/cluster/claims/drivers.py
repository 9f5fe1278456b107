"""The node's DRA drivers: DRANET, whose devices are its cards, and Kubernetes' test driver."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.cluster.assets import claim_assets
from tests.cluster.node.kubelet import NAME
from tests.cluster.node.node import Node
from tests.cluster.processes import free_port
from tests.waiting import wait_until
from webhook.core.model import Object

from .cards import Cards

SLICES = "/apis/resource.k8s.io/v1/resourceslices"
DRANET = "dra.net"
TEST_DRIVER = "test-driver.cdi.k8s.io"
SECONDS = 180


class Driver:
    """The kubelet plugin of a driver, from entering the `with` block until it is left."""

    def __init__(
        self, node: Node, name: str, command: Sequence[str], devices: int, told: str
    ) -> None:
        """Prepare one that publishes so many devices; *told* once it can serve pods."""
        self.name = name
        self._node = node
        self._command = command
        self._devices = devices
        self._told = told

    def __enter__(self) -> Self:
        """Start it, and return once its devices are published."""
        self.start()
        wanted = f"{self._devices} devices of {self.name}"
        wait_until(lambda: len(self.devices()) == self._devices, wanted, SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        """Kill it: DRANET would wait for its pods."""
        self.kill()

    def start(self) -> None:
        """Start it, and return once it can serve pods."""
        self._server = self._node.start(self._command, f"{self.name}.log")
        with self._server.starting():
            self._server.wait_ready(lambda: self._told in self._server.output(), SECONDS)

    def kill(self) -> None:
        """End it at once, as where its node's memory ends."""
        self._server.kill()

    def devices(self) -> list[Object]:
        """Give the devices of its ResourceSlices."""
        slices = self._node.api.expect("GET", SLICES)["items"]
        specs = [one["spec"] for one in slices if one["spec"]["driver"] == self.name]
        return [each for spec in specs for each in spec.get("devices", [])]


def dranet(node: Node, cards: Cards) -> Driver:
    """Prepare DRANET; its only devices are the cards, not those of the machine itself."""
    only_cards = f'attributes["dra.net/ifName"].StringValue.startsWith("{cards.prefix}")'
    command = [
        str(claim_assets()["dranet"]),
        f"--kubeconfig={_kubeconfig(node, DRANET)}",
        f"--hostname-override={NAME}",
        f'--filter="dra.net/ifName" in attributes && {only_cards}',
        f"--bind-address=127.0.0.1:{free_port()}",
        "--cloud-provider-hint=webhook",
        f"--webhook-url={cards.url}",
        "--v=4",
    ]
    told = "Synchronized state with the runtime"
    return Driver(node, DRANET, command, len(cards.addresses), told)


def test_driver(node: Node, devices: int) -> Driver:
    """Prepare Kubernetes' own test driver with so many devices."""
    # it makes only the folder above
    node.run("mkdir", "-p", f"/var/lib/kubelet/plugins/{TEST_DRIVER}")
    command = [
        str(claim_assets()["dra-test-driver"]),
        "kubelet-plugin",
        f"--kubeconfig={_kubeconfig(node, TEST_DRIVER)}",
        f"--node-name={NAME}",
        f"--num-devices={devices}",
        "--enable-device-metadata",
    ]
    return Driver(node, TEST_DRIVER, command, devices, "Waiting for signal")


def _kubeconfig(node: Node, driver: str) -> Path:
    return node.control_plane.kubeconfig(node.folder / f"{driver}.kubeconfig")
