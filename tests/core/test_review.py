"""Reviews: the answers to the API server, and what is decided about whole pods: the rows of ``reviews/``.

A row's *pod* is written as in workloads/rows.py; its group's is changed further. *space* are labels
of its namespace, ``profile`` and ``mode`` without our prefix. *profiles* are specs by name, of which
the first is the namespace's; *networks* change NETWORKS, null takes one away. *denied* is reason and
message, *says* lines of decisions that must be there, ``…`` stands for any text, *warns* parts of
all warnings. *env*, *limits*, *labels* and *annotations* are of the resulting pod and its first
container, null where there is none; *has* is a part of the pod, each of *has_text* stands in it
somewhere and none of *lacks*; *waits* is what it waits for.
Rows under ``rows`` share what stands beside them.
"""

import base64
import copy
import json
import re
import subprocess
import sys
from typing import Any

import jsonpatch
import pytest
import yaml

from tests import ROOT, pods
from tests.core.builders import environment
from tests.core.workloads.rows import build
from tests.hostile.broken import deep
from tests.pods import is_within, plain
from tests.profiles import profiles
from tests.tables import grouped
from tests.worlds import PROFILES, namespace, network, world
from webhook.core import names
from webhook.core.errors import MalformedReview, Unavailable
from webhook.core.injection import wait
from webhook.core.model import Namespace, Object, Reason
from webhook.core.profiles import Profiles
from webhook.core.review import Verdict, answer_review, decide
from webhook.world.objects import ObjectsWorld

STEPS = {"profile", "container", "networks", "rendezvous", "nccl-conf", "pod-variables", "devices"}
STEPS |= {"istio", "claims", "host-devices", "environment", "node-selector", "ipc-lock"}
STEPS |= {"shared-memory"}
POD_RESOURCE = {"group": "", "version": "v1", "resource": "pods"}


def judge(
    pod: Object, cluster: ObjectsWorld | None = None, using: Profiles = PROFILES, **options: Any
) -> Verdict:
    """Decide, having checked what holds for every decision: input untouched, patch applies, a second pass changes nothing."""
    cluster = cluster or world()
    before = copy.deepcopy(pod)
    verdict = decide(pod, "train", using, cluster, **options)
    assert pod == before
    operations = json.loads(json.dumps(verdict.operations))
    assert jsonpatch.apply_patch(before, operations) == verdict.pod
    assert {each.step for each in verdict.decisions} <= STEPS
    assert verdict.reason in {"injected", "unchanged", *Reason}
    if verdict.allowed and not verdict.observed:
        again = decide(json.loads(json.dumps(verdict.pod)), "train", using, cluster, **options)
        assert again.operations == []
        assert (again.allowed, again.job, again.role) == (True, verdict.job, verdict.role)
    return verdict


KEYS = {
    *("pod", "space", "profiles", "networks", "is", "denied", "unchanged", "says", "warns"),
    *("has", "has_text", "lacks", "env", "limits", "labels", "annotations", "waits"),
}
NETWORKS: Object = {
    "default/rdma-net": {},
    **{f"rails/rail-{number}": {"resource": f"nvidia.com/rail_{number}"} for number in range(2)},
}


def rows() -> list[Any]:
    found = []
    for _, name, group, row in grouped(__file__, "reviews"):
        changes = [one["pod"] for one in (row, group) if "pod" in one][::-1]
        found.append(pytest.param({**group, **row, "pod": changes}, id=name))
    return found


def cluster_of(row: Object) -> ObjectsWorld:
    spaced = {"profile": next(iter(row.get("profiles", ["shared"]))), **row.get("space", {})}
    space = namespace("train", spaced.pop("profile"))
    for key, value in spaced.items():
        space["metadata"]["labels"][key if "/" in key else f"{names.PREFIX}{key}"] = value
    networks = {**NETWORKS, **row.get("networks", {})}
    return ObjectsWorld(
        [space, *(network(name, **one) for name, one in networks.items() if one is not None)]
    )


def says(line: str, said: str) -> bool:
    """Tell whether a line is as it is said to begin, where … stands for any text."""
    return re.match(".*".join(map(re.escape, said.split("…"))), line) is not None


def looked_up(there: Object, wanted: Object) -> Object:
    return {key: there.get(key) for key in wanted}


