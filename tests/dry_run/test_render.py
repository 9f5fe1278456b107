"""What a dry run found is written in each form: a diff, pods, patches, JSON."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from tests.dry_run.runs import document, run
from tests.dry_run.templates.test_kinds import SHOWN
from webhook.core import names
from webhook.core.model import Decision, Outcome, Reason
from webhook.dry_run import (
    RENDERERS,
    DryRun,
    PodResult,
    render_diff,
    render_json,
    render_patch,
    render_pod,
)
from webhook.dry_run.templates import Ignored, parse_documents


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
    assert (
        lines[0]
        == "Job/train-t4rcs9x6sv1m spec.tasks[0].template: pod research/train-t4rcs9x6sv1m-train-0-0"
    )
    assert lines[1].startswith(
        "allowed, profile rdma-shared, torchx, master of train-t4rcs9x6sv1m-"
    )
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
    decisions = (Decision("devices", Outcome.WARNED, Reason.DRA_CLAIM, "a claim"),)
    told = ("a claim", "from elsewhere")
    judged = PodResult("Pod/p", "ml", pod, pod, True, decisions=decisions, warnings=told)
    assert render_diff(DryRun((judged,), (Ignored("ConfigMap/x", "holds no pod template"),))) == (
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
    assert json.loads(render_json(empty)) == {"pods": [], "ignored": [], "workloads": []}
    assert json.loads(render_patch(empty)) == []
    assert render_diff(empty).strip() == ""
    assert render_pod(empty) == ""


def test_lists_the_reasons_of_a_pod_that_is_denied_for_several() -> None:
    manifest = yaml.safe_load(json.dumps(SHOWN["Pod"][0]))
    manifest["metadata"]["labels"] = {names.PROFILE: "rdma-shared"}
    manifest["metadata"]["annotations"] = {names.NETWORKS: "typo,other"}
    lines = render_diff(run(json.dumps(manifest))).splitlines()
    assert lines[1] == "denied, for 2 reasons:"
    told = [line.split()[:2] for line in lines[2:4]]
    assert told == [["networks", "denied"]] * 2
    assert all("pod p: annotation" in line for line in lines[2:4])
