"""What `explain` finds of pods that wait for an address."""

from __future__ import annotations

from tests.diagnose.explain.explanations import findings, one, texts
from tests.diagnose.scenes import Scene, ago


def test_a_wait_that_nothing_explains() -> None:
    scene = Scene(1)
    scene.wait(scene.pods["bert-worker-0"], ago(minutes=4))
    scene.tell(scene.pods["bert-worker-0"], "192.168.0.1")
    assert "has waited for 4 min, and all that it needs is in its annotations" in one(scene)


def test_a_wait_of_seconds_is_no_fault() -> None:
    scene = Scene(1)
    scene.wait(scene.pods["bert-worker-0"], ago(seconds=4))
    scene.tell(scene.pods["bert-worker-0"], "192.168.0.1")
    assert findings(scene) == []


def test_a_rank_zero_whose_node_was_restarted() -> None:
    scene = Scene(0)
    scene.wait(scene.master, ago(minutes=4))
    scene.tell(scene.master, "192.168.0.250")
    assert "waits for its own address, for 4 min" in " ".join(texts(findings(scene, "wait")))
