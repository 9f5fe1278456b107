"""What a dry run found is written for programs: pods, patches, JSON."""

import json
from typing import Any

import pytest
import yaml

from tests.dry_run.runs import document, run, shown
from tests.dry_run.templates.test_kinds import SHOWN
from webhook.dry_run import RENDERERS, DryRun, PodResult
from webhook.dry_run.render import render_patch, render_pod
from webhook.dry_run.templates import Ignored, parse_documents


@pytest.mark.parametrize(("manifest", "_shown"), SHOWN.values(), ids=SHOWN)
def test_judges_and_writes_every_kind(manifest: Any, _shown: Any) -> None:
    result = run(json.dumps(manifest), profile="rdma-shared")
    assert all(pod.allowed for pod in result.pods)
    for render in RENDERERS.values():
        assert render(result).endswith("\n")


def test_writes_the_document_as_json() -> None:
    assert json.loads(RENDERERS["json"](run())) == document()


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
    assert [each.value for each in parse_documents(text)] == [pod.after for pod in result.pods]
    source = "# Job/train-t4rcs9x6sv1m spec.tasks[0].template: "
    assert text.startswith(f"{source}pod research/train-t4rcs9x6sv1m-train-0-0\n")


def test_writes_a_denied_pod_as_a_comment() -> None:
    text = render_pod(run(profile="missing"))
    assert not any(yaml.safe_load_all(text))
    assert "# the dry run's profile: no profile is named 'missing'" in text


@pytest.mark.parametrize("output", ["screen", *RENDERERS])
def test_writes_no_control_characters(output: str) -> None:
    pod = {"metadata": {"name": "p\x1b[2J"}, "spec": {"containers": [{"args": ["\x1b]0;x\x07"]}]}}
    changed = {**pod, "spec": {"containers": [{"name": "\x07", "args": ["\x1b]0;y", "\u202e"]}]}}
    result = DryRun(
        (
            PodResult("Pod/p\x1b[2J", "m\x07l", pod, changed, True, warnings=("a\x1bb",)),
            PodResult("Pod/p\x1b[2J", "m\x07l", pod, pod, False, message="a\nb\x1b"),
        ),
        (Ignored("X/\x1b", "\x1b"),),
    )
    is_screen = output == "screen"
    text = shown(result, diff=True, verbose=True) if is_screen else RENDERERS[output](result)
    assert "".join(text.split("\n")).isprintable() or output in ("json", "patch")
    assert "\x1b" not in text


def test_writes_nothing_for_nothing() -> None:
    empty = DryRun((), ())
    assert json.loads(RENDERERS["json"](empty)) == {"pods": [], "ignored": [], "workloads": []}
    assert json.loads(render_patch(empty)) == []
    assert render_pod(empty) == shown(empty) == ""
