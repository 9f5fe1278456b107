"""`make compare` finds what a change does to pods, and nothing where only words change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests import ROOT
from tests.compare.__main__ import Differences, compare, differences

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  completionMode: Indexed
  completions: 2
  parallelism: 2
  template:
    metadata: {annotations: {k8s.v1.cni.cncf.io/networks: %s}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: a/b, command: [torchrun, --nnodes=2, a.py], resources: {limits: {nvidia.com/gpu: 8}}}]
"""


def test_finds_what_differs_and_where(tmp_path: Path) -> None:
    files = []
    for name, text in {
        "allowed.yaml": JOB % "rails",
        "denied.yaml": JOB % "'[{]'",
        "refused.yaml": "a: [",
    }.items():
        (tmp_path / name).write_text(text)
        files.append(str(tmp_path / name))
    commit = tmp_path / "commit"
    for name in ("webhook", "certs", "tests"):
        shutil.copytree(
            ROOT / name,
            commit / name,
            ignore=shutil.ignore_patterns("tools", "*.so", "*pytest*.pyc"),
        )
    for name, line in {
        "core/names": 'SHM_MOUNT_PATH = "/shm"',
        "__init__": '__version__ = "of the status annotation"',
    }.items():
        with (commit / "webhook" / f"{name}.py").open("a") as file:
            file.write(f"\n{line}\n")
    found = compare(commit, files)
    assert [found.sums[key] for key in ("files", "pods", "crashed")] == [3, 4, 0]
    assert found.sums["denied"] > 0
    container = "spec.containers[].volumeMounts"
    assert set(found.profiles) == {f"{container}[/shm]", f"{container}[/dev/shm]"}
    assert found.profiles[f"{container}[/shm]"]["full"] == 2
    assert "everyone" not in found.profiles[f"{container}[/shm]"]
    assert found.examples[f"{container}[/shm]"][0].startswith(
        f"{files[0]} Job/train spec.template train-0-"
    )


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        ({"denied": "no"}, {"denied": "never"}, None),
        ({"denied": "no"}, {"allowed": {}}, "denied → allowed"),
        ({"allowed": {}}, {"crashed": "KeyError()"}, "allowed → crashed"),
        ({"allowed": {"a": 1}}, {"allowed": {"a": 2}}, "a"),
    ],
)
def test_words_are_no_difference(old: object, new: object, cause: str | None) -> None:
    found = Differences()
    lines = [
        {"file": "a", "pods": [{"name": "p", "pod": {}, "replicas": 1, "answers": {"rails": one}}]}
        for one in (old, new)
    ]
    found.compare(*lines)
    assert [*found.profiles] == ([cause] if cause else [])


def test_a_pod_that_one_side_makes_is_a_difference() -> None:
    found = Differences()
    pod = {"name": "p", "pod": {}, "replicas": 1, "answers": {}}
    found.compare({"file": "a", "pods": [pod]}, {"file": "a", "pods": [pod, pod]})
    assert found.examples == {"the manifest makes another pod": ['a p 2: "(absent)" → "a pod"']}


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": True}, ["a"]),
        ({"a": None}, {}, ["a"]),
        (
            {"env": [{"name": "A", "value": "1"}]},
            {"env": [{"name": "A", "value": "2"}]},
            ["env[A].value"],
        ),
        (
            {"env": [{"name": "A"}, {"name": "B"}]},
            {"env": [{"name": "B"}, {"name": "A"}]},
            ["env order"],
        ),
        ({"env": [{"name": "A"}, {"name": "A"}]}, {"env": [{"name": "A"}]}, ["env"]),
        (
            {"containers": [{"name": "main", "image": "a"}]},
            {"containers": [{"name": "main"}]},
            ["containers[].image"],
        ),
    ],
)
def test_names_the_field_that_differs(old: object, new: object, paths: list[str]) -> None:
    assert [path for path, *_ in differences(old, new)] == paths
