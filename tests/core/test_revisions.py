"""The status annotation tells which profile a pod has, in which revision."""

import json
from dataclasses import replace

from msgspec import structs

from tests import pods
from tests.profiles import profiles
from tests.worlds import namespace, network
from webhook.core import names, podspec
from webhook.core.model import Object
from webhook.core.profiles import Profiles
from webhook.core.review import decide
from webhook.world.objects import ObjectsWorld

WORLD = ObjectsWorld([namespace("train", "a"), network("f/one"), network("f/two")])
BEFORE = profiles("{a: {networks: [{network: f/one}]}, b: {networks: [{network: f/one}]}}")
AFTER = profiles("{a: {networks: [{network: f/two}]}, b: {networks: [{network: f/one}]}}")
OLD = BEFORE.profiles["a"]


def status(known: Profiles = BEFORE, **labels: str) -> Object:
    """Return the status of rank 0, which has these labels of ours."""
    pod = pods.load("live/pytorchjob/bert-master-0.review.json")
    pod["metadata"]["labels"] |= {names.PREFIX + key: text for key, text in labels.items()}
    verdict = decide(pod, "train", known, WORLD)
    assert (verdict.allowed, verdict.role) == (True, "master")
    found: Object = json.loads(podspec.annotations(verdict.pod)[names.STATUS])
    return found


def test_the_status_names_profile_and_revision() -> None:
    found = status()
    told = [found[key] for key in ("profile", "revision", "chosenBy")]
    assert told == ["a", OLD.revision, "namespace"]
    assert "generation" not in found, "of a file"
    of_object = replace(BEFORE, profiles={"a": structs.replace(OLD, generation=7)})
    assert status(of_object)["generation"] == 7
    labelled = status(profile="b")
    assert (labelled["profile"], labelled["chosenBy"]) == ("b", "pod")
    assert OLD.revision != AFTER.profiles["a"].revision
    assert BEFORE.profiles["b"].revision == AFTER.profiles["b"].revision
