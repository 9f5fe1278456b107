"""Multus as the node's only CNI configuration, with eth0 on a bridge, and the pods' networks."""

import json
from ipaddress import ip_network
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.cluster.assets import binary
from tests.cluster.client import Client
from tests.cluster.controlplane import ControlPlane
from tests.waiting import wait_until
from webhook.core.names import RESOURCE_NAME

from .links import Links
from .requirements import plugin_folder

MANIFESTS = Path(__file__).parent / "manifests"


class PluginConfiguration(NamedTuple):
    """The folder of CNI plugins and the folder of their configuration."""

    plugins: Path
    configurations: Path


def configure(
    control_plane: ControlPlane, links: Links, folder: Path, addresses: Path
) -> PluginConfiguration:
    """Write configuration into the folder, Multus' account and the networks into the cluster.

    *addresses*: the folder in which all nodes write which addresses are in use.
    """
    configuration = PluginConfiguration(folder / "bin", folder / "net.d")
    for part in configuration:
        part.mkdir(parents=True)
    source = plugin_folder()
    assert source is not None
    for plugin in (*source.iterdir(), binary("multus")):
        (configuration.plugins / plugin.name).symlink_to(plugin)
    for manifest in yaml.safe_load_all((MANIFESTS / "multus-access.yaml").read_text()):
        control_plane.api.ensure(manifest)
    for name, subnet in (("rdma-net", links.fabric), ("rdma-net-v6", links.fabric_v6)):
        control_plane.api.ensure(_network(name, subnet, links.macvlan_parent, addresses))
    account = "/api/v1/namespaces/kube-system/serviceaccounts/multus"
    wait_until(lambda: control_plane.api.answers(account), "the account of Multus", 120)
    token = control_plane.service_account_token("kube-system", "multus")
    kubeconfig = control_plane.kubeconfig(folder / "multus.kubeconfig", token)
    multus = _multus(configuration, links, kubeconfig, folder.with_name("multus.log"), addresses)
    (configuration.configurations / "00-multus.conf").write_text(json.dumps(multus))
    return configuration


def copy_network(api: Client, copy: str, resource: str = "", *, addresses: int = 0) -> None:
    """Make *copy*, ``namespace/name``, of rdma-net; *resource*: the device that it takes.

    *addresses*: how many it gives, 0: as many as rdma-net.
    """
    path = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions/rdma-net"
    namespace, _, name = copy.partition("/")
    config = json.loads(api.expect("GET", path)["spec"]["config"])
    if addresses:
        config["name"] = f"{namespace}-{name}"  # what is in use is kept by name
        [[range_]] = config["ipam"]["ranges"]
        range_["rangeStart"] = str(first := ip_network(range_["subnet"])[2])
        range_["rangeEnd"] = str(first + addresses - 1)
    api.ensure(define(namespace, name, json.dumps(config), resource))


def define(namespace: str, name: str, config: str, resource: str = "") -> dict[str, Any]:
    """Give the network of this CNI configuration; *resource*: the device that it takes."""
    annotations = {RESOURCE_NAME: resource} if resource else {}
    metadata = {"name": name, "namespace": namespace, "annotations": annotations}
    kind = {"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition"}
    return {**kind, "metadata": metadata, "spec": {"config": config}}


def _multus(
    configuration: PluginConfiguration, links: Links, kubeconfig: Path, log: Path, addresses: Path
) -> dict[str, Any]:
    range_ = {"subnet": links.pods, "rangeStart": links.first_pod, "rangeEnd": links.last_pod}
    ipam = host_local(addresses, range_) | {"routes": [{"dst": "0.0.0.0/0"}]}
    bridge = {"type": "bridge", "bridge": links.bridge, "hairpinMode": True, "ipam": ipam}
    return {
        "cniVersion": "0.3.1",
        "name": "multus-cni-network",
        "type": "multus",
        "kubeconfig": str(kubeconfig),
        "confDir": str(configuration.configurations),
        "binDir": str(configuration.plugins),
        "logFile": str(log),
        "logLevel": "verbose",
        "logToStderr": False,
        "delegates": [{"cniVersion": "0.3.1", "name": "pod-network", "plugins": [bridge]}],
    }


def _network(name: str, subnet: str, parent: str, addresses: Path) -> dict[str, Any]:
    config: dict[str, Any] = {
        "cniVersion": "0.3.1",
        "name": name,
        "type": "macvlan",
        "mode": "bridge",
    }
    config |= {"master": parent, "ipam": host_local(addresses, {"subnet": subnet})}
    return define("default", name, json.dumps(config))


def host_local(addresses: Path, range_: dict[str, str]) -> dict[str, Any]:
    """Give what gives addresses of the range; those in use are written into the folder."""
    return {"type": "host-local", "dataDir": str(addresses), "ranges": [[range_]]}
