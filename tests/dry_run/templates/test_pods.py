"""Completed templates equal the pods that each system really sends: completed.yaml."""

import json

import pytest

from tests.dry_run.templates.cases import facts, lacking, rows, whole
from tests.pods import FIXTURES, load
from webhook.core.model import Object
from webhook.core.workloads import TrainingPod, recognise
from webhook.core.workloads.training_pod import Rendezvous
from webhook.core.yaml_reader import Document
from webhook.dry_run.templates import Template, find_templates, parse_documents

_LIVE = "live/torchx-volcano/{}-train-fgwp3pq7vkl4vc{}.review.json"
CASES: dict[str, tuple[Object, list[str]]] = {
    **{
        title: (row["manifest"], row["fixtures"])
        for title, row in rows("completed", "fixtures").items()
    },
    "TorchX job of a real Volcano": (
        json.loads((FIXTURES / _LIVE.format("jobs", "")).read_text())["request"]["object"],
        [_LIVE.format("pods", f"-train-{number}-0") for number in (0, 1)],
    ),
}
each_case = pytest.mark.parametrize(("manifest", "fixtures"), CASES.values(), ids=CASES)


def completed(manifest: Object) -> list[Template]:
    return whole(find_templates(parse_documents(json.dumps(manifest))))


def rendezvous(pod: Object) -> Rendezvous:
    member = recognise(pod)
    assert isinstance(member, TrainingPod)
    assert member.rendezvous is not None
    return member.rendezvous


@each_case
def test_makes_the_pods_that_a_controller_sends(manifest: Object, fixtures: list[str]) -> None:
    """What nothing reads of them is left out."""
    made, sent = completed(manifest), [load(name) for name in fixtures]
    assert lacking([facts(found.pod) for found in made], list(map(facts, sent))) == []


@each_case
def test_makes_pods_that_are_recognised_as_the_real_ones_are(
    manifest: Object, fixtures: list[str]
) -> None:
    for found, name in zip(completed(manifest), fixtures, strict=True):
        expected, member = recognise(load(name)), recognise(found.pod)
        assert isinstance(expected, TrainingPod)
        assert isinstance(member, TrainingPod)
        for attribute in ("system", "container", "reason"):
            assert getattr(member, attribute) == getattr(expected, attribute)
        for attribute in ("role", "rank_zero", "hosts", "by_operator", "is_certain"):
            assert getattr(rendezvous(found.pod), attribute) == getattr(
                rendezvous(load(name)), attribute
            )


@each_case
def test_gives_all_shown_pods_of_a_job_one_key(manifest: Object, fixtures: list[str]) -> None:
    found = [rendezvous(each.pod) for each in completed(manifest)]
    assert len({each.job for each in found}) == 1
    assert [each.role for each in found] == ["master", "worker"]


_DDP = ["train-t4rcs9x6sv1m-train-0-0", "train-t4rcs9x6sv1m-train-1-0"]
_ROLES = [f"rl-job-t4rcs9x6sv1m-{role}-{n}-0" for role in ("trainer", "reader") for n in (0, 1)]
_MCAD = ["train-ngq0cd6wfpxcvj-0", "train-ngq0cd6wfpxcvj-1"]
TORCHX = {
    "volcano-ddp-2x1": _DDP,
    "volcano-ddp-4x8": _DDP,
    "volcano-two-role": _ROLES,
    "mcad-ddp-2x1": _MCAD,
    "mcad-ddp-4x8": _MCAD,
    "mcad-network": _MCAD,
    "mcad-two-role": ["rl-job-ngq0cd6wfpxcvj-0", "rl-job-ngq0cd6wfpxcvj-1"] * 2,
    "nightly-volcano-ddp-2x1": _DDP,
    "nightly-volcano-ddp-4x8": _DDP,
    "nightly-volcano-elastic": _DDP,
    "nightly-volcano-static": _DDP,
    "nightly-volcano-two-role": _ROLES,
}


@pytest.mark.parametrize(("name", "pods"), TORCHX.items(), ids=TORCHX)
def test_shows_the_first_two_replicas_of_each_torchx_role(name: str, pods: list[str]) -> None:
    text = (FIXTURES / f"torchx/{name}.yaml").read_text()
    found = find_templates(parse_documents(text)).pods
    assert [each.pod["metadata"]["name"] for each in found] == pods
    assert {recognise(each.pod).system for each in found[:2]} == {"torchx"}
    assert [rendezvous(each.pod).role for each in found[:2]] == ["master", "worker"]


def test_covers_every_torchx_fixture() -> None:
    assert {path.stem for path in FIXTURES.glob("torchx/*.yaml")} == set(TORCHX)


def test_completes_a_torchx_task_as_volcano_does() -> None:
    text = (FIXTURES / "torchx/volcano-ddp-2x1.yaml").read_text()
    first, _ = find_templates(parse_documents(text)).pods
    expected = load("pods/volcano-pod-0.yaml")
    assert first.source == "Job/train-t4rcs9x6sv1m spec.tasks[0].template"
    for key in ("labels", "annotations"):
        assert lacking(facts(first.pod)[key], facts(expected)[key]) == []
    hosts = ["VC_TRAIN_0_HOSTS", "VC_TRAIN_1_HOSTS"]
    assert [entry["name"] for entry in first.pod["spec"]["containers"][0]["env"][-2:]] == hosts


def test_leaves_the_input_as_it_is() -> None:
    documents = [json.loads(json.dumps(manifest)) for manifest, _ in CASES.values()]
    before = json.dumps(documents)
    find_templates(map(Document, documents))
    assert json.dumps(documents) == before
