"""The status annotation tells which profile a pod has, in which revision."""

import json
from dataclasses import replace

from msgspec import structs

from tests import pods
from tests.profiles import profiles
from tests.worlds import namespace, network
from webhook.core import names, podspec
from webhook.core.model import Object, Outcome
from webhook.core.profiles import Profiles
from webhook.core.review import Verdict, decide
from webhook.world.objects import ObjectsWorld

BEFORE = profiles(
    "{a: {networks: [{network: f/one}], container: {env: [{name: WHEN, value: before}]}}, b: {networks: [{network: f/one}]}}"
)
AFTER = profiles(
    "{a: {networks: [{network: f/two}], container: {env: [{name: WHEN, value: after}]}}, b: {networks: [{network: f/one}]}}"
)
OLD, NEW = BEFORE.profiles["a"], AFTER.profiles["a"]


def cluster(*more: Object, label: str = "a") -> ObjectsWorld:
    return ObjectsWorld([namespace("train", label), network("f/one"), network("f/two"), *more])


def first(known: Profiles = BEFORE, label: str = "a", own: str = "") -> Object:
    """Return rank 0 as it lives once it was admitted; *own*: the profile that its own label names."""
    pod = pods.load("live/pytorchjob/bert-master-0.review.json")
    if own:
        pod["metadata"]["labels"][names.PROFILE] = own
    verdict = decide(pod, "train", known, cluster(label=label))
    assert (verdict.allowed, verdict.role) == (True, "master")
    live = verdict.pod
    live["metadata"].update(namespace="train", uid="0", creationTimestamp="2026-01-01T00:00:00Z")
    return {"kind": "Pod", **live}


def later(known: Profiles, *more: Object, label: str = "a") -> Verdict:
    """Decide about a worker that comes later; a second pass over it decides the same."""
    pod = pods.load("live/pytorchjob/bert-worker-0.review.json")
    world = cluster(*more, label=label)
    verdict = decide(pod, "train", known, world)
    assert (verdict.allowed, verdict.role) == (True, "worker")
    assert decide(verdict.pod, "train", known, world).operations == []
    return verdict


def status(pod: Object) -> Object:
    found: Object = json.loads(podspec.annotations(pod)[names.STATUS])
    return found


def when(verdict: Verdict) -> str | None:
    [container] = verdict.pod["spec"]["containers"]
    return podspec.env_value(container, "WHEN")


def test_the_status_names_profile_and_revision() -> None:
    found = status(first())
    assert (found["profile"], found["revision"], found["chosenBy"]) == (
        "a",
        OLD.revision,
        "namespace",
    )
    assert "generation" not in found, "of a file"
    of_object = replace(BEFORE, profiles={"a": structs.replace(OLD, generation=7)})
    assert status(first(of_object))["generation"] == 7
    labelled = status(first(own="b"))
    assert (labelled["profile"], labelled["chosenBy"]) == ("b", "pod")
    assert OLD.revision != NEW.revision
    assert BEFORE.profiles["b"].revision == AFTER.profiles["b"].revision


def test_a_later_member_takes_the_present_profile() -> None:
    """Rank 0's status tells, by which `explain` says that they differ."""
    verdict = later(AFTER, first())
    assert (when(verdict), status(verdict.pod)["revision"]) == ("after", NEW.revision)
    told = [each.outcome for each in verdict.decisions if each.step == "profile"]
    assert told == [Outcome.INJECTED], "no warning"
