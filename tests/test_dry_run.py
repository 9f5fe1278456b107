"""The dry run judges every pod of an input with admission's own code, and writes what it found in each form."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
import yaml

from tests.pods import FIXTURES
from tests.test_templates_ignored import IGNORED
from tests.test_templates_kinds import SHOWN
from webhook import names
from webhook.dry_run import (
    RENDERERS,
    DryRun,
    PodResult,
    dry_run,
    dry_run_document,
    render_diff,
    render_json,
    render_patch,
    render_pod,
)
from webhook.errors import InputError, Unavailable
from webhook.kube.objects import ObjectsWorld
from webhook.model import Decision, MasterAddress, Namespace, NetworkDefinition, Outcome, Reason
from webhook.profiles import Profiles, parse_profiles
from webhook.review import decide
from webhook.templates import Ignored, parse_documents

PROFILES: Profiles = parse_profiles(
    """
    profiles:
      rdma-shared:
        networks: [{network: default/rdma-net, resource: rdma/hca}]
      other:
        networks: [{network: default/rdma-net, resource: rdma/other}]
    """
)
OBJECTS = [
    {"kind": "Namespace", "metadata": {"name": "research", "labels": {names.PROFILE: "rdma-shared"}}},
    {"kind": "Namespace", "metadata": {"name": "plain"}},
    {
        "kind": "Namespace",
        "metadata": {"name": "watched", "labels": {names.PROFILE: "rdma-shared", names.MODE: "observe"}},
    },
    {
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": "rdma-net", "namespace": "default"},
        "spec": {"config": '{"type": "macvlan", "ipam": {"type": "nv-ipam"}}'},
    },
]
WORLD = ObjectsWorld(OBJECTS)
TORCHX = (FIXTURES / "torchx/volcano-ddp-2x1.yaml").read_text()


def run(text: str = TORCHX, namespace: str | None = "research", profile: str | None = None) -> DryRun:
    return dry_run(text, namespace=namespace, profile=profile, profiles=PROFILES, world=WORLD)


def document(text: str = TORCHX, namespace: str | None = "research", profile: str | None = None) -> Any:
    return dry_run_document(text, namespace=namespace, profile=profile, profiles=PROFILES, world=WORLD)


def test_answers_the_document_of_the_interface() -> None:
    answer = document()
    assert list(answer) == ["pods", "ignored"]
    master, worker = answer["pods"]
    assert list(master) == [
        "source",
        "namespace",
        "name",
        "system",
        "job",
        "rendezvous",
        "profile",
        "allowed",
        "message",
        "decisions",
        "warnings",
        "patch",
        "pod",
    ]
    assert master["source"] == "Job/train-t4rcs9x6sv1m spec.tasks[0].template"
    assert (master["namespace"], master["name"]) == ("research", "train-t4rcs9x6sv1m-train-0-0")
    assert (master["system"], master["profile"], master["allowed"], master["message"]) == (
        "torchx",
        "rdma-shared",
        True,
        "",
    )
    assert (master["rendezvous"], worker["rendezvous"]) == ("master", "worker")
    assert master["job"] == worker["job"] == master["pod"]["metadata"]["labels"][names.JOB]
    assert set(master["decisions"][0]) == {"step", "outcome", "reason", "message"}
    assert {(each["step"], each["outcome"]) for each in master["decisions"]} >= {
        ("networks", "injected"),
        ("devices", "injected"),
    }
    assert answer["ignored"] == []
    assert json.loads(json.dumps(answer)) == answer


def test_gives_patches_that_lead_from_the_template_to_the_pod() -> None:
    for pod in run().pods:
        assert pod.patch
        assert jsonpatch.apply_patch(pod.before, json.loads(json.dumps(pod.patch))) == pod.after


def test_decides_as_admission_does() -> None:
    for pod in run().pods:
        verdict = decide(pod.before, "research", PROFILES, WORLD)
        assert pod.after == verdict.pod
        assert list(pod.patch) == verdict.operations
        assert pod.decisions == verdict.decisions


@pytest.mark.parametrize("text", [json.dumps(yaml.safe_load(TORCHX)), TORCHX], ids=["JSON", "YAML"])
def test_reads_both_forms(text: str) -> None:
    assert document(text) == document()


def test_says_what_holds_no_template() -> None:
    answer = document("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
    assert answer == {"pods": [], "ignored": [{"source": "ConfigMap/x", "message": "holds no pod template"}]}


def test_tells_a_broken_template_from_one_that_is_not_there() -> None:
    assert not run("kind: ConfigMap\nmetadata: {name: x}").is_broken
    broken = run(json.dumps(IGNORED["containers are no list"][0]))
    assert broken.is_broken
    assert broken.pods == ()


def test_refuses_text_that_does_not_parse() -> None:
    with pytest.raises(InputError, match="line 1, column 5"):
        document("a: b: c")


def test_leaves_a_pod_of_an_unlabelled_namespace_alone() -> None:
    [pod] = run(json.dumps(SHOWN["Pod"][0]), namespace="plain").pods
    assert (pod.allowed, pod.patch, pod.profile) == (True, (), "")
    assert [decision.reason for decision in pod.decisions] == [Reason.NO_PROFILE]


def test_uses_the_named_profile_in_place_of_the_labels() -> None:
    [pod, _] = run(profile="other").pods
    assert pod.profile == "other"
    limits = pod.after["spec"]["containers"][0]["resources"]["limits"]
    assert "rdma/other" in limits
    assert "rdma/hca" not in limits


def test_names_the_option_where_it_leaves_the_pod_alone() -> None:
    [pod, _] = run(profile="none").pods
    assert [decision.message for decision in pod.decisions] == ["the dry run's profile is none"]


def test_says_where_to_write_a_profile_when_there_is_none() -> None:
    none = parse_profiles("profiles: {}")
    result = dry_run(TORCHX, namespace="research", profile=None, profiles=none, world=WORLD)
    assert all(pod.message.endswith("the profiles file holds none: write it there") for pod in result.pods)


def test_takes_a_namespace_that_does_not_exist_as_unlabelled_where_a_profile_is_named() -> None:
    [pod, _] = run(namespace="nowhere", profile="rdma-shared").pods
    assert pod.allowed
    assert pod.profile == "rdma-shared"
    assert pod.namespace == "nowhere"


def test_denies_pods_of_a_namespace_that_does_not_exist() -> None:
    [pod, _] = run(namespace="nowhere").pods
    assert not pod.allowed
    assert pod.message == (
        "pod train-t4rcs9x6sv1m-train-0-0: namespace nowhere does not exist; "
        "create it, or name yours: metadata.namespace, or the dry run's namespace"
    )


def test_denies_what_admission_denies() -> None:
    result = run(profile="missing")
    assert not result.is_allowed
    assert {pod.message for pod in result.pods} == {
        "the dry run's profile: no profile is named 'missing'; use one of: other, rdma-shared"
    }
    assert all(decision.outcome is Outcome.DENIED for pod in result.pods for decision in pod.decisions)


def test_tells_of_an_observed_namespace_without_changing_the_pod() -> None:
    [pod, _] = run(namespace="watched").pods
    assert pod.allowed
    assert pod.patch == ()
    assert pod.after == pod.before
    assert any("would be" in warning for warning in pod.warnings)
    text = render_diff(DryRun((pod,), ()))
    assert (
        "nothing is changed or denied, as label fabric-injector.io/mode of the namespace says; this would be:\n" in text
    )
    assert re.search(r"^  networks +injected  ", text, re.MULTILINE)
    assert "warning: " not in text


class _Unknown:
    """A cluster that cannot be asked."""

    def namespace(self, name: str) -> Namespace | None:
        raise Unavailable("no answer")

    fresh_namespace = namespace

    def network(self, namespace: str, name: str) -> NetworkDefinition | None:
        raise Unavailable("no answer")

    def master(self, namespace: str, job: str) -> MasterAddress | None:
        raise Unavailable("no answer")


@pytest.mark.parametrize("profile", [None, "rdma-shared"])
def test_says_when_the_cluster_cannot_be_asked(profile: str | None) -> None:
    with pytest.raises(Unavailable, match="no answer"):
        dry_run(TORCHX, namespace="research", profile=profile, profiles=PROFILES, world=_Unknown())


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("torchx/*.yaml")), ids=lambda path: path.stem)
def test_injects_every_torchx_fixture(path: Path) -> None:
    text = path.read_text().replace(
        "k8s.v1.cni.cncf.io/networks: roce-net", "k8s.v1.cni.cncf.io/networks: default/rdma-net"
    )
    result = run(text, namespace="research", profile="rdma-shared")
    assert result.is_allowed
    for pod in result.pods:
        assert pod.system == "torchx"
        assert pod.patch


@pytest.mark.parametrize(("manifest", "_shown"), SHOWN.values(), ids=SHOWN)
def test_judges_and_writes_every_kind(manifest: Any, _shown: Any) -> None:
    result = run(json.dumps(manifest), profile="rdma-shared")
    assert result.is_allowed
    for _, render in RENDERERS.values():
        assert render(result).endswith("\n")


def test_writes_the_document_as_json() -> None:
    assert json.loads(render_json(run())) == document()


def test_writes_patches_that_kubectl_takes() -> None:
    entries = json.loads(render_patch(run()))
    assert [(entry["source"], entry["name"], entry["allowed"]) for entry in entries] == [
        (pod.source, pod.name, True) for pod in run().pods
    ]
    assert [entry["patch"] for entry in entries] == [list(pod.patch) for pod in run().pods]


def test_says_beside_an_empty_patch_why_the_pod_is_denied() -> None:
    [entry, _] = json.loads(render_patch(run(profile="missing")))
    assert (entry["allowed"], entry["patch"]) == (False, [])
    assert "no profile is named 'missing'" in entry["message"]


def test_writes_pods_as_a_stream_that_reads_back() -> None:
    result = run()
    text = render_pod(result)
    assert list(yaml.safe_load_all(text)) == [pod.after for pod in result.pods]
    assert parse_documents(text) == [pod.after for pod in result.pods]
    assert text.startswith(
        "# Job/train-t4rcs9x6sv1m spec.tasks[0].template: pod research/train-t4rcs9x6sv1m-train-0-0\n"
    )


def test_writes_a_denied_pod_as_a_comment() -> None:
    text = render_pod(run(profile="missing"))
    assert not any(yaml.safe_load_all(text))
    assert "# the dry run's profile: no profile is named 'missing'" in text


def test_writes_a_diff_of_what_is_changed() -> None:
    lines = render_diff(run()).splitlines()
    assert lines[0] == "Job/train-t4rcs9x6sv1m spec.tasks[0].template: pod research/train-t4rcs9x6sv1m-train-0-0"
    assert lines[1].startswith("allowed, profile rdma-shared, torchx, master of train-t4rcs9x6sv1m-")
    assert lines[2] == "--- research/train-t4rcs9x6sv1m-train-0-0 (as submitted)"
    assert "+    k8s.v1.cni.cncf.io/networks: default/rdma-net" in lines
    assert "+        rdma/hca: '1'" in lines
    assert any(line.startswith("  networks ") and " injected " in line for line in lines)
    assert "     image: ghcr.io/pytorch/torchx:0.7.0" in lines
    assert " kind: Pod" not in lines


def test_shortens_the_wait_script_in_a_diff_alone() -> None:
    result = run()
    assert "lines of shell: -o pod shows them" in render_diff(result)
    assert "while lacks" not in render_diff(result)
    assert "while lacks" in render_pod(result)


def test_shows_what_is_changed_in_a_wait_script_that_was_there() -> None:
    pod = run().pods[0].after
    wait = pod["spec"]["initContainers"][0]
    wait["command"] = [word.replace("while lacks", "until there") for word in wait["command"]]
    text = render_diff(run(json.dumps({"apiVersion": "v1", "kind": "Pod", **pod})))
    assert re.search(r"^-.*until there", text, re.MULTILINE)
    assert re.search(r"^\+.*while lacks", text, re.MULTILINE)
    assert "lines of shell" not in text


def test_says_that_nothing_is_changed() -> None:
    text = render_diff(run(json.dumps(SHOWN["Pod"][0]), namespace="plain"))
    assert text.splitlines()[:3] == ["Pod/p: pod plain/p", "allowed", "  nothing is changed"]


def test_compares_no_pods_of_many_thousand_lines() -> None:
    before = {"metadata": {"name": "p"}, "spec": {"containers": [{"args": ["x"] * 20_000}]}}
    after = {**before, "metadata": {"name": "p", "labels": {"a": "b"}}}
    text = render_diff(DryRun((PodResult("Pod/p", "ml", before, after, True),), ()))
    assert "are too many to compare: -o patch @@" in text
    assert len(text) < 1000


def test_tells_a_denial_once() -> None:
    text = render_diff(run(profile="missing"))
    assert text.count("no profile is named 'missing'") == 2
    assert "nothing is changed" not in text


def test_writes_warnings_once_and_what_was_ignored() -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": []}}
    decision = Decision("devices", Outcome.WARNED, Reason.DRA_CLAIM, "a claim")
    result = DryRun(
        (PodResult("Pod/p", "ml", pod, pod, True, decisions=(decision,), warnings=("a claim", "from elsewhere")),),
        (Ignored("ConfigMap/x", "holds no pod template"),),
    )
    assert render_diff(result) == (
        "Pod/p: pod ml/p\nallowed\n  nothing is changed\n  devices  warned    a claim\nwarning: from elsewhere\n\n"
        "ConfigMap/x: holds no pod template\n"
    )


@pytest.mark.parametrize("output", ["diff", "pod", "json", "patch"])
def test_writes_no_control_characters(output: str) -> None:
    pod = {"metadata": {"name": "p\x1b[2J"}, "spec": {"containers": [{"args": ["\x1b]0;x\x07"]}]}}
    changed = {**pod, "spec": {"containers": [{"args": ["\x1b]0;y\x07", "\u202e"]}]}}
    result = DryRun(
        (
            PodResult("Pod/p\x1b[2J", "m\x07l", pod, changed, True, warnings=("a\x1bb",)),
            PodResult("Pod/p\x1b[2J", "m\x07l", pod, pod, False, message="a\nb\x1b"),
        ),
        (Ignored("X/\x1b", "\x1b"),),
    )
    _, render = RENDERERS[output]
    assert "".join(render(result).split("\n")).isprintable() or output in ("json", "patch")
    assert "\x1b" not in render(result)


def test_writes_nothing_for_nothing() -> None:
    empty = DryRun((), ())
    assert json.loads(render_json(empty)) == {"pods": [], "ignored": []}
    assert json.loads(render_patch(empty)) == []
    assert render_diff(empty).strip() == ""
    assert render_pod(empty) == ""
