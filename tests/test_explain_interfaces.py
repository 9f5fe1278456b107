"""What `explain` finds of interfaces, and of the variables that choose one for NCCL and Gloo."""

from __future__ import annotations

import pytest

from tests.explanations import findings, first, one, texts
from tests.scenes import Scene
from webhook import names


def test_a_network_on_another_interface() -> None:
    scene = Scene(0)
    scene.attach(scene.master, "192.168.0.1", interface="net2")
    assert "came up on interface net2" in one(scene, "interfaces")


def test_members_that_disagree_on_their_sockets() -> None:
    scene = Scene(2)
    for entry in scene.pods["bert-worker-1"]["spec"]["containers"][0]["env"]:
        if entry["name"] == names.ENV_NCCL_SOCKET_IFNAME:
            entry["value"] = "eth0"
    found = texts(findings(scene, "interfaces"))
    assert "warn pod bert-worker-1: NCCL_SOCKET_IFNAME=eth0 rules out net1, on which the ranks meet" in found
    assert found[1].endswith(
        "its members disagree on NCCL_SOCKET_IFNAME: =net1 in 2 (bert-master-0, bert-worker-0); eth0 in 1 (bert-worker-1)"
    )


def test_a_socket_variable_that_cannot_be_read_is_in_no_disagreement() -> None:
    scene = Scene(1)
    source = {"configMapKeyRef": {"name": "fabric", "key": "interface"}}
    entries = scene.pods["bert-worker-0"]["spec"]["containers"][0]["env"]
    [entry] = [each for each in entries if each["name"] == names.ENV_NCCL_SOCKET_IFNAME]
    entry.pop("value")
    entry["valueFrom"] = source
    assert findings(scene, "interfaces") == []


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            "export NCCL_SOCKET_IFNAME=eth0; torchrun train.py",
            "NCCL_SOCKET_IFNAME=eth0 rules out net1, on which the ranks meet",
        ),
        (
            "GLOO_SOCKET_IFNAME='bond0' torchrun train.py",
            "GLOO_SOCKET_IFNAME=bond0 rules out net1, on which the ranks meet",
        ),
        ("export NCCL_SOCKET_IFNAME=net1; torchrun train.py", ""),
        ("export NCCL_SOCKET_IFNAME=$NIC MY_NCCL_SOCKET_IFNAME=eth0; torchrun train.py", ""),
    ],
)
def test_a_variable_that_the_command_sets_is_the_one_that_counts(command: str, told: str) -> None:
    scene = Scene()
    for pod in scene.pods.values():
        pod["spec"]["containers"][0]["command"] = ["sh", "-c", command]
    found = first(scene)
    assert (found.message if found.level == "warn" else "") == told
    assert not told or found.action == "remove the variable from its command, then restart the job"
