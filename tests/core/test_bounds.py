"""What a tenant may send is bounded before it is read: a denial names the bound; other pods are left alone."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import orjson
import pytest

from tests import hostile, pods
from tests.calls import count_calls
from tests.hostile import large
from webhook.core import bounds, names
from webhook.core.errors import MalformedReview
from webhook.core.model import Object, Outcome, Reason
from webhook.core.networks.annotation import MOST_ELEMENTS
from webhook.core.pod_types import (
    CONTAINERS,
    LABELS,
    LONGEST_LABEL,
    LONGEST_NAME,
    NODE_VALUES,
    OWNERS,
    QUANTITIES,
    VOLUMES,
)
from webhook.core.profiles import Profiles
from webhook.core.review import answer_review, decide
from webhook.core.workloads import recognise
from webhook.world.objects import ObjectsWorld

PROFILES = hostile.PROFILES
WORLD = hostile.world("plain")
OURS = "pods/kubeflow-pytorchjob-1.yaml"


def first(pod: Object) -> Object:
    container: Object = pod["spec"]["containers"][0]
    return container


def _containers(pod: Object, number: int) -> None:
    pod["spec"]["initContainers"] = [{"name": "before"}]
    pod["spec"]["containers"] += [
        {"name": f"c{index}"}
        for index in range(number - 1 - len(pod["spec"].get("initContainers") or []))
    ]


def _only(pod: Object, **part: object) -> None:
    """Leave the pod a container that holds nothing else."""
    pod["spec"].pop("initContainers", None)
    pod["spec"]["containers"] = [{"name": "pytorch", **part}]


def _variables(pod: Object, number: int) -> None:
    _only(pod, env=[{"name": f"V{index}", "value": "x"} for index in range(number)])


def _words(pod: Object, number: int) -> None:
    _only(pod, command=["train"], args=["a"] * (number - 1))


def _quantities(pod: Object, number: int) -> None:
    """Give each container a share of them."""
    pod["spec"].pop("initContainers", None)
    each, rest = divmod(number, 10)
    pod["spec"]["containers"] = [
        {"resources": {"limits": {f"example.com/r{i}": "1" for i in range(each + (index < rest))}}}
        for index in range(10)
    ]


def _mounts(pod: Object, number: int) -> None:
    mounts = [{"name": "data", "mountPath": f"/data/{index}"} for index in range(number - 1)]
    _only(pod, volumeMounts=mounts, volumeDevices=[{"name": "data", "devicePath": "/dev/xvda"}])


def _commands(pod: Object, number: int) -> None:
    each, rest = divmod(number, 50)
    too_long = {
        "name": "long",
        "command": ["a" * (bounds.COMMAND + 1)],
    }  # not read, and so not counted
    pod["spec"]["containers"] = [too_long] + [
        {"name": f"c{index}", "command": ["a" * (each + (index < rest))]} for index in range(50)
    ]


def _signs(pod: Object, number: int) -> None:
    half = number // 2
    pod["spec"]["containers"] = [
        {"name": "a", "command": ["train", ";" * half]},
        {"name": "b", "args": ["a{" * (number - half)]},
    ]


def _labels(pod: Object, number: int) -> None:
    own = pod["metadata"]["labels"]
    own |= {f"example.com/l{index}": "a" for index in range(number - len(own))}


def _put(path: str, part: Callable[[int], object]) -> Callable[[Object, int], None]:
    """Return what puts a part of so many pieces into a pod, at a path of keys."""
    *holders, last = path.split()

    def put(pod: Object, number: int) -> None:
        holder: Any = pod
        for key in holders:
            holder = holder[int(key)] if key.isdigit() else holder.setdefault(key, {})
        holder[last] = part(number)

    put.__name__ = path
    return put


OWNER = pods.load(OURS)["metadata"]["ownerReferences"][0]
AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"
BOUNDS: list[tuple[Callable[[Object, int], None], int, str]] = [
    (_containers, CONTAINERS, "spec.containers and spec.initContainers holds more than 200 containers"),
    *((make, bounds.ITEMS, "hold more than 5000 variables, words, mounts, resources and claims")
      for make in (_variables, _words, _mounts, _quantities)),
    *((make, QUANTITIES, f"{path}: expected a") for make, path in (
        (_put("spec containers 0 lifecycle", lambda n: {"preStop": {"exec": {"command": ["a"] * n}}}), "spec.containers[0].lifecycle.preStop.exec.command"),
        (_put("spec resources", lambda n: {"limits": {f"example.com/r{i}": "1" for i in range(n)}}), "spec.resources.limits"),
        (_put("spec containers 0 securityContext", lambda n: {"capabilities": {"add": ["A"] * n}}), "spec.containers[0].securityContext.capabilities.add"),
        (_put("spec containers 0 securityContext", lambda n: {"seLinuxOptions": {f"k{i}": "v" for i in range(n)}}), "spec.containers[0].securityContext.seLinuxOptions"),
        (_put("spec containers 0 securityContext", lambda n: {"windowsOptions": {f"k{i}": "v" for i in range(n)}}), "spec.containers[0].securityContext.windowsOptions"),
        (_put("spec securityContext", lambda n: {"sysctls": [{"name": f"k{i}"} for i in range(n)]}), "spec.securityContext.sysctls"),
    )),
    (_put("spec nodeSelector", lambda n: {f"example.com/l{i}": "a" for i in range(n)}),
     LABELS, "spec.nodeSelector: expected a"),
    (_put("spec volumes", lambda n: [{"name": "a", "downwardAPI": {"items": [{"path": f"f{i}"} for i in range(n)]}}]),
     2_000, "spec.volumes[0].downwardAPI.items: expected a"),
    (_commands, bounds.COMMANDS, "its containers hold more than 65536 characters in command and args"),
    (_signs, bounds.SIGNS, "its containers hold more than 8192 quotes, separators and expansions in command and args"),
    (_put("spec volumes", lambda n: [{"name": f"v{i}", "emptyDir": {}} for i in range(n)]),
     VOLUMES, "spec.volumes: expected a"),
    (_put("metadata ownerReferences", lambda n: [OWNER] * n), OWNERS, "metadata.ownerReferences: expected a"),
    (_labels, LABELS, "metadata.labels: expected a"),
    (_put("spec resourceClaims", lambda n: [{"name": f"c{i}"} for i in range(n)]),
     QUANTITIES, "spec.resourceClaims: expected a"),
    (_put("spec tolerations", lambda n: [{"key": f"k{i}", "operator": "Exists"} for i in range(n)]),
     1_000, "spec.tolerations: expected a"),
    (_put(f"spec affinity nodeAffinity {AFFINITY} nodeSelectorTerms", lambda n: [{"matchExpressions": [{"values": ["v"] * n}]}]), NODE_VALUES, "matchExpressions[0].values: expected a"),
    *((make, LONGEST_NAME, f": {path}: expected a") for make, path in (
        (_put("spec containers 0 imagePullPolicy", lambda n: "i" * n), "spec.containers[0].imagePullPolicy"),
        (_put("spec containers 0 name", lambda n: "c" * n), "spec.containers[0].name"),
        (_put("spec containers 0 image", lambda n: "i" * n), "spec.containers[0].image"),
        (_put("spec containers 0 env", lambda n: [{"name": "V" * n}]), "spec.containers[0].env[0].name"),
        (_put("spec containers 0 volumeMounts", lambda n: [{"name": "data", "mountPath": "/" * n}]), "spec.containers[0].volumeMounts[0].mountPath"),
        (_put("spec containers 0 volumeDevices", lambda n: [{"name": "data", "devicePath": "/" * n}]), "spec.containers[0].volumeDevices[0].devicePath"),
        (_put("spec containers 0 resources limits", lambda n: {"a": 1, "r" * n: "1"}), "spec.containers[0].resources.limits"),
        (_put("spec containers 0 resources limits", lambda n: {"a": "1", "r": "1" * n}), "spec.containers[0].resources.limits[...]"),
        (_put("spec hostname", lambda n: "h" * n), "spec.hostname"),
        (_put("spec subdomain", lambda n: "s" * n), "spec.subdomain"),
        (_put("spec restartPolicy", lambda n: "r" * n), "spec.restartPolicy"),
        (_put("spec volumes", lambda n: [{"name": "v" * n}]), "spec.volumes[0].name"),
        (_put("spec resourceClaims", lambda n: [{"name": "c" * n}]), "spec.resourceClaims[0].name"),
        (_put("spec containers 0 resources claims", lambda n: [{"name": "c" * n}]), "spec.containers[0].resources.claims[0].name"),
        (_put("spec containers 0 securityContext", lambda n: {"capabilities": {"drop": ["C" * n]}}), "spec.containers[0].securityContext.capabilities.drop[0]"),
    )),
    (_put("metadata name", lambda n: "n" * n), LONGEST_NAME, "metadata.name: expected a"),
    (_put("metadata ownerReferences", lambda n: [OWNER, {"name": "n" * n}]), LONGEST_LABEL, ": metadata.ownerReferences[1].name: expected a"),
    (_put("metadata labels a", lambda n: "v" * n), LONGEST_LABEL, ": metadata.labels[...]: expected a"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "most", "told"), BOUNDS, ids=lambda value: getattr(value, "__name__", None)
)
def test_a_training_pod_beyond_a_bound_is_denied_with_the_bound(
    make: Callable[[Object, int], None], most: int, told: str
) -> None:
    pod = pods.load(OURS)
    make(pod, most)
    assert decide(pod, "train", PROFILES, WORLD).reason != Reason.TOO_LARGE
    pod = pods.load(OURS)
    make(pod, most + 1)
    verdict = decide(pod, "train", PROFILES, WORLD)
    assert (verdict.allowed, verdict.reason, verdict.operations) == (False, Reason.TOO_LARGE, [])
    assert told in verdict.message
    assert verdict.message.endswith(
        "make it smaller, or label it fabric-injector.io/profile=none to leave it alone"
    )
    assert len(verdict.message) < 1000


@pytest.mark.parametrize(
    ("make", "most"),
    [each[:2] for each in BOUNDS],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_pod_that_is_not_ours_is_never_denied_for_its_size(
    make: Callable[[Object, int], None], most: int
) -> None:
    for number in (most + 1, 10 * most):
        pod = pods.load(OURS)
        pod["metadata"].update(labels={"app": "web"}, ownerReferences=[])
        make(pod, number)
        verdict = decide(pod, "train", PROFILES, WORLD)
        assert (verdict.allowed, verdict.reason, verdict.operations) == (
            True,
            Reason.UNKNOWN_SYSTEM,
            [],
        )
        assert sum(len(each.message) for each in verdict.decisions) < 1000
        pod["metadata"]["labels"][names.PROFILE] = names.PROFILE_NONE
        assert decide(pod, "train", PROFILES, WORLD).reason == Reason.OPTED_OUT


@pytest.mark.parametrize("name", pods.all_names())
def test_a_pod_is_recognised_by_what_of_it_is_within_the_bounds(name: str) -> None:
    pod = pods.load(name)
    assert recognise(bounds.within(pod)) == recognise(pod)


SEEN: dict[str, Callable[[str], Object]] = {
    "a variable": lambda text: {"env": [{"name": "A", "value": text}]},
    "an amount": lambda text: {"resources": {"limits": {"a": text}}},
    "a command": lambda text: {"command": ["x", text]},
    "args": lambda text: {"args": ["x"] * (len(text) // 6)},
}
"""Parts of a container that hold a text."""


@pytest.mark.parametrize("make", SEEN.values(), ids=SEEN)
def test_what_is_too_long_is_not_seen_of_a_pod_beyond_a_bound(
    make: Callable[[str], Object],
) -> None:
    def is_seen(length: int) -> bool:
        part = make("b" * length)
        seen = bounds.within({"spec": {"containers": [part]}})
        return json.dumps(part)[1:-1] in json.dumps(seen)

    assert is_seen(3_900)
    assert not is_seen(LONGEST_NAME + 1_000)


def test_of_many_containers_little_is_seen_of_a_pod_beyond_a_bound() -> None:
    container = {"env": [{"name": "A"}] * 5_000, "command": ["a" * 400], "args": ["b" * 100]}
    part = bounds.within({"spec": {"containers": [container] * 200}})
    [seen, *others] = part["spec"]["containers"]
    assert (len(seen["env"]), "command" in seen, seen["args"]) == (25, False, ["b" * 100])
    assert others == [seen] * 199


@pytest.mark.parametrize(
    "text",
    [
        lambda n: ",".join(["rails/rail-0"] * n),
        lambda n: json.dumps([{"name": "rail-0", "namespace": "rails"}] * n),
    ],
)
def test_networks_are_counted_before_they_are_looked_up(text: Callable[[int], str]) -> None:
    pod = pods.load(OURS)
    make = _put(f"metadata annotations {names.NETWORKS}", text)
    make(pod, MOST_ELEMENTS)
    assert decide(pod, "train", PROFILES, WORLD).allowed
    make(pod, MOST_ELEMENTS + 1)
    verdict = decide(pod, "train", PROFILES, WORLD)
    assert verdict.reason == Reason.TOO_LARGE
    assert "networks names 257 networks, and at most 256 are read; name fewer" in verdict.message


def test_a_pod_beyond_a_bound_is_denied_where_its_owner_asks_for_it_by_label() -> None:
    pod = pods.plain({names.PROFILE: "plain"})
    _variables(pod, bounds.ITEMS + 1)
    assert decide(pod, "train", PROFILES, WORLD).reason == Reason.TOO_LARGE


def test_an_observed_namespace_denies_no_size() -> None:
    pod = pods.load(OURS)
    _variables(pod, bounds.ITEMS + 1)
    verdict = decide(pod, "train", PROFILES, hostile.world("plain", mode="observe"))
    assert verdict.allowed
    assert "more than 5000 variables" in verdict.warnings[0]


def test_a_patch_of_too_many_bytes_is_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "PATCH_BYTES", 200_000)
    pod = pods.load(OURS)
    first(pod)["securityContext"] = {"seLinuxOptions": {"k": "\x01" * 40_000}}
    answer = answer_review(hostile.review(pod), PROFILES, WORLD)
    assert answer.verdict is not None
    assert (answer.verdict.reason, answer.verdict.operations) == (Reason.TOO_LARGE, [])
    assert "bytes of changes, and at most 200000 are made" in answer.verdict.message
    name = pod["metadata"]["name"]
    assert answer.verdict.message.startswith(f"pod {name}: its injection would take")
    assert len(answer.body) < 2000


def test_a_review_that_is_too_long_is_denied_unread_with_its_size() -> None:
    """Nobody is asked, and what follows its beginning need not even be JSON."""
    body = hostile.review(pods.load(OURS))
    answer = answer_review(body.ljust(bounds.REVIEW_BYTES), PROFILES, WORLD)
    assert answer.verdict is not None
    assert answer.verdict.reason == "injected"
    uid = json.loads(body)["request"]["uid"]
    for beginning, filler in ((body, b" "), (body[:200], b"[")):
        unread = beginning.ljust(bounds.REVIEW_BYTES + 1, filler)
        answer = answer_review(unread, Profiles(), ObjectsWorld(()))
        assert answer.verdict is not None
        assert (answer.uid, answer.verdict.reason) == (uid, Reason.TOO_LARGE)
        assert [each.step for each in answer.verdict.decisions] == ["profile"]
        response = json.loads(answer.body)["response"]
        assert (response["uid"], response["allowed"]) == (uid, False)
        assert "patch" not in response
        told = "the AdmissionReview has 524289 bytes, and at most 524288 are read"
        assert told in response["status"]["message"]


@pytest.mark.parametrize(
    "beginning",
    [
        b'{"request":{"uid":"',
        b'{"request":{"uid":""',
        b'{"request":{"uid":"a\\"b"}}',
        b'{"request":{"uid":"\xff"}}',
        b'{"request":{"object":{"metadata":{"uid":"u"}}}}',
        b'{"request":{"uid":"' + b"u" * 257 + b'"}}',
        b" " * 1_024 + b'{"request":{"uid":"u"}}',
    ],
    ids=["no end", "empty", "escaped", "no text", "another uid", "long", "late"],
)
def test_a_review_that_is_too_long_and_has_no_uid_is_no_review(beginning: bytes) -> None:
    with pytest.raises(
        MalformedReview,
        match=r"at most 524288 are read; request.uid does not stand in its first 1024",
    ):
        answer_review(beginning.ljust(bounds.REVIEW_BYTES + 1), PROFILES, WORLD)


def test_a_long_text_is_no_reason_to_refuse_a_body() -> None:
    pod = pods.plain()
    pod["spec"]["containers"][0]["args"] = ["[{,a}" * 100_000]
    answer = answer_review(hostile.review(pod), PROFILES, WORLD)
    assert answer.verdict is not None
    assert answer.verdict.allowed


@pytest.mark.parametrize(("key", "most"), [("uid", 256), ("namespace", 63), ("name", 4096)])
def test_a_long_name_of_the_request_is_refused(key: str, most: int) -> None:
    value = orjson.loads(hostile.review(pods.plain()))
    value["request"][key] = "a" * (most + 1)
    with pytest.raises(
        MalformedReview,
        match=rf"Expected `str.*` of length <= {most} - at `\$.request.{key}`",
    ):
        answer_review(orjson.dumps(value), PROFILES, WORLD)


def _shapes() -> Iterator[Any]:
    """Yield every list and map of a pod in which everything stands that is read, to be repeated."""
    for name, build in large.shapes(large.rich()):
        repeats = name.endswith(("distinct", "alike", "empty", "keys", "families and sizes"))
        if repeats and not name.startswith(("status", "spec/affinity/")):
            yield pytest.param(build, id=name)


def _work(pod: Object, profile: str) -> int:
    """Count the calls of a decision about *pod*."""
    body, world = hostile.review(pod), hostile.world(profile)

    def decide_or_refuse() -> None:
        with suppress(MalformedReview):
            answer_review(body, PROFILES, world)

    return count_calls(decide_or_refuse)


COUNTED = 3_000
"""Calls by which the signs of a body are counted, from some size on."""


@pytest.mark.parametrize("build", list(_shapes()))
def test_the_work_grows_no_faster_than_the_pod(build: Callable[[int], Object]) -> None:
    """Within the bounds, and far beyond them; the smaller one goes first, and fills what is remembered."""
    some = _work(build(50), "full")
    assert _work(build(150), "full") <= 3 * some + 200
    many = _work(build(6_000), "full")
    assert _work(build(12_000), "full") <= 2 * many + 200 + COUNTED


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("spec/containers distinct", 760),
        ("spec/containers/0/env alike", 40),
        ("spec/containers/0/command alike", 9),
    ],
    ids=["containers that train", "variables", "words"],
)
def test_each_item_is_looked_at_a_few_times_only(name: str, most: int) -> None:
    """Calls in plain Python for each further item: what was found of one is not looked for again."""
    build = dict(large.shapes(large.rich()))[name]
    few, many = 20, 80
    for times in (few, many):  # which fills what is remembered
        _work(build(times), "full")
    assert (_work(build(many), "full") - _work(build(few), "full")) / (many - few) <= most


def test_every_text_that_is_told_is_short() -> None:
    for name, build in large.shapes(large.rich()):
        if not name.endswith(" letters"):
            continue
        verdict = answer_review(hostile.review(build(300_000)), PROFILES, WORLD).verdict
        assert verdict is not None
        assert len(verdict.message) < 20_000, name
        assert all(
            each.outcome is not Outcome.DENIED or len(each.message) < 20_000
            for each in verdict.decisions
        ), name


def test_says_what_is_too_much_of_commands_and_containers() -> None:
    long = {"command": ["a" * 30_000]}
    pod: Object = {"spec": {"containers": [long, long]}}
    assert bounds.excess(pod) == ""
    pod["spec"]["containers"] += [long]
    assert "65536 characters" in bounds.excess(pod)
    few: Object = {"spec": {"containers": [{}], "initContainers": [{}] * CONTAINERS}}
    assert "more than 200 containers" in bounds.excess(few)
