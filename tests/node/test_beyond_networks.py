"""What a profile gives besides networks, and where addresses come from, in jobs that run."""

import json
from collections.abc import Iterator

import pytest

from tests.cluster.client import Client
from tests.cluster.node import jobs
from tests.cluster.node.cni import copy_network
from tests.cluster.node.deviceplugin import RDMA_DEVICES, RESOURCE, device_plugin
from tests.cluster.node.images import DASH
from tests.cluster.node.kubelet import NAME
from tests.cluster.node.node import Node
from tests.cluster.node.pods import Pod, container_state, create
from webhook.core import names
from webhook.core.model import Object

from .conftest import SHARED_MEMORY_BYTES, NamespaceFactory
from .test_jobs import EXCHANGED, IDLE_BYTES, IPC_LOCK, assert_on_the_fabric

pytestmark = pytest.mark.usefixtures("webhook", "controller")
NODE = f"/api/v1/nodes/{NAME}"
NODE_TYPE = "test.large"
DRIVER, TOPOLOGY = "driver 570.1", "<system version='1'/>"
TAINT = {"key": "fabric-injector.test/reserved", "value": "training", "effect": "NoSchedule"}
READS_ITS_PARTS = """\
until [ -s /run/fabric/daemon ]; do sleep 0.1; done
cat /usr/local/fabric/version /run/fabric/daemon /usr/local/topology.xml /proc/mounts
torchrun train.py
"""


@pytest.fixture
def reserved_node(node: Node) -> Iterator[None]:
    """A node of a known type, with a driver installed, that a taint keeps for training."""
    node.run(
        "sh",
        "-c",
        f"mkdir -p /var/lib/fabric/driver && echo '{DRIVER}' > /var/lib/fabric/driver/version",
    )
    labels = {names.INSTANCE_TYPE: NODE_TYPE}
    node.api.expect("PATCH", NODE, {"metadata": {"labels": labels}, "spec": {"taints": [TAINT]}})
    yield
    node.api.expect(
        "PATCH", NODE, {"metadata": {"labels": dict.fromkeys(labels)}, "spec": {"taints": None}}
    )


@pytest.mark.usefixtures("reserved_node")
def test_a_job_gets_volumes_sidecar_tolerations_and_quantities(
    api: Client, namespace: NamespaceFactory
) -> None:
    plain = create(api, plain_pod(), namespace(None))
    plain.wait(
        lambda pod: "untolerated taint" in why_not_scheduled(pod), "the taint to hold it back"
    )
    name = namespace("all-parts")
    api.ensure(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "topology"},
            "data": {"topology.xml": f"{TOPOLOGY}\n"},
        },
        name,
    )
    manifests = jobs.shells("pytorchjob", READS_ITS_PARTS)
    for manifest in manifests:
        manifest["spec"]["nodeSelector"] = {names.INSTANCE_TYPE: NODE_TYPE}
    pods = jobs.start_pods(api, manifests, name)
    for rank, report in enumerate([pod.report() for pod in pods]):
        assert report.train["rank"] == rank
        assert report.train["environment"]["MASTER_ADDR"] == pods[0].fabric_address()
        assert_on_the_fabric(report)
        told = (report.environment["NCCL_IB_HCA"], report.environment["UCX_NET_DEVICES"])
        assert told == ("=", "all"), "of a macvlan network no device is known, and all may be used"
        lines = report.pod.log("pytorch").splitlines()
        assert lines[:3] == [DRIVER, f"{DRIVER}, port 18515", TOPOLOGY]
        mounts = {line.split()[1]: line.split()[2:4] for line in lines[3:] if line.count(" ") == 5}
        assert mounts["/usr/local/fabric"][1].startswith("ro")
        assert mounts["/run/fabric"][0] == "tmpfs"
        report.pod.wait(
            lambda pod: "terminated" in container_state(pod, "fabric-daemon"), "the sidecar to end"
        )
        status = report.pod.get()["status"]
        assert status["containerStatuses"][0]["allocatedResources"] == {
            "nvidia.com/gpu": "8",
            "rdma/rdma_shared_device_a": "16",
            "vpc.amazonaws.com/efa": "4",
        }
        wait, daemon = status["initContainerStatuses"]
        ended = [
            each["state"]["terminated"] for each in (wait, daemon, *status["containerStatuses"])
        ]
        assert [(each["exitCode"], each["reason"]) for each in ended] == [(0, "Completed")] * 3
        assert (daemon["name"], daemon["restartCount"]) == ("fabric-daemon", 0)
        assert ended[0]["finishedAt"] <= ended[1]["startedAt"] <= ended[2]["startedAt"]
        assert ended[2]["finishedAt"] <= ended[1]["finishedAt"], (
            "the sidecar outlives what it is there for"
        )


@pytest.fixture(scope="module")
def rails(node: Node) -> Iterator[None]:
    """Two networks that say themselves which device of a device plugin they take."""
    for name in ("default/rail-0", "default/rail-1"):
        copy_network(node.api, name, RESOURCE)
    with device_plugin(node):
        yield


