"""The dry run judges every pod of an input with admission's own code."""

import json

import jsonpatch
import pytest
import yaml

from tests.dry_run.runs import PROFILES, TORCHX, WORLD, document, run
from tests.dry_run.templates.test_kinds import IGNORED, SHOWN
from tests.pods import FIXTURES
from tests.profiles import profiles
from webhook.core import names
from webhook.core.errors import Unavailable
from webhook.core.model import Namespace, NetworkDefinition
from webhook.core.review import decide
from webhook.dry_run import dry_run


def test_answers_the_document_of_the_interface() -> None:
    answer = document()
    assert list(answer) == ["pods", "ignored", "workloads"]
    master, worker = answer["pods"]
    keys = (
        "source namespace name replicas system job rendezvous profile allowed message decisions "
        "warnings patch pod"
    )
    assert list(master) == keys.split()
    assert master["source"] == "Job/train-t4rcs9x6sv1m spec.tasks[0].template"
    assert (master["namespace"], master["name"]) == ("research", "train-t4rcs9x6sv1m-train-0-0")
    judged = [master[key] for key in ("system", "profile", "allowed", "message")]
    assert judged == ["torchx", "rdma-shared", True, ""]
    assert (master["rendezvous"], worker["rendezvous"]) == ("master", "worker")
    assert master["job"] == worker["job"] == master["pod"]["metadata"]["labels"][names.JOB]
    assert set(master["decisions"][0]) == {"step", "outcome", "reason", "message"}
    outcomes = {each["step"]: each["outcome"] for each in master["decisions"]}
    assert (outcomes["networks"], outcomes["devices"]) == ("injected", "injected")
    assert answer["ignored"] == []
    assert json.loads(json.dumps(answer)) == answer


def test_gives_patches_that_lead_from_the_template_to_the_pod() -> None:
    for pod in run().pods:
        assert pod.patch
        assert jsonpatch.apply_patch(pod.before, json.loads(json.dumps(pod.patch))) == pod.after


def test_a_pod_may_hold_what_its_kind_has_no_use_for() -> None:
    """An init container without a name, which the API server refuses, and a number of replicas."""
    manifest = yaml.safe_load((FIXTURES / "pods/kubeflow-pytorchjob-1.yaml").read_text())
    del manifest["metadata"]["namespace"]
    manifest["spec"] |= {"initContainers": [{"image": "i"}], "replicas": 0}
    assert [pod.decision for pod in run(json.dumps(manifest)).pods] == ["injected"]


def test_decides_as_admission_does() -> None:
    for pod in run().pods:
        verdict = decide(pod.before, "research", PROFILES, WORLD)
        assert pod.after == verdict.pod
        assert list(pod.patch) == verdict.operations
        assert pod.decisions == verdict.decisions


def test_tells_a_broken_template_from_one_that_is_not_there() -> None:
    [absent] = run("kind: ConfigMap\nmetadata: {name: x}").ignored
    broken = run(json.dumps(IGNORED["containers are no list"]["manifest"]))
    assert (absent.broken, [each.broken for each in broken.ignored]) == (False, [True])
    assert broken.pods == ()


def test_uses_the_named_profile_in_place_of_the_labels() -> None:
    [pod, _] = run(profile="other").pods
    assert pod.profile == "other"
    limits = pod.after["spec"]["containers"][0]["resources"]["limits"]
    assert "rdma/other" in limits
    assert "rdma/hca" not in limits


def test_says_where_to_write_a_profile_when_there_is_none() -> None:
    none = profiles("{}")
    result = dry_run(TORCHX, namespace="research", profile=None, profiles=none, world=WORLD)
    told = "there is no profile for this namespace yet: write it"
    assert [pod.message.endswith(told) for pod in result.pods] == [True, True]


class _Unknown:
    """A cluster that cannot be asked."""

    def namespace(self, name: str) -> Namespace | None:
        raise Unavailable("no answer")

    fresh_namespace = namespace

    def network(self, namespace: str, name: str) -> NetworkDefinition | None:
        raise Unavailable("no answer")

    def has_profile(self, name: str) -> bool:
        raise Unavailable("no answer")


@pytest.mark.parametrize("profile", [None, "rdma-shared"])
def test_says_when_the_cluster_cannot_be_asked(profile: str | None) -> None:
    with pytest.raises(Unavailable, match="no answer"):
        dry_run(TORCHX, namespace="research", profile=profile, profiles=PROFILES, world=_Unknown())


@pytest.mark.parametrize(
    ("namespace", "profile", "is_told"),
    [("plain", None, True), ("research", None, False), ("plain", "rdma-shared", False)],
    ids=["unlabelled", "labelled", "any namespace"],
)
def test_tells_that_the_webhook_may_never_see_the_pod(
    namespace: str, profile: str | None, is_told: bool
) -> None:
    labels = {names.PROFILE: "rdma-shared"}
    pod = {**SHOWN["Pod"][0], "metadata": {"name": "p", "labels": labels}}
    [found] = run(json.dumps(pod), namespace, profile).pods
    assert found.profile == "rdma-shared"
    seldom = "the webhook gets this pod only if component pod-opt-in"
    assert any(seldom in warning for warning in found.warnings) is is_told


def test_a_profile_that_is_named_on_the_workload_is_told_with_its_pods() -> None:
    made = yaml.safe_load(TORCHX)
    made["metadata"].setdefault("labels", {})[names.PROFILE] = "none"
    told = f"label {names.PROFILE} of the Job itself counts for nothing"
    assert [pod.warnings[0].startswith(told) for pod in run(json.dumps(made)).pods] == [True, True]
