"""What `explain --logs` says of the network that a job trains over, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tests.diagnose.explain.test_nccl_log import read
from tests.diagnose.scenes import Scene
from webhook.core import names
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
    return [each for each in scene.explained.findings if each.topic == "transport"]


def test_rdma_on_devices_that_network_status_names() -> None:
    scene = all_say("2.21-roce")
    for pod in scene.pods.values():
        entries = json.loads(pod["metadata"]["annotations"][names.NETWORK_STATUS])
        entries[1]["device-info"] = {"type": "pci", "pci": {"rdma-device": "mlx5_2"}}
        pod["metadata"]["annotations"][names.NETWORK_STATUS] = json.dumps(entries)
    [found] = told(scene)
    assert (found.level, str(found.code)) == ("ok", "ok")
    assert found.subject == f"job {scene.master['metadata']['labels'][names.JOB]}"
    assert found.message == "trains over RDMA on mlx5_2 (net1), mlx5_3, with GPUDirect RDMA"


_HEAD = "bert-master-0:12:40 [0] NCCL INFO "
_SOCKET = (
    "NET/IB : No device found.",
    "NET/Socket : Using [0]eth0:10.0.0.1<0>",
    "Using network Socket",
)


def printed(*messages: str, end: str = "\n") -> Scene:
    scene = Scene(1)
    text = "\n".join(f"{_HEAD}{each}" for each in messages) + end
    scene.changes["logs"] = {
        pod: PodLog("pytorch", read_log([text.encode()])) for pod in scene.pods
    }
    return scene


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
