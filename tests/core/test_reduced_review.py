"""The answer to a reduced review is that to the whole one, byte for byte, and what is reduced is small whatever came."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import orjson
import pytest

from tests import pods
from tests.core import broken, forged, hostile
from tests.core.test_bounds import BOUNDS, OURS
from tests.core.test_review_fields import review, whole
from webhook.core import bounds, names
from webhook.core.errors import MalformedReview, WebhookError
from webhook.core.model import Object
from webhook.core.profiles import Profiles, parse_profiles
from webhook.core.reduced_review import reduce_review
from webhook.core.review import answer_reduced, answer_review
from webhook.world.objects import ObjectsWorld

PROFILES = forged.profiles()
WORLD = forged.world()
SPACES = list(forged.SPACES)


def outcome(answer: Callable[[], Any]) -> Any:
    """Return what becomes of a review, but for the pod that the verdict holds."""
    try:
        found = answer()
    except WebhookError as error:
        return type(error), str(error)
    except RecursionError:
        return (RecursionError,)
    verdict = found.verdict and replace(found.verdict, pod={})
    return found.body, verdict, found.uid, found.namespace, found.name, found.dry_run


def same(body: bytes, profiles: Profiles = PROFILES, world: ObjectsWorld = WORLD) -> Any:
    """Return what becomes of a review, which is the same where it is reduced first."""
    body = whole(body) if len(body) <= bounds.SMALL else body
    expected = outcome(lambda: answer_review(body, profiles, world))
    reduced = outcome(
        lambda: answer_reduced(orjson.loads(reduce_review(body, profiles.pod_label_keys)), profiles, world),
    )
    assert reduced == expected, body[:2000]
    return expected


@pytest.mark.parametrize("name", pods.all_names())
@pytest.mark.parametrize("space", SPACES)
def test_every_fixture_is_answered_as_when_it_is_read_whole(name: str, space: str) -> None:
    same(review(pods.load(name), space))


@pytest.mark.parametrize("profile", ["plain", "full"])
def test_every_shape_of_a_large_pod_is_answered_as_when_it_is_read_whole(profile: str) -> None:
    profiles, world = hostile.profiles(), hostile.world(profile)
    for shape, build in hostile.shapes(hostile.rich(), {"letters": "a", "references": "$(MASTER_ADDR)"}):
        for times in (40, 3000):
            assert same(hostile.review(build(times)), profiles, world), shape


@pytest.mark.parametrize("seed", range(8))
def test_forged_and_broken_reviews_are_answered_as_when_they_are_read_whole(seed: int) -> None:
    random = Random(seed)
    samples = [*map(pods.load, pods.all_names()), *map(hostile.rich, (OURS, "pods/jobset-1.yaml"))]
    kinds: Counter[Any] = Counter()
    for _ in range(400):
        pod = forged.forged(random.choice(samples), random, random.randint(0, 4))
        asked = json.loads(review(pod, random.choice(SPACES)))
        if random.random() < 0.5:
            asked = broken.broken(asked, random, random.randint(1, 3))
        found = same(json.dumps(asked).encode())
        kinds[found[0] if isinstance(found[0], type) else found[1] and found[1].reason] += 1
    assert kinds[MalformedReview] > 10, kinds
    assert kinds["injected"] > 10, kinds


@pytest.mark.parametrize("beyond", [1, 500])
@pytest.mark.parametrize(
    ("make", "most"), [each[:2] for each in BOUNDS], ids=lambda value: getattr(value, "__name__", None)
)
def test_a_pod_beyond_a_bound_is_denied_or_left_alone_as_when_it_is_read_whole(
    make: Callable[[Object, int], None], most: int, beyond: int
) -> None:
    pod = pods.load(OURS)
    pod["metadata"].setdefault("annotations", {})[names.STATUS] = "{}"
    pod["metadata"]["labels"][names.JOB] = "j"
    make(pod, most + beyond)
    profiles = hostile.profiles()
    for world in (hostile.world("plain"), hostile.world("plain", mode="observe"), ObjectsWorld(())):
        same(hostile.review(pod), profiles, world)
    for labels in ({"app": "web"}, {names.PROFILE: names.PROFILE_NONE}, {names.PROFILE: "x" * 600}, {names.JOB: "j"}):
        pod["metadata"].update(labels=labels, ownerReferences=[])
        make(pod, most + beyond)
        same(hostile.review(pod), profiles, hostile.world("plain"))


@pytest.mark.parametrize(
    "more", [{"secret": {"secretName": "a"}}, {"secret": None}, {"image": [], "secret": None}], ids=str
)
def test_a_volume_with_a_second_source_is_none_of_the_profiles(more: Object) -> None:
    pod = pods.load(OURS)
    pod["spec"].setdefault("volumes", []).append({"name": "sys", "hostPath": {"path": "/sys"}, **more})
    assert same(review(pod, "full"))[1].allowed


def test_a_profile_is_chosen_by_the_last_of_many_labels() -> None:
    profiles = parse_profiles("profiles: {plain: {podLabels: {team: blue}, networks: [{network: rails/rail-0}]}}")
    pod = pods.load(OURS)
    pod["metadata"]["labels"] |= {f"example.com/l{index}": "a" for index in range(bounds.LABELS)} | {"team": "blue"}
    found = same(hostile.review(pod), profiles, hostile.world("other"))
    assert "metadata.labels holds" in found[1].message


@pytest.mark.parametrize(
    "change",
    [
        {"operation": "UPDATE"},
        {"operation": "DELETE", "object": None},
        {"subResource": "ephemeralcontainers"},
        {"subResource": "s" * 100_000},
        {"resource": {"group": "", "version": "v1", "resource": "namespaces"}},
        {"resource": ["x"] * 100_000},
        {"dryRun": True, "name": "named"},
        {"dryRun": ["x"] * 100_000},
        {"operation": None},
        {"namespace": None},
        {"object": []},
        {"options": {"x": ["x"] * 100_000}, "userInfo": {"extra": {"a": ["b"]}}, "oldObject": {"spec": {}}},
    ],
    ids=str,
)  # fmt: skip
def test_the_rest_of_the_request_is_read_as_well(change: Object) -> None:
    asked = json.loads(review(pods.load(OURS), "plain"))
    asked["request"].update(change)
    same(json.dumps(asked).encode())


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 200_000,
        b'{"kind": "AdmissionReview", "a": ' + b"[" * 80_000 + b"]" * 80_000 + b"}",
        b"[" + b"{}," * 1_000_000 + b"{}]",
        b"x" * 100_000,
        b'"' + b"x" * 100_000 + b'"',
        b"\xff" * 100_000,
        b'{"request": {"uid": "' + b"u" * 100_000 + b'"}}',
    ],
    ids=["lists", "deep", "objects", "letters", "a text", "no text", "a long uid"],
)
def test_what_is_no_review_is_refused_with_the_same_words(body: bytes) -> None:
    assert same(body)[0] in (MalformedReview, RecursionError)


_TYPED: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    2**63,
    2**70,
    "",
    "text",
    [],
    [1],
    ["a"],
    {},
    {"a": "b"},
    [{}],
    [None],
)


def _given(value: Any, _times: int) -> Any:
    return value


def test_values_of_any_type_are_answered_as_when_they_are_read_whole() -> None:
    """In every place of a pod, also where nobody checks the type."""
    profiles, world = hostile.profiles(), hostile.world("full")
    pod = hostile.rich()
    pod["spec"]["volumes"][2]["downwardAPI"]["items"][0]["fieldRef"]["apiVersion"] = "v1"
    pod["spec"]["volumes"][0]["emptyDir"]["sizeLimit"] = "1Gi"
    kinds: Counter[Any] = Counter()
    for path, _ in hostile._places(pod):
        for value in _TYPED:
            if path:
                changed = hostile._replace(pod, path, partial(_given, value))(0)
                found = same(json.dumps(json.loads(hostile.review(changed))).encode(), profiles, world)
                kinds[found[0] is MalformedReview] += 1
    assert min(kinds[True], kinds[False]) > 500, kinds


def _shapes() -> Iterator[Any]:
    rich = hostile.rich()
    container = rich["spec"]["containers"][0]
    container["securityContext"]["seLinuxOptions"] = {"level": "a"}
    container["readinessProbe"]["httpGet"] = {"httpHeaders": [{"name": "a", "value": "b"}]}
    container["ports"] = [{"containerPort": 1}]
    container["env"].append({"name": "A", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}})
    rich["spec"]["volumes"].append({"name": "c", "configMap": {"name": "a", "items": [{"key": "a", "path": "b"}]}})
    rich["metadata"]["managedFields"] = [{"manager": "a", "fieldsV1": {"f:a": {}}}]
    for name, build in hostile.shapes(rich, {"letters": "a"}):
        yield pytest.param(build, id=name)


def _count(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_count, value.values())) + len(value)
    return 1 + sum(map(_count, value)) if isinstance(value, list) else 1


@pytest.mark.parametrize("build", list(_shapes()))
@pytest.mark.parametrize("is_ours", [True, False], ids=["ours", "not ours"])
def test_what_is_reduced_holds_few_values_whatever_came(build: Callable[[int], Object], is_ours: bool) -> None:
    for times in (900, 30_000):
        pod = build(times)
        if not is_ours:
            pod = {**pod, "metadata": {**pod["metadata"], "labels": {"app": "web"}, "ownerReferences": None}}
        try:
            reduced = reduce_review(hostile.review(pod), frozenset())
        except MalformedReview:
            continue
        assert _count(orjson.loads(reduced)) < 25_000


def test_no_text_of_a_large_pod_is_passed_on_that_is_not_bounded() -> None:
    for shape, build in hostile.shapes(hostile.rich(), {"letters": "a"}):
        if shape.endswith("letters"):
            assert len(reduce_review(hostile.review(build(600_000)), ())) < 30_000, shape
