"""What `explain` says of RDMA devices: which were told, why none, and which variables leave out those that the pod has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.diagnose.explain.explanations import findings, texts
from tests.diagnose.scenes import Scene, ago
from tests.tables import cases
from webhook.core import names
from webhook.core.injection.environment import nccl_may_use
from webhook.core.model import Object
from webhook.diagnose.explain.interfaces import ucx_may_use

ASKING = """
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
    cases("""
another | NCCL_IB_HCA | =mlx5_1 | yes
others | NCCL_IB_HCA | mlx5_1,mlx5_2 | yes
all but | NCCL_IB_HCA | ^mlx5 | yes
its kind | NCCL_IB_HCA | mlx5 | no
among others | NCCL_IB_HCA | mlx5_1,mlx5_4:1 | no
unknown | NCCL_IB_HCA | $HCA | no
an interface | UCX_NET_DEVICES | eth0 | yes
another of UCX | UCX_NET_DEVICES | mlx5_0:1 | yes
with an interface | UCX_NET_DEVICES | mlx5_4:1,eth0 | no
all | UCX_NET_DEVICES | all | no
"""),
)
def test_a_fixed_list_is_compared_with_the_pods_devices(
    variable: str, value: str, is_left_out: str
) -> None:
    scene = Scene(0)
    give(scene.master, "mlx5_4")
    scene.master["spec"]["containers"][0]["env"].append({"name": variable, "value": value})
    found = [(each.code.name, each.message) for each in findings(scene, "interfaces")]
    message = f"{variable}={value} names none of its RDMA devices: it has mlx5_4"
    excluded = [("interface-excluded", message)]
    assert found == (excluded if is_left_out == "yes" else [])


def test_nothing_is_compared_where_a_network_does_not_tell_its_device() -> None:
    scene = Scene(0)
    scene.master["spec"]["containers"][0]["env"].append({"name": "NCCL_IB_HCA", "value": "mlx5_1"})
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
    ("value", "may"),
    cases("""
the device | mlx5_4 | yes
its port | mlx5_4:1 | yes
a longer name | mlx5_40:1 | no
all | all | yes
all but it | ^mlx5_4:1 | no
all but another | ^mlx5_5:1 | yes
a range | mlx5_[0-3]:1 | yes
"""),
)
def test_what_ucx_takes(value: str, may: str) -> None:
    assert ucx_may_use(value, "mlx5_4") is (may == "yes")


def test_what_is_published_lets_each_library_use_the_device() -> None:
    assert nccl_may_use("=mlx5_4,mlx5_7", "mlx5_7")
    assert not nccl_may_use("=mlx5_4,mlx5_7", "mlx5_70")
    assert nccl_may_use("=", "mlx5_4")