@pytest.mark.usefixtures("rails")
@pytest.mark.parametrize("system", ["pytorchjob", "torchx"])
def test_nccl_and_ucx_are_pointed_at_the_pods_own_devices(
    api: Client, namespace: NamespaceFactory, system: str
) -> None:
    """Multus takes ids from the kubelet and names from the device plugin's files, as with SR-IOV; the cards are made up."""
    pods = jobs.start(api, system, namespace("rails"))
    given = []
    for report in [pod.report() for pod in pods]:
        rails = [report.carried(interface) for interface in ("net1", "net2")]
        assert sum(rails) > EXCHANGED, (
            "both are on one Ethernet here, where Linux answers on either for the other's address"
        )
        assert report.carried("eth0") < IDLE_BYTES
        assert (
            report.pod.get()["status"]["containerStatuses"][0]["allocatedResources"][RESOURCE]
            == "2"
        )
        told = [
            report.pod.attached(interface)["device-info"]["pci"] for interface in ("net1", "net2")
        ]
        devices = [RDMA_DEVICES[one["pci-address"]] for one in told]
        assert [one["rdma-device"] for one in told] == devices
        for environment in (report.environment, report.train["environment"]):
            assert environment["NCCL_IB_HCA"] == f"={','.join(devices)}"
            assert environment["UCX_NET_DEVICES"] == ",".join(f"{device}:1" for device in devices)
        given += devices
    assert len(set(given)) == 4, "each card is one pod's alone"


def test_a_job_without_a_source_of_addresses_meets_on_the_pod_network_and_gets_the_rest(
    api: Client, namespace: NamespaceFactory
) -> None:
    pods = jobs.start(api, "pytorchjob", namespace("pod-network"))
    for rank, report in enumerate([pod.report() for pod in pods]):
        assert report.train["rank"] == rank
        assert report.train["environment"]["MASTER_ADDR"] == "bert-master-0"
        assert [report.train["store"]] == pods[0].attached("eth0")["ips"]
        assert report.carried("eth0") > EXCHANGED
        assert report.carried("net1") < IDLE_BYTES
        assert report.train["addresses"]["net1"] == report.pod.attached("net1")["ips"]
        assert report.environment["NCCL_SOCKET_IFNAME"] == "^lo,docker,pod-id-link"
        assert report.train["shared_memory"] == ["tmpfs", SHARED_MEMORY_BYTES]
        assert report.train["capabilities"] & IPC_LOCK
        pod = report.pod.get()
        assert pod["status"]["containerStatuses"][0]["allocatedResources"] == {
            "nvidia.com/gpu": "8",
            "rdma/rdma_shared_device_a": "1",
            "vpc.amazonaws.com/efa": "4",
        }
        assert names.WAIT_CONTAINER not in [
            each["name"] for each in pod["spec"].get("initContainers", [])
        ]


def test_a_job_meets_at_the_address_that_gke_tells(
    api: Client, namespace: NamespaceFactory
) -> None:
    """In GKE's place Multus makes the interface, which the pod asks for itself, and the test writes the addresses."""
    manifests = jobs.pytorchjob()
    for manifest in manifests:
        manifest["metadata"].setdefault("annotations", {})[names.NETWORKS] = "default/rdma-net@eth1"
    pods = jobs.start_pods(api, [*manifests], namespace("gke-one-card"))
    for pod in pods:
        assert json.loads(pod.annotation(names.GKE_INTERFACES))[1] == {
            "interfaceName": "eth1",
            "network": "rdma-0",
        }
        write_pod_ips(pod)
    for rank, report in enumerate([pod.report() for pod in pods]):
        assert report.train["rank"] == rank
        found = [
            report.train["store"],
            report.environment["MASTER_ADDR"],
            report.environment["PET_MASTER_ADDR"],
        ]
        assert found == [pods[0].fabric_address("eth1")] * 3
        assert report.environment["GLOO_SOCKET_IFNAME"] == "eth1"
        assert report.carried("eth1") > EXCHANGED
        assert report.carried("eth0") < IDLE_BYTES
        assert report.pod.get()["status"]["containerStatuses"][0]["allocatedResources"] == {
            "nvidia.com/gpu": "8",
            "networking.gke.io.networks/rdma-0": "1",
        }


def write_pod_ips(pod: Pod) -> None:
    """Write the pod's addresses as GKE does, once the interface is there."""
    pod.wait(lambda _: bool(pod.fabric_address("eth1")), "its second interface")
    told = [{"networkName": "rdma-0", "ip": pod.fabric_address("eth1")}]
    annotations = {names.GKE_POD_IPS: json.dumps(told)}
    pod.api.expect("PATCH", pod.path, {"metadata": {"annotations": annotations}})


def plain_pod() -> Object:
    """Give a pod that no profile is for."""
    container = {"name": "plain", "image": DASH, "command": ["true"]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "plain"},
        "spec": {"containers": [container]},
    }


def why_not_scheduled(pod: Object) -> str:
    """Give what the scheduler says of a pod that it has no node for; empty where it has said nothing."""
    conditions = pod["status"].get("conditions", [])
    return "".join(one.get("message", "") for one in conditions if one["type"] == "PodScheduled")
