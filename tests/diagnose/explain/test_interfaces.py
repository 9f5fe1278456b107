"""What `explain` finds of interfaces, and of the variables that choose one for NCCL and Gloo."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.diagnose.explain.explanations import findings, first, one, texts
from tests.diagnose.scenes import PROFILES, Scene
from webhook.core import names
from webhook.core.profiles import parse_profiles


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
    assert (
        "warn pod bert-worker-1: NCCL_SOCKET_IFNAME=eth0 rules out net1, on which the ranks meet"
        in found
    )
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


def sets(scene: Scene, name: str, value: str) -> None:
    for pod in scene.pods.values():
        pod["spec"]["containers"][0]["env"].append({"name": name, "value": value})


@pytest.mark.parametrize(("name", "value"), [("NCCL_IB_DISABLE", "1"), ("NCCL_NET", "Socket")])
def test_a_job_that_turns_rdma_off(name: str, value: str) -> None:
    scene = Scene(1)
    sets(scene, name, value)
    found = first(scene)
    assert (found.level, found.message) == (
        "warn",
        f"{name}={value} keeps NCCL from rdma/hca: it uses sockets",
    )
    assert found.action == "remove the variable from the job or the profile, then restart the job"


def test_a_command_that_turns_rdma_off() -> None:
    scene = Scene(0)
    scene.master["spec"]["containers"][0]["command"] = [
        "sh",
        "-c",
        "NCCL_IB_DISABLE=1 torchrun train.py",
    ]
    assert "it uses sockets" in one(scene, "interfaces")


def gpus_alone(scene: Scene) -> None:
    resources = scene.master["spec"]["containers"][0]["resources"]
    for kind in resources.values():
        kind.pop("rdma/hca")


def no_ipc_lock(scene: Scene) -> None:
    scene.master["spec"]["containers"][0].pop("securityContext")


def by_the_admin(scene: Scene) -> None:
    scene.profiles = parse_profiles(
        PROFILES.replace("    sharedMemory", "    env: {NCCL_IB_DISABLE: '1'}\n    sharedMemory")
    )


def ended(scene: Scene) -> None:
    scene.master["status"]["phase"] = "Succeeded"


@pytest.mark.parametrize("change", [gpus_alone, no_ipc_lock, by_the_admin, ended])
def test_a_job_of_another_fabric_may_use_sockets(change: Callable[[Scene], None]) -> None:
    scene = Scene(0)
    sets(scene, "NCCL_IB_DISABLE", "1")
    change(scene)
    assert findings(scene, "interfaces") == []


def test_profiles_that_cannot_be_read_give_no_variable() -> None:
    scene = Scene(0)
    sets(scene, "NCCL_IB_DISABLE", "1")
    scene.changes = {"profiles": None}
    assert "it uses sockets" in one(scene, "interfaces")