@pytest.mark.parametrize("row", rows())
def test_a_review_decides_what_its_row_says(row: Object) -> None:
    assert row.keys() <= KEYS, row.keys() - KEYS
    specs = yaml.safe_dump(row["profiles"]) if "profiles" in row else ""
    pod = build(*row["pod"])
    verdict = judge(pod, cluster_of(row), profiles(specs) if specs else PROFILES)
    if row.get("denied"):
        assert (verdict.allowed, verdict.code, verdict.operations) == (False, 422, [])
        told = f"{verdict.reason}: {verdict.message}"
        assert says(told, row["denied"]), told
        assert verdict.message.count("; give it another name") <= 1
        return
    assert verdict.allowed, verdict.message
    assert verdict.reason == row.get("is", verdict.reason)
    assert (verdict.operations == []) >= row.get("unchanged", False)
    lines = [f"{one.step} {one.outcome} {one.reason}: {one.message}" for one in verdict.decisions]
    for said in row.get("says", ()):
        assert any(says(line, said) for line in lines), lines
    if "warns" in row:
        assert len(verdict.warnings) >= len(row["warns"]) >= bool(verdict.warnings)
        for said in row["warns"]:
            assert any(said in warning for warning in verdict.warnings), verdict.warnings
    after = verdict.pod
    container = after["spec"]["containers"][0] if after["spec"]["containers"] else {}
    there = {
        "env": environment(after) if container else {},
        "limits": container.get("resources", {}).get("limits", {}),
        "labels": after["metadata"].get("labels", {}),
        "annotations": after["metadata"].get("annotations", {}),
    }
    for key, values in there.items():
        assert looked_up(values, row.get(key, {})) == row.get(key, {})
    assert is_within(row.get("has", {}), after), after
    text = json.dumps(after)
    assert [one for one in row.get("has_text", ()) if one not in text] == []
    assert [one for one in row.get("lacks", ()) if one in text] == []
    assert wait.needs(after) == row.get("waits", wait.needs(after))


def review(pod: object, **request: Any) -> bytes:
    fields = {
        "uid": "d15da131-33e5-4793-a38e-1c77b3690cde",
        "resource": POD_RESOURCE,
        "namespace": "train",
        "operation": "CREATE",
        "object": pod,
        "dryRun": False,
        **request,
    }
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": fields}
    ).encode()


def respond(body: bytes, cluster: ObjectsWorld | None = None) -> Object:
    answer = json.loads(answer_review(body, PROFILES, cluster or world()).body)
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: Object = answer["response"]
    assert response["uid"] == "d15da131-33e5-4793-a38e-1c77b3690cde"
    assert ("patch" in response) == ("patchType" in response)
    return response


@pytest.mark.parametrize("name", pods.all_names())
@pytest.mark.parametrize("profile", ["shared", "rails", "everything"])
def test_every_real_pod_is_allowed_and_judged_the_same_twice(name: str, profile: str) -> None:
    verdict = judge(pods.load(name), world(profile=profile))
    assert verdict.allowed
    assert verdict.profile == profile
    assert (verdict.reason == "injected") == (
        profile == "everything" or "mpijob-launcher" not in name
    )


def test_a_complete_pod_is_consistent_in_all_its_parts() -> None:
    verdict = judge(pods.load("pods/volcano-pod-1.yaml"), world(profile="rails"))
    metadata = verdict.pod["metadata"]
    assert metadata["labels"][names.JOB] == verdict.job
    assert metadata["labels"][names.RENDEZVOUS] == verdict.role == "worker"
    assert metadata["annotations"][names.RENDEZVOUS_NETWORK] == "rails/rail-0@net1/any"
    assert metadata["annotations"][names.CONTAINER] == "train-1"
    assert verdict.revision == PROFILES.profiles["rails"].revision
    assert verdict.told[:2] == ["networks:injected", "devices:injected"]
    status = json.loads(metadata["annotations"][names.STATUS])
    given = {"networks", "devices", "ipc-lock", "rendezvous", "environment"}
    assert given <= set(status["injected"])
    assert judge(verdict.pod, world(profile="rails")).reason == "unchanged"
    assert status["skipped"] == {}, "nobody asked for node selectors or a sidecar"


def test_our_keys_and_the_network_status_are_never_trusted() -> None:
    forged = dict.fromkeys((*names.OWN_ANNOTATIONS, *names.FOREIGN_STALE_ANNOTATIONS), "10.6.6.6")
    labels = {names.JOB: "victim-0123456789", names.RENDEZVOUS: "master"}
    pod = pods.load("pods/jobset-1.yaml")
    pod["metadata"]["annotations"].update(forged)
    pod["metadata"]["labels"].update(labels)
    found = judge(pod).pod["metadata"]
    assert found["labels"][names.JOB] != "victim-0123456789"
    assert found["labels"][names.RENDEZVOUS] == "worker"
    for key in (
        names.MASTER_ADDR,
        names.MASTER_HOST,
        names.LOCAL_ADDR,
        names.NETWORK_STATUS,
        names.NETWORKS_STATUS,
    ):
        assert key not in found["annotations"]
    assert "10.6.6.6" not in json.dumps(found)
    alone = plain(dict(labels))
    alone["metadata"]["annotations"] = dict(forged)
    left = judge(alone).pod["metadata"]
    assert left["labels"] == {}
    assert left["annotations"] == {}


