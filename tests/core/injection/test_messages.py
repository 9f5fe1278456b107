"""What each step says, to the letter: it is what log, dry run and explain tell of a pod; rendezvous has it in its own tests."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.builders import Step, attachment, carry_out, plan, profile
from tests.pods import minimal_container, minimal_pod
from webhook.core.injection import (
    devices,
    environment,
    host_devices,
    ipc_lock,
    istio,
    networks,
    node_selector,
    pod_annotations,
    shared_memory,
)
from webhook.core.model import Object
from webhook.core.profiles import SharedMemory

RAIL = attachment("default/rail-0", resource="rdma/ib")
MESH = {"istio-injection": "enabled"}
BASELINE = {"pod-security.kubernetes.io/enforce": "baseline"}
SIZED = profile(shared_memory=SharedMemory(size_limit="8Gi", limit_existing=True))


def pod(
    annotations: Object | None = None, volumes: list[Object] | None = None, **container: Any
) -> Object:
    return minimal_pod(
        minimal_container(**container), annotations=annotations or {}, volumes=volumes or []
    )


def mounting(path: str, source: Object, **container: Any) -> Object:
    mounts = [{"name": "theirs", "mountPath": path}]
    return pod(volumes=[{"name": "theirs", **source}], volumeMounts=mounts, **container)


def on_node(**container: Any) -> Object:
    return mounting("/dev/infiniband", {"hostPath": {"path": "/dev/infiniband"}}, **container)


def confined(**context: Any) -> Object:
    return pod(securityContext=context)


SAYS: dict[str, tuple[Step, Object, dict[str, Any], list[str]]] = {
    "devices added": (devices.inject, pod(), {}, ["container trainer asks for rdma/ib: 1"]),
    "devices raised": (
        devices.inject,
        pod(resources={"limits": {"rdma/ib": "1", "rdma/hca": "1"}}),
        {"profile": profile(resources={"rdma/ib": "2", "rdma/hca": "3"})},
        [
            "container trainer asks for rdma/ib: 2, rdma/hca: 3",
            "pod train-0: container trainer asked for too little; raised rdma/ib from 1 to 2, rdma/hca from 1 to 3",
        ],
    ),
    "devices there": (
        devices.inject,
        pod(resources={key: {"rdma/ib": "1", "rdma/hca": "1"} for key in ("limits", "requests")}),
        {"profile": profile(resources={"rdma/hca": "1"})},
        ["the pod asks for rdma/ib, rdma/hca already"],
    ),
    "devices, hugepages alone": (
        devices.inject,
        pod(),
        {"profile": profile(resources={"hugepages-2Mi": "2Mi"})},
        [
            "container trainer asks for rdma/ib: 1",
            "pod train-0: hugepages-2Mi is not added to container trainer, which asks for neither cpu nor memory, and would be "
            "refused: give it a cpu or memory request",
        ],
    ),
    "no folder of devices": (
        host_devices.inject,
        pod(),
        {},
        ["the pod mounts no /dev/infiniband of the node"],
    ),
    "folder of devices elsewhere": (
        host_devices.inject,
        pod(volumes=[{"name": "ib", "hostPath": {"path": "/dev/infiniband"}}]),
        {},
        ["container trainer mounts no /dev/infiniband"],
    ),
    "folder of devices, privileged": (
        host_devices.inject,
        on_node(securityContext={"privileged": True}),
        {},
        ["container trainer is privileged: it may open what /dev/infiniband of the node holds"],
    ),
    "folder of devices, allowed": (
        host_devices.inject,
        on_node(resources={"limits": {"rdma/ib": "1", "rdma/hca": "1"}}),
        {"profile": profile(resources={"rdma/hca": "1"})},
        [
            "container trainer asks for rdma/ib, rdma/hca, which allows the devices of /dev/infiniband"
        ],
    ),
    "folder of devices, closed": (
        host_devices.inject,
        on_node(),
        {},
        [
            "pod train-0: container trainer mounts /dev/infiniband of the node, but may open nothing there: it is not privileged and "
            "asks for no device; name a network with a resource in profile rdma, and remove the mount"
        ],
    ),
    "no lock": (
        ipc_lock.inject,
        pod(),
        {"profile": profile(ipc_lock=False)},
        ["profile rdma has ipcLock: false"],
    ),
    "lock on Windows": (
        ipc_lock.inject,
        minimal_pod(os={"name": "windows"}),
        {},
        ["a Windows pod has no Linux capabilities"],
    ),
    "lock": (
        ipc_lock.inject,
        minimal_pod(hostUsers=False),
        {},
        [
            "container trainer may lock memory",
            "pod train-0: container trainer has hostUsers: false, where IPC_LOCK is inert; remove it or raise the nodes' memlock limit",
        ],
    ),
    "lock, privileged": (
        ipc_lock.inject,
        confined(privileged=True),
        {},
        ["container trainer is privileged, which includes IPC_LOCK"],
    ),
    "lock there": (
        ipc_lock.inject,
        confined(capabilities={"add": ["IPC_LOCK"]}),
        {},
        ["container trainer has IPC_LOCK already"],
    ),
    "lock dropped": (
        ipc_lock.inject,
        confined(capabilities={"drop": ["IPC_LOCK"]}),
        {},
        [
            "pod train-0: container trainer drops IPC_LOCK itself, and a drop outweighs an add; remove it from drop to use RDMA"
        ],
    ),
    "lock left out": (
        ipc_lock.inject,
        pod(),
        {"profile": profile(pod_security="skip"), "labels": BASELINE},
        [
            "IPC_LOCK is left out, because label pod-security.kubernetes.io/enforce: baseline of namespace research refuses it",
            "pod train-0: container trainer gets no IPC_LOCK: label pod-security.kubernetes.io/enforce: baseline of namespace "
            "research refuses it",
        ],
    ),
    "no sidecar": (istio.inject, pod(), {}, ["neither namespace nor pod asks for Istio's sidecar"]),
    "sidecar without interface": (
        istio.inject,
        pod(),
        {"attachments": (), "labels": MESH},
        ["the pod has no secondary interface"],
    ),
    "sidecar": (
        istio.inject,
        pod(),
        {"labels": MESH},
        ["Istio's redirection leaves net1, net2 alone"],
    ),
    "sidecar told": (
        istio.inject,
        pod({"traffic.sidecar.istio.io/excludeInterfaces": "net1,net2"}),
        {"labels": MESH},
        ["annotation traffic.sidecar.istio.io/excludeInterfaces has net1, net2 already"],
    ),
    "no network": (
        networks.inject,
        pod(),
        {"attachments": ()},
        ["neither profile rdma nor the pod names a network"],
    ),
    "no socket": (
        environment.inject,
        pod(),
        {"attachments": ()},
        ["no interface is named to NCCL and Gloo: no network with IPAM is attached"],
    ),
    "no socket on the node's network": (
        environment.inject,
        minimal_pod(hostNetwork=True),
        {"attachments": ()},
        ["no interface is named to NCCL and Gloo: the pod is on the host network"],
    ),
    "no socket but the profile's": (
        environment.inject,
        pod(),
        {
            "attachments": (),
            "profile": profile(env={"NCCL_SOCKET_IFNAME": "eth0", "GLOO_SOCKET_IFNAME": "eth0"}),
        },
        [
            "container trainer gets NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME",
            "no interface is named to NCCL and Gloo but by NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME of profile rdma: no network with "
            "IPAM is attached",
        ],
    ),
    "sockets": (
        environment.inject,
        pod(),
        {},
        ["container trainer gets NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME"],
    ),
    "sockets there": (
        environment.inject,
        pod(
            env=[
                {"name": "NCCL_SOCKET_IFNAME", "value": "=net1"},
                {"name": "GLOO_SOCKET_IFNAME", "value": "net1"},
            ]
        ),
        {},
        ["container trainer sets NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME itself"],
    ),
    "any node": (
        node_selector.inject,
        pod(),
        {},
        ["neither the profile nor a network selects nodes"],
    ),
    "nodes chosen": (
        node_selector.inject,
        minimal_pod(nodeSelector={"fabric": "ib", "rack": "a"}),
        {"profile": profile(node_selector={"fabric": "ib", "rack": "a"})},
        ["spec.nodeSelector has fabric=ib (profile rdma), rack=a (profile rdma) already"],
    ),
    "no annotations": (pod_annotations.inject, pod(), {}, ["profile rdma gives no annotations"]),
    "annotations": (
        pod_annotations.inject,
        pod({"a": "1", "b": "1", "c": "x", "d": "x"}),
        {"profile": profile(annotations=dict.fromkeys("abcdef", "1"))},
        [
            "metadata.annotations gets e, f",
            "metadata.annotations has a, b already",
            "metadata.annotations has a value of the pod's own for c, d",
        ],
    ),
    "shared memory": (
        shared_memory.inject,
        pod(resources={"limits": {"memory": "4Gi"}}),
        {"profile": SIZED},
        [
            "volume fabric-injector-shm, a tmpfs, is mounted at /dev/shm of container trainer",
            "pod train-0: /dev/shm of 8Gi exceeds container trainer's memory limit 4Gi; raise the limit",
        ],
    ),
    "shared memory limited": (
        shared_memory.inject,
        mounting("/dev/shm", {"emptyDir": {"medium": "Memory"}}),
        {"profile": SIZED},
        ["volume theirs at /dev/shm had no sizeLimit and gets 8Gi"],
    ),
    "shared memory there": (
        shared_memory.inject,
        mounting("/dev/shm", {"emptyDir": {}}),
        {},
        ["container trainer has volume theirs at /dev/shm"],
    ),
}


@pytest.mark.parametrize("case", SAYS)
def test_says_what_became_of_a_step(case: str) -> None:
    step, given, tweaks, messages = SAYS[case]
    settings = dict(tweaks)
    attachments = settings.pop("attachments", (RAIL, attachment("default/rail-1", "net2")))
    _, decisions = carry_out(step, given, plan(given, *attachments, **settings))
    assert [decision.message for decision in decisions] == messages
