"""What `explain` tells of Events: what kept the job's owner from creating pods."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from tests import ROOT
from tests.diagnose.connection import NOW
from tests.diagnose.findings import findings
from tests.diagnose.scenes import Scene, event
from webhook.core.model import Object
from webhook.diagnose.jobs import concerns


def volcanos(name: str, message: str, pointer: int = 0xC0012B4FA0) -> str:
    """Write one refusal as Volcano's controller does, by Go's %#v."""
    quoted = json.dumps(message, ensure_ascii=False)
    return (
        f"failed to create pod {name}, err: &errors.StatusError{{ErrStatus:v1.Status{{"
        'TypeMeta:v1.TypeMeta{Kind:"", APIVersion:""}, ListMeta:v1.ListMeta{SelfLink:"", '
        'ResourceVersion:"", Continue:"", RemainingItemCount:(*int64)(nil)}, '
        f'Status:"Failure", Message:{quoted}, Reason:"Forbidden", '
        f"Details:(*v1.StatusDetails)(0x{pointer:x}), Code:403}}}}"
    )


def of_volcano(*errors: str, most: int | None = None) -> Object:
    return event(
        "Job", "bert", "FailedCreatePodReason", f"Error creating pods: [{' '.join(errors)}]"[:most]
    )


DENIED = (
    'admission webhook "pods.fabric-injector.io" denied the request: '
    'profile "gpu" does not exist; choose "a\\b" or\nnone'
)


def test_refusals_that_volcano_prints_as_go_structs_are_one_finding() -> None:
    scene = Scene(1)
    events = [
        of_volcano(
            *(
                volcanos(f"bert-worker-{n}", DENIED, 0xC000000000 + 16 * (n + each))
                for n in range(2)
            )
        )
        for each in range(10)
    ]
    scene.events = [*events, of_volcano(volcanos("bert-worker-9", DENIED), most=400)]
    [found] = findings(scene, "admission")
    assert found.code.name == "pod-denied"
    assert found.message == (
        'a pod of it was refused: profile "gpu" does not exist; choose "a\\b" or none '
        f"(11 times, last at {scene.events[0]['lastTimestamp'][:19]})"
    )


RECORDED = json.loads((ROOT / "tests/cases/volcano_refusals.json").read_text())
"""Events that Volcano 1.15.1 wrote of a Job on Kubernetes 1.36, each with the code of it."""


@pytest.mark.parametrize("name", RECORDED)
def test_what_a_running_volcano_writes_is_read(name: str) -> None:
    recorded = RECORDED[name]
    scene = Scene(1)
    scene.events = [event("Job", "bert", recorded["reason"], recorded["message"])]
    [found] = [
        each for each in findings(scene, "admission", "reachability") if each.level == "fail"
    ]
    assert str(found.code) == recorded["code"]
    assert "StatusError" not in found.message
    assert "Message" not in found.message
    assert found.action


@pytest.mark.parametrize("most", range(260, 700, 7))
def test_a_refusal_of_volcano_that_is_cut_off_anywhere_is_told(most: int) -> None:
    scene = Scene(1)
    scene.events = [
        of_volcano(volcanos("bert-worker-0", DENIED), volcanos("bert-worker-1", DENIED), most=most)
    ]
    [found] = findings(scene, "admission")
    assert found.message.startswith("a pod of it ")
    if most > 450:
        assert "was refused: profile" in found.message
        assert "StatusError" not in found.message


def test_refusals_before_the_newest_pod_are_over() -> None:
    scene = Scene(1)
    old = (NOW - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    scene.events = [event("PyTorchJob", "bert", "FailedCreatePod", "pods is forbidden: x", at=old)]
    assert findings(scene) == []


OURS = "bert bert-worker-0 bert-1 pytorchjob-bert-a1b2c child"
OURS += " bert-7d3f9ce1-1c1f-4a6e-9c3a-0f0e2f1b2c3d"
OTHERS = "bert-large big-bert pytorchjob-bert-large-a1b2c"


def test_whose_event_it_is() -> None:
    def is_ours(name: str) -> bool:
        found = event("Job", name, "FailedCreate", "x")
        return concerns(found, "bert", frozenset({"bert", "child"}))

    assert [name for name in f"{OURS} {OTHERS}".split() if is_ours(name)] == OURS.split()
