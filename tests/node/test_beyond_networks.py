"""What a profile gives besides networks, and where addresses come from, in jobs that run."""

import json
from collections.abc import Iterator

import pytest

from tests.cluster.node import jobs
from tests.cluster.node.cni import copy_network
from tests.cluster.node.expectations import (
    EXCHANGED,
    IDLE_BYTES,
    IPC_LOCK,
    MIB,
    assert_on_the_fabric,
)
from tests.cluster.node.fixtures import NamespaceFactory
from tests.cluster.node.kubelet import NAME
from tests.cluster.node.node import Node
from tests.cluster.node.pods import Pod, container_state, unschedulable
from webhook.core import names

from .devices import FUNCTION, FUNCTIONS, device_plugin

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
    install = f"mkdir -p /var/lib/fabric/driver && echo '{DRIVER}' >/var/lib/fabric/driver/version"
    node.run("sh", "-c", install)
    labels = {names.INSTANCE_TYPE: NODE_TYPE}
    node.api.expect("PATCH", NODE, {"metadata": {"labels": labels}, "spec": {"taints": [TAINT]}})
    yield
    unset = {"metadata": {"labels": dict.fromkeys(labels)}, "spec": {"taints": None}}
    node.api.expect("PATCH", NODE, unset)


@pytest.mark.usefixtures("reserved_node")
def test_a_job_gets_volumes_sidecar_tolerations_and_quantities(namespace: NamespaceFactory) -> None:
    (plain,) = namespace(None).start(jobs.pod("plain", ["true"]))
    plain.wait(lambda pod: "untolerated taint" in unschedulable(pod), "the taint to hold it back")
    space, data = namespace("all-parts"), {"topology.xml": f"{TOPOLOGY}\n"}
    topology = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "topology"}}
    space.submit({**topology, "data": data})
    manifests = jobs.shells("pytorchjob", READS_ITS_PARTS)
    for manifest in manifests:
        manifest["spec"]["nodeSelector"] = {names.INSTANCE_TYPE: NODE_TYPE}
    pods = space.start(*manifests)
    for rank, report in enumerate([pod.report() for pod in pods]):
        assert report.train["rank"] == rank
        assert report.master_addr == pods[0].fabric_address()
        assert_on_the_fabric(report)
        told = (report.environment["NCCL_IB_HCA"], report.environment["UCX_NET_DEVICES"])
        assert told == ("=", "all"), "of a macvlan network no device is known, and all may be used"
        lines = report.pod.log("pytorch").splitlines()
        assert lines[:3] == [DRIVER, f"{DRIVER}, port 18515", TOPOLOGY]
        mounts = {line.split()[1]: line.split()[2:4] for line in lines[3:] if line.count(" ") == 5}
        assert mounts["/usr/local/fabric"][1].startswith("ro")
        assert mounts["/run/fabric"][0] == "tmpfs"
        assert report.pod.allocated() == {
            "nvidia.com/gpu": "8",
            "rdma/rdma_shared_device_a": "16",
            "vpc.amazonaws.com/efa": "4",
        }
        assert_sidecar_ended_last(report.pod)


def assert_sidecar_ended_last(pod: Pod) -> None:
    """Assert that the daemon began before what it is there for, outlived it, and all ended well."""
    pod.wait(lambda found: "terminated" in container_state(found, "fabric-daemon"), "its end")
    status = pod.get()["status"]
    wait, daemon = status["initContainerStatuses"]
    statuses = (wait, daemon, *status["containerStatuses"])
    waited, served, trained = (each["state"]["terminated"] for each in statuses)
    ends = [(each["exitCode"], each["reason"]) for each in (waited, served, trained)]
    assert ends == [(0, "Completed")] * 3
    assert (daemon["name"], daemon["restartCount"]) == ("fabric-daemon", 0)
    assert waited["finishedAt"] <= served["startedAt"] <= trained["startedAt"]
    assert trained["finishedAt"] <= served["finishedAt"]


@pytest.fixture
def rails(node: Node) -> Iterator[None]:
    """Two networks that say themselves which device of a device plugin they take."""
    for name in ("default/rail-0", "default/rail-1"):
        copy_network(node.api, name, FUNCTION)
    with device_plugin(node, FUNCTION, FUNCTIONS):
        yield


