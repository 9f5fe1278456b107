"""What `explain --logs` says of the network that a job trains over, and why."""

from __future__ import annotations

import pytest

from tests.diagnose.scenes import Scene
from webhook.diagnose.explain.nccl_log import PodLog, read_log
from webhook.diagnose.finding import Finding


def told(scene: Scene) -> list[Finding]:
    return [each for each in scene.explained.findings if each.topic == "transport"]


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