def test_the_status_tells_which_steps_found_what_they_would_have_given() -> None:
    pod = pods.load("pods/volcano-pod-1.yaml")
    for name, value in (("NCCL_SOCKET_IFNAME", "=net1"), ("GLOO_SOCKET_IFNAME", "net1")):
        pods.add_env(pod, name, value)
    status = json.loads(
        judge(pod, world(profile="rails")).pod["metadata"]["annotations"][names.STATUS]
    )
    assert status["kept"] == ["shared-memory", "environment"]
    assert "environment" not in status["injected"]


def test_the_status_of_a_pod_with_broken_text_is_written_all_the_same() -> None:
    """Explain judges what an API server sends, and only Python's own JSON reader takes half of a surrogate pair."""
    pod = plain({"kueue.x-k8s.io/pod-group-name": "\ud800"})
    status = judge(pod, world(profile="everything")).pod["metadata"]["annotations"][names.STATUS]
    assert status.isascii()
    assert "group \ud800" in json.loads(status)["skipped"]["rendezvous"]


def test_a_namespace_label_newer_than_the_cache_counts() -> None:
    for objects in ([], [namespace("train", None)]):
        cluster = ObjectsWorld([*objects, network("default/rdma-net")])
        cluster.fresh_namespace = lambda name: Namespace(name, {names.PROFILE: "shared"})
        assert (
            decide(pods.load("pods/volcano-pod-1.yaml"), "train", PROFILES, cluster).reason
            == "injected"
        )


def test_a_pod_that_names_its_profile_costs_no_request_for_its_namespace() -> None:
    def fail(name: str) -> Namespace | None:
        raise Unavailable(f"namespace {name} was asked for")

    cluster = ObjectsWorld([namespace("train", None), network("default/rdma-net")])
    cluster.fresh_namespace = fail
    assert decide(plain({names.PROFILE: "shared"}), "train", PROFILES, cluster).reason == "injected"
    with pytest.raises(Unavailable, match="was asked for"):
        decide(plain(), "train", PROFILES, cluster)


def test_a_profile_that_the_watch_has_not_brought_yet_is_asked_for_again() -> None:
    cluster = world(profile="new")
    cluster.has_profile = lambda name: name == "new"
    with pytest.raises(Unavailable, match="profile new is so new that it was not read yet"):
        decide(pods.load("pods/volcano-pod-1.yaml"), "train", PROFILES, cluster)


def test_an_unknown_namespace_cannot_be_judged() -> None:
    with pytest.raises(Unavailable, match="namespace train"):
        decide(plain(), "train", PROFILES, ObjectsWorld([]))


def test_the_answer_carries_a_patch_that_gives_the_pod() -> None:
    pod = pods.load("pods/volcano-pod-1.yaml")
    response = respond(review(pod))
    assert response["allowed"] is True
    assert response["patchType"] == "JSONPatch"
    patched = jsonpatch.apply_patch(pod, json.loads(base64.b64decode(response["patch"])))
    assert patched == decide(pod, "train", PROFILES, world()).pod


def test_an_unchanged_pod_has_no_patch() -> None:
    assert respond(review(plain())) == {
        "uid": "d15da131-33e5-4793-a38e-1c77b3690cde",
        "allowed": True,
    }


def test_a_denial_carries_code_and_message() -> None:
    response = respond(review(plain({names.PROFILE: "typo"})))
    assert response["allowed"] is False
    assert "patch" not in response
    message = response["status"].pop("message")
    assert response["status"] == {"code": 422, "status": "Failure", "reason": "Invalid"}
    assert message.startswith("pod plain: label")


def test_warnings_hold_no_control_characters() -> None:
    pod = pods.load("pods/volcano-pod-1.yaml")
    pod["spec"]["containers"][0]["securityContext"] = {"runAsUser": 1000}
    pod["spec"]["containers"][0]["name"] = "train\n\x1b[31m"
    warnings = respond(review(pod))["warnings"]
    assert warnings
    assert all(warning.isprintable() for warning in warnings)


@pytest.mark.parametrize(
    "request_of_no_new_pod",
    [
        {"operation": "UPDATE"},
        {"resource": {"group": "apps", "version": "v1", "resource": "deployments"}},
        {"subResource": "eviction"},
    ],
)
def test_what_is_no_new_pod_is_allowed_as_it_is(request_of_no_new_pod: Object) -> None:
    assert respond(review({"anything": 1}, **request_of_no_new_pod)) == {
        "uid": "d15da131-33e5-4793-a38e-1c77b3690cde",
        "allowed": True,
    }