@pytest.mark.usefixtures("rails")
def test_nccl_and_ucx_are_pointed_at_the_pods_own_devices(namespace: NamespaceFactory) -> None:
    """Multus takes ids from the kubelet and names from the plugin's files, as with SR-IOV."""
    given = []
    for report in [pod.report() for pod in jobs.start(namespace("rails"), "torchx")]:
        # both are on one Ethernet here, where Linux answers on either for the other's address
        assert sum(report.carried(interface) for interface in ("net1", "net2")) > EXCHANGED
        assert report.carried("eth0") < IDLE_BYTES
        assert report.pod.allocated()[FUNCTION] == "2"
        attached = [report.pod.attached(interface) for interface in ("net1", "net2")]
        told = [each["device-info"]["pci"] for each in attached]
        devices = [FUNCTIONS[one["pci-address"]] for one in told]
        assert [one["rdma-device"] for one in told] == devices
        for environment in (report.environment, report.train["environment"]):
            assert environment["NCCL_IB_HCA"] == f"={','.join(devices)}"
            assert environment["UCX_NET_DEVICES"] == ",".join(f"{device}:1" for device in devices)
        given += devices
    assert len(set(given)) == 4, "each card is one pod's alone"


def test_a_server_knows_its_own_address_and_a_router_is_left_alone(
    namespace: NamespaceFactory,
) -> None:
    tells = ["sh", "-c", "echo $VLLM_HOST_IP"]
    gpu = {"limits": {"nvidia.com/gpu": "1"}}
    server, router = namespace("serving").start(
        jobs.pod("server", tells, resources=gpu), jobs.pod("router", tells)
    )
    for pod in (server, router):
        pod.wait_for_end()
    assert server.log("main").split() == [server.fabric_address()]
    assert (router.log("main").split(), router.annotation(names.NETWORKS)) == ([], "")


def test_a_job_without_a_source_of_addresses_meets_on_the_pod_network_and_gets_the_rest(
    namespace: NamespaceFactory,
) -> None:
    pods = jobs.start(namespace("pod-network"), "pytorchjob")
    for rank, report in enumerate([pod.report() for pod in pods]):
        assert report.train["rank"] == rank
        assert report.master_addr == "bert-master-0"
        assert [report.train["store"]] == pods[0].attached("eth0")["ips"]
        assert report.carried("eth0") > EXCHANGED
        assert report.carried("net1") < IDLE_BYTES
        assert report.train["addresses"]["net1"] == report.pod.attached()["ips"]
        assert report.environment["NCCL_SOCKET_IFNAME"] == "^lo,docker,pod-id-link"
        assert report.train["shared_memory"] == ["tmpfs", 192 * MIB]
        assert report.train["capabilities"] & IPC_LOCK
        assert report.pod.allocated() == {
            "nvidia.com/gpu": "8",
            "rdma/rdma_shared_device_a": "1",
            "vpc.amazonaws.com/efa": "4",
        }
        waits = report.pod.created["spec"].get("initContainers", [])
        assert names.WAIT_CONTAINER not in [each["name"] for each in waits]


def test_a_job_meets_at_the_address_that_gke_tells(namespace: NamespaceFactory) -> None:
    """In GKE's place Multus makes the interface, and the test writes the addresses."""
    manifests = jobs.pytorchjob()
    for manifest in manifests:
        manifest["metadata"].setdefault("annotations", {})[names.NETWORKS] = "default/rdma-net@eth1"
    pods = namespace("gke-one-card").start(*manifests)
    for pod in pods:
        told = json.loads(pod.annotation(names.GKE_INTERFACES))[1]
        assert told == {"interfaceName": "eth1", "network": "rdma-0"}
        write_pod_ips(pod)
    for rank, report in enumerate([pod.report() for pod in pods]):
        assert report.train["rank"] == rank
        address = pods[0].fabric_address("eth1")
        found = {report.environment[name] for name in ("MASTER_ADDR", "PET_MASTER_ADDR")}
        assert found == {report.train["store"]} == {address}
        assert report.environment["GLOO_SOCKET_IFNAME"] == "eth1"
        assert report.carried("eth1") > EXCHANGED
        assert report.carried("eth0") < IDLE_BYTES
        card = {"networking.gke.io.networks/rdma-0": "1"}
        assert report.pod.allocated() == {"nvidia.com/gpu": "8", **card}


def write_pod_ips(pod: Pod) -> None:
    """Write the pod's addresses as GKE does, once the interface is there."""
    pod.wait(lambda _: pod.fabric_address("eth1"), "its second interface")
    told = [{"networkName": "rdma-0", "ip": pod.fabric_address("eth1")}]
    annotations = {names.GKE_POD_IPS: json.dumps(told)}
    pod.api.expect("PATCH", pod.path, {"metadata": {"annotations": annotations}})
