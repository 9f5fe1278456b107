"""A job is one job when its profile changes: later members take the profile as rank 0 has it, where that is known and theirs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests import pods
from tests.worlds import namespace, network, profiles
from webhook.core import names, podspec
from webhook.core.model import Object, Outcome, Reason
from webhook.core.profiles import Profile, Profiles, ProfileSidecar
from webhook.core.review import Verdict, decide
from webhook.world.objects import ObjectsWorld

BEFORE = profiles(
    "profiles: {a: {networks: [{network: f/one}], env: {WHEN: before}}, b: {networks: [{network: f/one}]}}"
)
AFTER = profiles("profiles: {a: {networks: [{network: f/two}], env: {WHEN: after}}, b: {networks: [{network: f/one}]}}")
OLD, NEW = BEFORE.profiles["a"], AFTER.profiles["a"]
BOTH = replace(AFTER, past={("a", OLD.revision): OLD})
"""What a process knows that has lived through the change."""


LABELLED: Any = {names.PROFILE: "b"}


def cluster(*more: Object, label: str = "a") -> ObjectsWorld:
    return ObjectsWorld([namespace("train", label), network("f/one"), network("f/two"), *more])


def first(known: Profiles = BEFORE, label: str = "a", **labels: str) -> Object:
    """Return rank 0 as it lives once it was admitted."""
    pod = pods.load("live/pytorchjob/bert-master-0.review.json")
    pod["metadata"]["labels"].update(labels)
    verdict = decide(pod, "train", known, cluster(label=label))
    assert (verdict.allowed, verdict.role) == (True, "master")
    live = verdict.pod
    live["metadata"].update(namespace="train", uid="0", creationTimestamp="2026-01-01T00:00:00Z")
    return {"kind": "Pod", **live}


def later(known: Profiles, *more: Object, label: str = "a", **labels: str) -> Verdict:
    """Decide about a worker that comes later; a second pass over it decides the same."""
    pod = pods.load("live/pytorchjob/bert-worker-0.review.json")
    pod["metadata"]["labels"].update(labels)
    world = cluster(*more, label=label)
    verdict = decide(pod, "train", known, world)
    assert (verdict.allowed, verdict.role) == (True, "worker")
    assert decide(verdict.pod, "train", known, world).operations == []
    return verdict


def status(pod: Object) -> Object:
    found: Object = json.loads(podspec.annotations(pod)[names.STATUS])
    return found


def forge(pod: Object, **told: object) -> Object:
    """Return rank 0 with another status, as whoever may patch the pod can write it."""
    written = json.dumps({**status(pod), **told})
    return {**pod, "metadata": {**pod["metadata"], "annotations": {**podspec.annotations(pod), names.STATUS: written}}}


def when(verdict: Verdict) -> str | None:
    [container] = verdict.pod["spec"]["containers"]
    return podspec.env_value(container, "WHEN")


def told(verdict: Verdict) -> list[tuple[Outcome, Reason]]:
    return [(each.outcome, each.reason) for each in verdict.decisions if each.step == "profile"]


def test_the_status_names_profile_and_revision() -> None:
    found = status(first())
    assert (found["profile"], found["revision"], found["chosenBy"]) == ("a", OLD.revision, "namespace")
    assert "generation" not in found, "of a file"
    of_object = replace(BEFORE, profiles={"a": replace(OLD, generation=7)})
    assert status(first(of_object))["generation"] == 7
    labelled = status(first(**LABELLED))
    assert (labelled["profile"], labelled["chosenBy"]) == ("b", "pod")
    assert OLD.revision != NEW.revision
    assert BEFORE.profiles["b"].revision == AFTER.profiles["b"].revision


def test_a_later_member_takes_what_rank_zero_has() -> None:
    verdict = later(BOTH, first())
    assert when(verdict) == "before"
    assert podspec.annotations(verdict.pod)[names.NETWORKS] == "f/one"
    assert status(verdict.pod)["revision"] == verdict.revision == OLD.revision
    assert told(verdict) == [(Outcome.KEPT, Reason.EARLIER_REVISION)]
    assert verdict.warnings == ()
    assert f"revision {NEW.revision} now" in verdict.decisions[0].message


@pytest.mark.parametrize("label", ["a", "b"])
def test_without_a_change_nothing_is_told(label: str) -> None:
    verdict = later(BEFORE, first(label=label), label=label)
    assert (told(verdict), verdict.warnings) == ([], ())


def test_what_is_not_known_any_more_is_told() -> None:
    verdict = later(AFTER, first())
    assert when(verdict) == "after"
    assert told(verdict) == [(Outcome.WARNED, Reason.UNKNOWN_REVISION)]
    [warning] = verdict.warnings
    assert warning == (
        f"rank 0 of the job has profile a in revision {OLD.revision}, which is not known here; this pod has profile a in revision "
        f"{NEW.revision}: start the job again if its members do not meet"
    )


@pytest.mark.parametrize(
    ("gone", "is_taken"),
    [
        ({"sidecars": ()}, False),
        ({"volumes": ()}, False),
        ({"sidecars": (ProfileSidecar("daemon", "registry/daemon:2"),)}, True),
    ],
)
def test_a_revision_with_more_power_than_the_profile_has_now_is_not_brought_back(
    gone: dict[str, Any], is_taken: bool
) -> None:
    before = profiles(
        "allowed: {hostPaths: [/sys], sidecarImages: [registry/daemon]}\n"
        "profiles: {a: {networks: [{network: f/one}], sidecars: [{name: daemon, image: 'registry/daemon:1'}], "
        "volumes: [{name: sys, hostPath: {path: /sys}}]}}"
    )
    had = before.profiles["a"]
    now = replace(before, profiles={"a": replace(had, revision="new", **gone)}, past={("a", had.revision): had})
    verdict = later(now, first(before))
    assert told(verdict) == (
        [(Outcome.KEPT, Reason.EARLIER_REVISION)] if is_taken else [(Outcome.WARNED, Reason.UNKNOWN_REVISION)]
    )
    assert is_taken or "gives a sidecar or a path of the node that the profile gives no more" in verdict.warnings[0]


def test_a_namespace_that_names_another_profile_now_keeps_the_job_on_its_own() -> None:
    verdict = later(BOTH, first(), label="b")
    assert (verdict.profile, when(verdict)) == ("a", "before")
    assert told(verdict) == [(Outcome.KEPT, Reason.EARLIER_REVISION)]


def test_members_that_choose_for_themselves_may_differ() -> None:
    for verdict in (
        later(AFTER, first(**LABELLED)),
        later(AFTER, first(), **LABELLED),
    ):
        assert (told(verdict), verdict.warnings) == ([], ())
    assert later(AFTER, first(**LABELLED)).profile == "a"
    assert later(AFTER, first(), **LABELLED).profile == "b"


def test_rank_zero_and_what_is_asked_for_by_name_take_the_present_one() -> None:
    again = decide(pods.load("live/pytorchjob/bert-master-0.review.json"), "train", BOTH, cluster(first()))
    assert (when(again), told(again)) == ("after", [])
    asked = decide(pods.load("live/pytorchjob/bert-worker-0.review.json"), "train", BOTH, cluster(first()), profile="a")
    assert (when(asked), told(asked)) == ("after", [])


@pytest.mark.parametrize(
    "known",
    [
        pytest.param(
            replace(OLD, allowed_namespaces=frozenset({"other"})), id="the earlier content is not for the namespace"
        ),
        pytest.param(OLD, id="the present content is not for the namespace"),
    ],
)
def test_a_forged_status_gives_nothing_that_the_namespace_may_not_use(known: Profile) -> None:
    secret = replace(NEW, name="secret", allowed_namespaces=frozenset({"other"}))
    earlier = replace(known, name="secret")
    using = replace(AFTER, profiles={**AFTER.profiles, "secret": secret}, past={("secret", OLD.revision): earlier})
    verdict = later(using, forge(first(), profile="secret"))
    assert (verdict.profile, when(verdict)) == ("a", "after")
    assert told(verdict) == [(Outcome.WARNED, Reason.UNKNOWN_REVISION)]
    assert verdict.warnings[0].count("which is not for namespace train") == 1


def test_a_deleted_profile_is_nobodys_any_more() -> None:
    using = replace(BOTH, profiles={"b": AFTER.profiles["b"]})
    verdict = later(using, first(), label="b")
    assert (verdict.profile, told(verdict)) == ("b", [(Outcome.WARNED, Reason.UNKNOWN_REVISION)])


@pytest.mark.parametrize(
    "wrong",
    [
        {"profile": "x" * 64},
        {"profile": ["a"]},
        {"profile": "a\nb"},
        {"revision": 7},
        {"revision": "é" * 12},
        {"revision": "0" * 13},
        {"skipped": {"x": "y" * 20_000}},
    ],
    ids=str,
)
def test_what_we_never_write_is_not_read(wrong: dict[str, object]) -> None:
    verdict = later(BOTH, forge(first(), **wrong))
    assert (when(verdict), told(verdict), verdict.warnings) == ("after", [], ())


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"a"', "{}", '{"profile": "a"}', "[" * 5000])
def test_a_status_of_an_earlier_version_or_of_somebody_else_says_nothing(text: str) -> None:
    pod = first()
    pod["metadata"]["annotations"][names.STATUS] = text
    verdict = later(BOTH, pod)
    assert (when(verdict), told(verdict)) == ("after", [])
