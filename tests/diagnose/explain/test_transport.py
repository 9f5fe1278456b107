"""What `explain --logs` says of the network that a job trains over, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.diagnose.explain.explanations import findings, one, texts
from tests.diagnose.explain.test_nccl_log import read
from tests.diagnose.scenes import NOW, Scene, ago
from webhook.core import names
from webhook.diagnose.explain.explanation import explain
from webhook.diagnose.explain.nccl_log import PodLog, read_log
from webhook.diagnose.finding import Finding


def logged(logs: Mapping[str, str], workers: int = 1, *, scene: Scene | None = None) -> Scene:
    """Give a job whose pods of these names have printed what these fixtures hold."""
    scene = scene or Scene(workers)
    scene.changes["logs"] = {pod: PodLog("pytorch", read(name)) for pod, name in logs.items()}
    return scene


def all_say(name: str, workers: int = 1, scene: Scene | None = None) -> Scene:
    scene = scene or Scene(workers)
    return logged(dict.fromkeys(scene.pods, name), scene=scene)


def told(scene: Scene) -> list[Finding]:
    return [each for each in explain(scene.reading).findings if each.topic == "transport"]


def variable(pod: dict[str, Any], name: str, value: str) -> None:
    pod["spec"]["containers"][0]["env"].append({"name": name, "value": value})


def without_devices(scene: Scene) -> None:
    for pod in scene.pods.values():
        for key in ("limits", "requests"):
            pod["spec"]["containers"][0]["resources"].get(key, {}).pop("rdma/hca", None)


def test_nothing_is_said_where_nobody_asked() -> None:
    assert told(Scene(1)) == []


def test_rdma_on_devices_that_network_status_names() -> None:
    scene = all_say("2.21-roce")
    for pod in scene.pods.values():
        entries = json.loads(pod["metadata"]["annotations"][names.NETWORK_STATUS])
        entries[1]["device-info"] = {"type": "pci", "pci": {"rdma-device": "mlx5_2"}}
        pod["metadata"]["annotations"][names.NETWORK_STATUS] = json.dumps(entries)
    [found] = told(scene)
    assert (found.level, str(found.code)) == ("ok", "transport-fabric")
    assert found.subject == f"job {scene.master['metadata']['labels'][names.JOB]}"
    assert found.message == "trains over RDMA on mlx5_2 (net1), mlx5_3, with GPUDirect RDMA"


def test_a_choice_without_channels_is_told_as_such() -> None:
    [found] = told(all_say("2.28-ib"))
    assert found.message == "has chosen RDMA on mlx5_0, and made no channel between nodes yet"


def test_tcp_with_its_cause() -> None:
    assert one(all_say("2.18-socket"), "transport").endswith(
        "trains over TCP on eth0: NCCL finds no RDMA device that works in the container, though the pod asks for rdma/hca"
    )


@pytest.mark.parametrize(
    ("fixture", "lines", "cause"),
    [
        ("2.28-socket", "NCCL_IB_DISABLE set by environment to 1.", "NCCL_IB_DISABLE=1"),
        ("2.28-socket", "NCCL_NET set by environment to Socket", "NCCL_NET=Socket"),
        (
            "2.28-socket",
            "NCCL_IB_HCA set to mlx5_9",
            "NCCL_IB_HCA=mlx5_9 names no RDMA device that works in the container, which asks for rdma/hca",
        ),
        (
            "2.28-socket",
            "Failed to open libibverbs.so[.1]",
            "the image of container pytorch lacks libibverbs.so, by which NCCL uses RDMA",
        ),
        (
            "2.28-socket",
            "NET/IB : Unable to open device mlx5_0",
            "NCCL cannot open an RDMA device, though the pod asks for rdma/hca",
        ),
    ],
)
def test_causes_in_the_log(fixture: str, lines: str, cause: str) -> None:
    scene = all_say(fixture)
    for pod, found in scene.changes["logs"].items():
        more = read_log([f"host:1:2 [0] NCCL INFO {lines}\n".encode()])
        found.log.settings.update(more.settings)
        found.log.signs.update(more.signs)
        assert more.settings or more.signs, pod
    assert one(scene, "transport").endswith(f"trains over TCP on net1: {cause}")


def test_a_variable_of_the_manifest_is_a_cause_too() -> None:
    scene = all_say("2.28-socket")
    for pod in scene.pods.values():
        variable(pod, "NCCL_IB_DISABLE", "1")
    [found] = findings(scene, "transport")
    assert found.message.endswith("TCP on net1: NCCL_IB_DISABLE=1")
    assert found.action == "remove the variable from the job or the profile, then restart the job"


def test_sockets_on_the_fabric_are_right_without_devices() -> None:
    scene = all_say("2.28-socket")
    without_devices(scene)
    [found] = told(scene)
    assert (found.level, found.message) == ("ok", "trains over TCP on net1")


def test_sockets_beside_the_fabric_are_not() -> None:
    scene = all_say("2.18-socket")
    without_devices(scene)
    for pod in scene.pods.values():
        container = pod["spec"]["containers"][0]
        container["env"] = [
            each for each in container["env"] if each["name"] != "NCCL_SOCKET_IFNAME"
        ]
        variable(pod, "NCCL_SOCKET_IFNAME", "eth0")
    [found] = findings(scene, "transport")
    assert found.message == (
        "trains over TCP on eth0: the pod asks for no RDMA device, and NCCL_SOCKET_IFNAME=eth0 leaves out net1"
    )


def test_a_pod_without_a_fabric() -> None:
    scene = all_say("2.18-socket")
    without_devices(scene)
    for pod in scene.pods.values():
        del pod["metadata"]["annotations"][names.NETWORK_STATUS]
    assert one(scene, "transport").endswith("TCP on eth0: the pod asks for no device of a fabric")


def test_efa() -> None:
    [found] = told(all_say("efa"))
    assert found.message == "trains over libfabric (efa), with GPUDirect RDMA"
    scene = all_say("efa-missing")
    for pod in scene.pods.values():
        pod["spec"]["containers"][0]["resources"] = {"limits": {"vpc.amazonaws.com/efa": "4"}}
    [warned] = findings(scene, "transport")
    assert warned.message.endswith(
        ": libfabric finds no EFA device, though the pod asks for vpc.amazonaws.com/efa"
    )
    for found_log in scene.changes["logs"].values():
        found_log.log.signs.clear()
        found_log.log.signs.update(read("2.18-socket").signs)
    [warned] = findings(scene, "transport")
    assert "no plugin libnccl-net.so" in warned.message


def test_libfabric_over_tcp_is_tcp() -> None:
    scene = all_say("efa")
    for found in scene.changes["logs"].values():
        found.log.providers = {"tcp;ofi_rxm": None}
    assert "trains over TCP" in one(scene, "transport")


def test_a_plugin_that_is_not_known_is_named() -> None:
    scene = all_say("efa")
    for found in scene.changes["logs"].values():
        found.log.channels = {"FasTrak": {}}
    [said] = told(scene)
    assert said.message == "trains over NCCL's plugin FasTrak, with GPUDirect RDMA"


def test_ranks_of_one_node_use_no_network() -> None:
    [found] = told(all_say("one-node"))
    assert str(found.code) == "transport-local"
    assert found.message.endswith("by P2P")


def test_a_rank_that_differs_is_named() -> None:
    names_of = ["bert-master-0", *(f"bert-worker-{number}" for number in range(3))]
    scene = logged(
        dict.fromkeys(names_of, "2.21-roce") | {"bert-worker-1": "2.18-socket"}, workers=3
    )
    told_texts = texts(findings(scene, "transport"))
    assert any(
        "all wait for the slowest: TCP in 1 (bert-worker-1); RDMA in 3 (bert-master-0, bert-worker-0, bert-worker-2)"
        in text
        for text in told_texts
    )
    assert any(
        text.startswith("warn pod bert-worker-1: trains over TCP on eth0") for text in told_texts
    )


def test_only_some_logs_were_read() -> None:
    scene = logged({"bert-master-0": "2.21-roce"}, workers=3)
    [found] = told(scene)
    assert found.message.endswith("; told by the logs of 1 of 4 pods")


def test_devices_of_another_name_on_each_node() -> None:
    scene = all_say("2.21-roce")
    scene.changes["logs"]["bert-worker-0"].log.channels["IB"] = {"mlx5_7": None}
    [found] = told(scene)
    assert (
        found.message
        == "trains over RDMA, for example: RDMA on mlx5_2, mlx5_3, with GPUDirect RDMA"
    )


def test_the_run_before() -> None:
    scene = Scene(1)
    scene.changes["logs"] = {
        name: PodLog("pytorch", read("2.21-roce"), is_previous=True) for name in scene.pods
    }
    [found] = told(scene)
    assert found.message.endswith("in the run before its container was restarted")


@pytest.mark.parametrize(
    ("fixture", "variables", "why", "action"),
    [
        (
            "gloo",
            {},
            "only Gloo's lines are there",
            "set NCCL_DEBUG=INFO in the environment of container pytorch",
        ),
        (
            "bootstrap",
            {},
            "NCCL's lines tell only where the ranks meet (Bootstrap on net1)",
            "look again in a moment",
        ),
        (
            "gloo",
            {"NCCL_DEBUG_FILE": "/tmp/x"},
            "NCCL_DEBUG_FILE sends NCCL's lines to a file",
            "read that file",
        ),
    ],
)
def test_cannot_tell(fixture: str, variables: dict[str, str], why: str, action: str) -> None:
    scene = all_say(fixture)
    for pod in scene.pods.values():
        for name, value in variables.items():
            variable(pod, name, value)
    [found] = findings(scene, "transport")
    assert str(found.code) == "transport-untold"
    assert found.message.startswith(f"cannot tell which network it trains over: {why}")
    assert found.action.startswith(action)


def test_silence_is_explained() -> None:
    scene = Scene(1)
    scene.changes["logs"] = {
        name: PodLog("pytorch", read_log([b"epoch 1\n"])) for name in scene.pods
    }
    assert one(scene, "transport").endswith(
        "NCCL prints its lines only where NCCL_DEBUG=INFO is set"
    )
    for pod in scene.pods.values():
        variable(pod, "NCCL_DEBUG", "INFO")
    assert one(scene, "transport").endswith(
        "NCCL has printed nothing, though NCCL_DEBUG asks it to"
    )
    rotated = read_log([f"{ago(minutes=3)} epoch 700\n".encode()])
    scene.changes["logs"] = dict.fromkeys(scene.pods, PodLog("pytorch", rotated))
    assert "the log that the node keeps begins 15 min after the container" in one(
        scene, "transport"
    )
    assert NOW.isoformat() > rotated.begins


def test_nothing_runs_yet() -> None:
    scene = Scene(1)
    scene.changes["logs"] = {}
    assert one(scene, "transport").startswith(
        "warn job/bert: no container of its pods that trains has begun to run"
    )


def test_failures_of_rdma() -> None:
    scene = logged({"bert-master-0": "memlock", "bert-worker-0": "unconnected"})
    codes = {str(each.code): each.level for each in findings(scene, "transport")}
    assert codes == {"rdma-memory-refused": "fail", "rdma-unconnected": "fail"}


_HEAD = "bert-master-0:12:40 [0] NCCL INFO "
_SOCKET = (
    "NET/IB : No device found.",
    "NET/Socket : Using [0]eth0:10.0.0.1<0>",
    "Using network Socket",
)
_IB = ("NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>", "Using network IB")
_TWO_NODES = "comm 0x5 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0"
_INSIDE = "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"


def printed(*messages: str, end: str = "\n") -> Scene:
    scene = Scene(1)
    text = "\n".join(f"{_HEAD}{each}" for each in messages) + end
    scene.changes["logs"] = {
        pod: PodLog("pytorch", read_log([text.encode()])) for pod in scene.pods
    }
    return scene


@pytest.mark.parametrize(
    "nodes", [(_TWO_NODES,), (_TWO_NODES.replace("nNodes 2", "nNodes 1"), _TWO_NODES), ()]
)
def test_channels_within_a_pod_do_not_hide_tcp_between_pods(nodes: tuple[str, ...]) -> None:
    [found] = told(printed(*_SOCKET, *nodes, _INSIDE))
    assert (found.level, str(found.code)) == ("warn", "transport-tcp")
    assert found.message.startswith("has chosen TCP on eth0, and made no channel between nodes yet")


def test_an_nvlink_domain_of_more_nodes_needs_no_network() -> None:
    [found] = told(
        printed(
            *_IB,
            _TWO_NODES.replace("MNNVL 0", "MNNVL 1"),
            "Channel 00/0 : 0[0] -> 1[1] via P2P/MNNVL",
        )
    )
    assert str(found.code) == "transport-local"


def test_sockets_chosen_beside_channels_by_rdma_are_told() -> None:
    channel = "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA"
    [found] = told(printed(*_IB, _TWO_NODES, channel, *_SOCKET))
    assert str(found.code) == "transport-tcp"
    assert found.message.startswith("trains over RDMA on mlx5_0 and TCP on eth0")


@pytest.mark.parametrize(
    "last",
    ["Using network Sock", "Using network Socketepoch 1\n", "Using network IB is what we want\n"],
)
def test_a_choice_that_is_cut_or_mixed_with_other_text_is_none(last: str) -> None:
    [found] = told(printed(*_SOCKET[:2], last, end=""))
    assert str(found.code) == "transport-untold"


def test_a_channel_that_is_cut_is_not_local() -> None:
    [found] = told(printed("Channel 00/0 : 0[0] -> 8[0] [send] via NET"))
    assert str(found.code) == "transport-untold"


@pytest.mark.parametrize("provider", ["udp;ofi_rxd", "net", "tcp;ofi_rxm", "sockets"])
def test_libfabric_over_the_kernels_network_is_not_the_fabric(provider: str) -> None:
    [found] = told(
        printed(
            f"NET/OFI Selected provider is {provider}, fabric is x", "Using network AWS Libfabric"
        )
    )
    assert str(found.code) == "transport-tcp"


def test_libfabric_that_names_no_provider_is_not_taken_for_efa() -> None:
    [found] = told(printed("Using network AWS Libfabric"))
    assert "EFA" not in found.message


def test_libfabric_that_may_be_either_is_not_told_as_one() -> None:
    for providers in (("efa", "tcp"), ("tcp", "efa")):
        scene = all_say("efa")
        for found in scene.changes["logs"].values():
            found.log.providers = dict.fromkeys(providers)
        [one_told] = told(scene)
        assert (one_told.level, str(one_told.code)) == ("warn", "transport-untold")
        assert f"names libfabric's providers {' and '.join(providers)}" in one_told.message


def test_a_log_with_lines_of_another_job_is_not_told_as_this_one() -> None:
    scene = Scene(1)
    lines = b"other-7:9:9 [0] NCCL INFO Using network Socket\n"
    scene.changes["logs"] = {
        pod: PodLog("pytorch", read_log([lines], {pod}, scene.pods)) for pod in scene.pods
    }
    found = told(scene)
    assert {str(each.code) for each in found} == {"transport-untold"}
    assert all("are of other-7, which is no pod of this job" in each.message for each in found)
