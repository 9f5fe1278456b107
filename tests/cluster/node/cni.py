"""The pods' networks: Multus as a node's only CNI configuration, eth0 on a bridge, macvlan beside.

Links have fixed names and addresses of 198.18.0.0/15, which is kept for tests (RFC 2544).
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.assets import binary
from tests.cluster.client import Client
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import made
from webhook.core.names import RESOURCE_NAME

from .private import run

FOLDER = Path(__file__).parent
PLUGINS = Path("/usr/lib/cni")
FABRIC = "fi-fabric"
"""The link that macvlan interfaces sit on: one end of a veth pair."""
GATEWAY = "198.18.0.1"
"""The machine's address on the pods' bridge."""
SERVICES = "198.18.0.240/28"
"""The addresses of all Services, of which API_ADDRESS is the first."""
NETWORKS = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions"


def batch(commands: str) -> None:
    """Run lines of `ip`."""
    run(["ip", "-batch", "-"], commands.encode())


@contextmanager
def links() -> Iterator[None]:
    """Make the bridge and the pair; what killed tests have left is removed first."""
    _remove()
    try:
        batch((FOLDER / "links.txt").read_text())
        yield
    finally:
        _remove()


def link_names() -> list[str]:
    """Give the names of the machine's own links."""
    return [one["ifname"] for one in json.loads(run(["ip", "-json", "link"]))]


def _remove() -> None:
    for name in link_names():
        if name.startswith("fi-"):
            with suppress(RuntimeError):  # it went with the other end of its pair
                run(["ip", "link", "del", name])


def configure(plane: ControlPlane, folder: Path) -> None:
    """Write Multus' configuration into the folder, its account and networks into the cluster."""
    for manifest in yaml.safe_load_all((FOLDER / "manifests/networks.yaml").read_text()):
        plane.api.ensure(manifest)
    for name in ("cni", "net.d"):
        (folder / name).mkdir(parents=True)
    for plugin in (*PLUGINS.iterdir(), binary("multus")):
        (folder / "cni" / plugin.name).symlink_to(plugin)
    shutil.copy(FOLDER / "multus.conf", folder / "net.d" / "00-multus.conf")
    token = plane.service_account_token("kube-system", "multus")
    plane.kubeconfig(folder / "multus.kubeconfig", token)


def network_config(api: Client) -> Any:
    """Give the CNI configuration of rdma-net."""
    return json.loads(api.expect("GET", f"{NETWORKS}/rdma-net")["spec"]["config"])


def copy_network(api: Client, copy: str, resource: str = "", *, addresses: int = 0) -> None:
    """Make *copy*, ``namespace/name``, of rdma-net; *addresses*: how many it has, 0: as many."""
    namespace, _, name = copy.partition("/")
    config = network_config(api)
    if addresses:
        config["name"] = f"{namespace}-{name}"  # what is in use is kept by name
        [[range_]] = config["ipam"]["ranges"]
        range_["rangeStart"] = str(first := ip_network(range_["subnet"])[2])
        range_["rangeEnd"] = str(first + addresses - 1)
    api.ensure(define(namespace, name, json.dumps(config), resource))


def define(namespace: str, name: str, config: str, resource: str = "") -> dict[str, Any]:
    """Give the network of this CNI configuration; *resource*: the device that its pods take."""
    kind = "k8s.cni.cncf.io/v1 NetworkAttachmentDefinition"
    found = made(kind, name, spec={"config": config})
    annotations = {RESOURCE_NAME: resource} if resource else {}
    found["metadata"] |= {"namespace": namespace, "annotations": annotations}
    return found