def test_a_generated_name_is_told_with_the_answer() -> None:
    answer = answer_review(review(pods.load("pods/jobset-1.yaml"), dryRun=True), PROFILES, world())
    assert (answer.name, answer.namespace, answer.dry_run) == ("ddp-workers-0-1-", "train", True)
    pod = pods.minimal_pod(metadata={"name": "own"})
    for fields, told in (({}, "own"), ({"name": "asked"}, "asked")):
        answer = answer_review(review(pod, **fields), PROFILES, world())
        assert (answer.name, answer.dry_run) == (told, False)
    body = review(pod, operation="DELETE", name="gone", uid="u-1")
    answer = answer_review(body, PROFILES, world())
    assert (answer.verdict, answer.uid, answer.namespace, answer.name) == (
        None,
        "u-1",
        "train",
        "gone",
    )
    assert answer_review(review(pod, operation="DELETE"), PROFILES, world()).name == ""


def test_an_observed_denial_would_be_allowed() -> None:
    pod = pods.minimal_pod(annotations={names.CONTAINER: "none"}, labels={names.PROFILE: "shared"})
    verdict = decide(pod, "train", PROFILES, world(mode="observe"))
    assert (verdict.allowed, verdict.code, verdict.message) == (True, 200, "")
    assert verdict.observed


MALFORMED: list[tuple[bytes, str]] = [
    (b"", "is not JSON"),
    (b"\xff", "is not JSON"),
    (b'{"a": NaN}', "is not JSON"),
    (b'"\\ud800"', "is not JSON"),
    (b"[" * 100_000, "is not JSON"),
    (b"[]", "expected an AdmissionReview of admission.k8s.io/v1: Expected `object`, got `array`"),
    (b"{}", "admission.k8s.io/v1"),
    (
        b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{}}',
        "admission.k8s.io/v1",
    ),
    (
        b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
        "missing required field `request`",
    ),
    (review({}, uid=5), "request.uid"),
    (review({}, uid=""), "request.uid"),
    (review({}, namespace=None), "request.namespace"),
    *(
        (review({}, **{key: 5}), f"Expected `str | null`, got `int` - at `$.request.{key}`")
        for key in ("name", "operation", "subResource")
    ),
    (review(None), "request.object: expected an object, found nothing"),
    (review({"spec": {"containers": 5}}), "request.object.spec.containers"),
]


@pytest.mark.parametrize(
    ("body", "message"), MALFORMED, ids=[str(index) for index in range(len(MALFORMED))]
)
def test_what_is_no_review_is_refused_by_name(body: bytes, message: str) -> None:
    with pytest.raises(MalformedReview) as refused:
        answer_review(body, PROFILES, world())
    assert message in str(refused.value)


OWN_VARIABLE: list[Object] = [
    {"value": ""},
    {"value": "bert-worker-0"},
    {"value": "localhost"},
    {"value": "$$(MASTER_ADDR)"},
    {"value": "$(MASTER_ADDR)"},
    {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    {},
]


@pytest.mark.parametrize("value", OWN_VARIABLE, ids=str)
@pytest.mark.parametrize(
    "name",
    ["pods/kubeflow-pytorchjob-1.yaml", "pods/kubeflow-pytorchjob-0.yaml", "pods/jobset-1.yaml"],
)
@pytest.mark.parametrize("variable", [names.ENV_MASTER_NAME, "PET_MASTER_ADDR", "MY_MASTER_ADDR"])
def test_a_second_pass_agrees_whatever_the_user_writes_into_variables(
    name: str, variable: str, value: Object
) -> None:
    for place in (0, -1):
        pod = pods.load(name)
        entries = pod["spec"]["containers"][0].setdefault("env", [])
        entries.insert(place % (len(entries) + 1), {"name": variable, **copy.deepcopy(value)})
        judge(pod)


def test_deep_nesting_where_nobody_reads_is_carried_along() -> None:
    pod = pods.load("pods/volcano-pod-1.yaml")
    pod["spec"]["overhead"] = deep(200)
    assert respond(review(pod))["allowed"] is True


def test_the_first_pod_opens_no_file() -> None:
    """An attacker may hold all file descriptors; what is read must be there since the start."""
    program = (
        "import sys\n"
        "from tests import hostile, pods\n"
        "from webhook.core.review import answer_review\n"
        "body = hostile.review(pods.load('pods/kubeflow-pytorchjob-1.yaml'))\n"
        "world, opened = hostile.world('plain'), []\n"
        "sys.addaudithook(lambda event, given: event == 'open' and opened.append(given[0]))\n"
        "print(answer_review(body, hostile.PROFILES, world).verdict.reason, opened)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "injected []\n"


def test_a_plain_pod_whose_annotation_is_no_list_of_networks_stays_as_it_is() -> None:
    pod = plain()
    pod["metadata"]["annotations"] = {names.NETWORKS: "[{"}
    verdict = judge(pod)
    assert verdict.allowed
    assert verdict.operations == []
