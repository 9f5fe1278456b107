"""What each step makes of a pod: the rows of ``steps/``, one file for each step.

A row's *trainer* is its only container and *pod* the rest of its spec; in a pod of several, one
without a name is ``trainer``. *labels* and *annotations* are the pod's, *namespace* holds the
labels of its namespace. *profile* is the spec of a FabricProfile. *networks* are
attached: ``namespace/name@interface`` and the device that each asks for; *annotation* is what the
networks annotation shall be. *container* is the index of the one that trains, *training* what is
known of the job, *claims_problem* why the cluster gives no claims. Rows under ``rows`` share what
stands beside them.

*gives* says what is written at which place, where ``+`` appends to a list; all else stays. The step
``environment`` follows that of the profile, as in a pod. *says* holds outcome and reason of each
decision, and its message in the rows that are about it; *denied* the reason and the message of a
denial.
"""

import copy
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from tests.core.builders import Step, attachment, carry_out, plan
from tests.pods import minimal_container, minimal_pod
from tests.profiles import read_profile
from tests.tables import grouped
from webhook.core.errors import Denied
from webhook.core.injection import environment, profile
from webhook.core.model import Object, Reason
from webhook.core.networks import Attachment
from webhook.core.plan import Plan
from webhook.core.workloads.training_pod import Rendezvous, TrainingPod

KEYS = {
    *("trainer", "pod", "labels", "annotations", "namespace", "profile", "networks"),
    *("annotation", "container", "training", "claims_problem", "gives", "says", "denied"),
}
MEMBER = TrainingPod("pytorchjob", rendezvous=Rendezvous("j-1", "worker", "j-master-0"))


def rows() -> list[Any]:
    """Return each row with its step."""
    return [
        pytest.param(
            import_module(f"webhook.core.injection.{step}").inject, {**group, **row}, id=name
        )
        for step, name, group, row in grouped(__file__, "steps")
    ]


def container(written: Object) -> Object:
    return minimal_container(written.pop("name", "trainer"), **written)


def pod_of(row: Object) -> Object:
    """Return the row's pod."""
    spec = copy.deepcopy(row.get("pod") or {})
    written = spec.pop("containers", [copy.deepcopy(row.get("trainer") or {})])
    containers = [container(each) for each in written]
    if spec.get("initContainers"):
        spec["initContainers"] = [container(each) for each in spec["initContainers"]]
    marks = {key: row.get(key) for key in ("labels", "annotations")}
    return minimal_pod(*containers, **marks, **spec)


def attached(written: str | Object) -> Attachment:
    """Return a network of the row: a line, or a map with what is unusual of it."""
    if isinstance(written, str):
        line, _, resource = written.partition(" ")
        name, _, interface = line.partition("@")
        return attachment(name, interface, resource=resource)
    fields = dict(written)
    name, _, interface = fields.pop("network").partition("@")
    resources = tuple(fields.pop("resources", {}).items())
    added = fields.pop("added", True)
    made = attachment(name, interface, default=fields.pop("default", False), **fields)
    return replace(made, resources=resources, added=added)


def plan_of(row: Object, pod: Object) -> Plan:
    """Return the plan of the row's pod."""
    training = row.get("training", MEMBER)
    if isinstance(training, dict):
        training = TrainingPod(**{**training, "reason": Reason(training["reason"])})
    return plan(
        pod,
        *map(attached, row.get("networks", ())),
        profile=read_profile("rdma", row.get("profile")),
        container=row.get("container", 0),
        labels=row.get("namespace"),
        training_pod=training,
        networks=row.get("annotation"),
        claims_problem=row.get("claims_problem", ""),
    )


def given(pod: Object, row: Object) -> Object:
    """Return the pod with what the row gives it."""
    changed = copy.deepcopy(pod)
    for place, value in row.get("gives", {}).items():
        *way, key = place.removesuffix("+").split("/")
        if way == ["trainer"]:
            way = ["containers", str(row.get("container", 0))]
        holder = changed["metadata" if place in ("labels", "annotations") else "spec"]
        for each in way:
            holder = holder[int(each)] if isinstance(holder, list) else holder[each]
        holder[key] = [*holder[key], *value] if place.endswith("+") else value
    return changed


@pytest.mark.parametrize(("step", "row"), rows())
def test_a_step_does_what_its_row_says(step: Step, row: Object) -> None:
    assert row.keys() <= KEYS, f"no keys of a row: {', '.join(row.keys() - KEYS)}"
    pod = pod_of(row)
    drawn = plan_of(row, pod)
    if "denied" in row:
        with pytest.raises(Denied) as raised:
            carry_out(step, pod, drawn)
        reason, _, message = row["denied"].partition(": ")
        assert raised.value.reason == reason
        assert raised.value.message == (message or raised.value.message)
        return
    before = carry_out(profile.inject, pod, drawn)[0] if step is environment.inject else pod
    result, decisions = carry_out(step, before, drawn)
    assert result == given(pod, row)
    is_whole = any(": " in each for each in row["says"])
    assert row["says"] == [
        f"{each.outcome} {each.reason}" + (f": {each.message}" if is_whole else "")
        for each in decisions
    ]
