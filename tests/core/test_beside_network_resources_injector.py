"""Side by side with network-resources-injector: what its real code made of pods (tests/peer/recorded.json), before and after us."""

from collections import Counter
from typing import Any

import pytest

from tests.peer.recorded import Case, cases, load, ours
from webhook.core.model import Object

RECORDED = load()
CASES = [pytest.param(case, id=case.name) for case in cases()]


def devices(pod: Object, key: str = "limits") -> Counter[str]:
    held: Counter[str] = Counter()
    for container in pod["spec"]["containers"]:
        for name, amount in (container.get("resources", {}).get(key) or {}).items():
            held[name] += int(amount) if "/" in name else 0
    return +held


def check_shape(pod: Object) -> None:
    """The API server refuses two mounts at one path, two volumes of one name, and devices whose request is not the limit."""
    volumes = [volume["name"] for volume in pod["spec"].get("volumes", ())]
    assert len(set(volumes)) == len(volumes)
    for container in pod["spec"]["containers"]:
        paths = [mount["mountPath"] for mount in container.get("volumeMounts", ())]
        assert len(set(paths)) == len(paths)
        variables = [one["name"] for one in container.get("env", ())]
        assert len(set(variables)) == len(variables)
    assert devices(pod) == devices(pod, "requests")


def without_empty_maps(pod: Object) -> Any:
    containers = []
    for container in pod["spec"]["containers"]:
        held = {key: value for key, value in container["resources"].items() if value}
        containers.append({**container, "resources": held})
    return {**pod, "spec": {**pod["spec"], "containers": containers}}


@pytest.mark.parametrize("case", CASES)
def test_after_it_only_what_lacks_is_added(case: Case) -> None:
    alone = ours(case, case.pod)
    theirs = RECORDED[case.name]["first"]
    both = ours(case, theirs)
    assert both.allowed
    check_shape(both.pod)
    assert devices(both.pod) == devices(theirs) | devices(alone.pod)
    again = ours(case, both.pod)
    assert (again.pod, again.operations) == (both.pod, [])


@pytest.mark.parametrize("case", CASES)
def test_before_it_nothing_is_left_for_it_unless_it_honours_resources(case: Case) -> None:
    recorded = RECORDED[case.name]
    alone = ours(case, case.pod).pod
    assert alone == recorded["ours"], "our own injection changed: python -m tests.peer.recorded"
    check_shape(recorded["second"])
    if case.mode == "default":
        assert without_empty_maps(recorded["second"]) == without_empty_maps(alone)
    else:
        asked = devices(alone) - devices({"spec": {"containers": case.pod["spec"]["containers"]}})
        assert devices(recorded["second"]) >= devices(alone) + asked
