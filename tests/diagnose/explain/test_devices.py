"""What `explain` says of RDMA devices: which were told, why none, and which variables leave out those that the pod has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.diagnose.explain.explanations import findings, one, texts
from tests.diagnose.scenes import Scene, ago
from webhook.core import names
from webhook.core.injection.environment import nccl_may_use
from webhook.core.model import Object
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.devices import ucx_may_use
from webhook.diagnose.explain.explanation import explain
from webhook.diagnose.finding import Finding

ASKING = """
profiles:
  shared:
    networks: [{network: default/rdma-net, resource: rdma/hca}]
    deviceVariables: [NCCL_IB_HCA, UCX_NET_DEVICES]
"""


class Asking(Scene):
    """A job whose profile asks for device names."""

    written = ASKING


def give(pod: Object, device: Any) -> None:
    """Write what Multus writes where a device plugin tells the name of the device."""
    annotations = pod["metadata"]["annotations"]
    entries = json.loads(annotations[names.NETWORK_STATUS])
    entries[-1]["device-info"] = {
        "type": "pci",
        "pci": {"pci-address": "0000:03:00.3", "rdma-device": device},
    }
    annotations[names.NETWORK_STATUS] = json.dumps(entries)


def tell(pod: Object, nccl: str, ucx: str) -> None:
    pod["metadata"]["annotations"] |= {names.NCCL_IB_HCA: nccl, names.UCX_NET_DEVICES: ucx}


def told(scene: Scene, code: Code) -> list[Finding]:
    return [one for one in explain(scene.reading).findings if one.code is code]


def test_says_which_names_were_published() -> None:
    scene = Asking(1)
    for pod, device in zip(scene.pods.values(), ("mlx5_4", "mlx5_7"), strict=True):
        give(pod, device)
        tell(pod, f"={device}", f"{device}:1")
    [found] = told(scene, Code.RDMA_DEVICES_TOLD)
    assert (found.level, found.subject) == (
        "ok",
        "each of 2 pods (bert-master-0 (rank 0), bert-worker-0)",
    )
    assert found.message == (
        "is told the names of its RDMA devices, for example: NCCL_IB_HCA==mlx5_4, UCX_NET_DEVICES=mlx5_4:1"
    )
    assert findings(scene) == []


@pytest.mark.parametrize(
    ("device", "why"),
    [(None, "no device-info there names one"), ("a b", "cannot be a device's name")],
)
def test_says_why_none_was_published(device: str | None, why: str) -> None:
    scene = Asking(0)
    if device is not None:
        give(scene.master, device)
    tell(scene.master, "=", "all")
    [found] = told(scene, Code.RDMA_DEVICES_UNNAMED)
    assert found.level == "ok"
    assert why in found.message
    assert found.message.endswith("; NCCL and UCX choose among all")


def test_a_pod_that_does_not_ask_is_told_nothing() -> None:
    scene = Scene(0)
    give(scene.master, "mlx5_4")
    assert not told(scene, Code.RDMA_DEVICES_TOLD) + told(scene, Code.RDMA_DEVICES_UNNAMED)


def test_a_wait_for_names_alone_is_told_as_such() -> None:
    scene = Asking(1)
    pod = scene.pods["bert-worker-0"]
    scene.wait(pod, ago(minutes=5))
    scene.tell(pod, "192.168.0.1")
    assert "warn pod bert-worker-0: waits for the names of its RDMA devices, for 5 min" in [
        text.replace("fail", "warn") for text in texts(findings(scene, "wait"))
    ]


@pytest.mark.parametrize(
    ("variable", "value", "is_left_out"),
    [
        ("NCCL_IB_HCA", "=mlx5_1", True),
        ("NCCL_IB_HCA", "mlx5_1,mlx5_2", True),
        ("NCCL_IB_HCA", "^mlx5", True),
        ("NCCL_IB_HCA", "mlx5", False),
        ("NCCL_IB_HCA", "mlx5_1,mlx5_4:1", False),
        ("NCCL_IB_HCA", "$HCA", False),
        ("UCX_NET_DEVICES", "eth0", True),
        ("UCX_NET_DEVICES", "mlx5_0:1", True),
        ("UCX_NET_DEVICES", "mlx5_4:1,eth0", False),
        ("UCX_NET_DEVICES", "all", False),
    ],
)
def test_a_fixed_list_is_compared_with_the_pods_devices(
    variable: str, value: str, is_left_out: bool
) -> None:
    scene = Scene(0)
    give(scene.master, "mlx5_4")
    scene.master["spec"]["containers"][0]["env"].append({"name": variable, "value": value})
    found = [(each.code, each.message) for each in findings(scene, "interfaces")]
    message = f"{variable}={value} names none of its RDMA devices: it has mlx5_4"
    assert found == ([(Code.RDMA_DEVICES_EXCLUDED, message)] if is_left_out else [])


def test_nothing_is_compared_where_a_network_does_not_tell_its_device() -> None:
    scene = Scene(0)
    scene.master["spec"]["containers"][0]["env"].append({"name": "NCCL_IB_HCA", "value": "mlx5_1"})
    assert findings(scene, "interfaces") == []


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "NCCL_IB_GID_INDEX",
            "3",
            "NCCL_IB_GID_INDEX=3 is fixed: the index of a pod's address differs from pod to pod, and NCCL finds it itself since 2.21",
        ),
        ("UCX_TLS", "tcp,self", "UCX_TLS=tcp,self keeps UCX from rdma/hca: it uses sockets"),
        (
            "GLOO_SOCKET_IFNAME",
            "net1,net2",
            "GLOO_SOCKET_IFNAME=net1,net2 names net2, and it has no such interface",
        ),
    ],
)
def test_settings_that_were_right_elsewhere(name: str, value: str, message: str) -> None:
    scene = Scene(0)
    env = scene.master["spec"]["containers"][0]["env"]
    env[:] = [entry for entry in env if entry["name"] != name] + [{"name": name, "value": value}]
    assert one(scene, "interfaces") == f"warn pod bert-master-0 (rank 0): {message}"


def test_an_interface_that_came_under_another_name_is_there() -> None:
    scene = Scene(0)
    annotations = scene.master["metadata"]["annotations"]
    entries = json.loads(annotations[names.NETWORK_STATUS])
    entries.append({"name": "default/other", "interface": "net7", "ips": ["192.168.9.9"]})
    annotations[names.NETWORK_STATUS] = json.dumps(entries)
    scene.master["spec"]["containers"][0]["env"].append(
        {"name": "UCX_NET_DEVICES", "value": "net7"}
    )
    assert findings(scene, "interfaces") == []


@pytest.mark.parametrize("what", ["an entry without a name", "a claim", "no network-status"])
def test_where_more_interfaces_may_be_none_is_missed(what: str) -> None:
    scene = Scene(0)
    annotations = scene.master["metadata"]["annotations"]
    if what == "a claim":
        scene.master["spec"]["resourceClaims"] = [{"name": "nic"}]
    elif what == "no network-status":
        del annotations[names.NETWORK_STATUS]
    else:
        entries = [*json.loads(annotations[names.NETWORK_STATUS]), {"name": "default/other"}]
        annotations[names.NETWORK_STATUS] = json.dumps(entries)
    scene.master["spec"]["containers"][0]["env"].append(
        {"name": "UCX_NET_DEVICES", "value": "net7"}
    )
    assert findings(scene, "interfaces") == []


@pytest.mark.parametrize(
    ("value", "device", "may"),
    [
        *(
            ("mlx5_4", "mlx5_4", True),
            ("mlx5_4:1", "mlx5_4", True),
            ("mlx5_40:1", "mlx5_4", False),
            ("all", "mlx5_4", True),
        ),
        *(
            ("^mlx5_4:1", "mlx5_4", False),
            ("^mlx5_5:1", "mlx5_4", True),
            ("mlx5_[0-3]:1", "mlx5_4", True),
        ),
    ],
)
def test_what_ucx_takes(value: str, device: str, may: bool) -> None:
    assert ucx_may_use(value, device) is may


def test_what_is_published_lets_each_library_use_the_device() -> None:
    assert nccl_may_use("=mlx5_4,mlx5_7", "mlx5_7")
    assert not nccl_may_use("=mlx5_4,mlx5_7", "mlx5_70")
    assert nccl_may_use("=", "mlx5_4")
