"""Which pods a profile injects by its field ``pods``: chosen.yaml."""

from tests.core.workloads.rows import build, each
from tests.profiles import profiles
from tests.tables import read
from tests.worlds import namespace
from webhook.core import names
from webhook.core.model import Object, Reason
from webhook.core.review import decide
from webhook.world.objects import ObjectsWorld

_PODS = ("training", "accelerators", "all")
_WORLD = ObjectsWorld([namespace("train", profile="fabric")])
_GIVES = "podLabels: {team: ml}, container: {env: [{name: A, value: b}]}"
_PROFILES = {pods: profiles(f"{{fabric: {{pods: {pods}, {_GIVES}}}}}") for pods in _PODS}


@each(read(__file__, "chosen.yaml"))
def test_injects_the_pods_that_the_profile_is_for(row: Object) -> None:
    by = row.pop("by").split()
    pod = build(row)
    for pods in _PODS:
        verdict = decide(pod, "train", _PROFILES[pods], _WORLD)
        assert verdict.allowed
        assert bool(verdict.operations) is (pods in by), (pods, verdict.decisions)
        again = decide(verdict.pod, "train", _PROFILES[pods], _WORLD)
        assert again.operations == []


def test_says_that_a_rank_without_accelerator_is_left_alone() -> None:
    pod = build({"of": "kubeflow-pytorchjob-1", "bare": True})
    found = decide(pod, "train", _PROFILES["accelerators"], _WORLD)
    [why] = found.decisions
    assert (why.reason, found.system) == (Reason.OTHER_ACCELERATORS, "pytorchjob")
    assert why.message == (
        "profile fabric is for pods with accelerators, and this one asks for none; label the pod "
        f"{names.PROFILE}=fabric to inject it all the same"
    )
