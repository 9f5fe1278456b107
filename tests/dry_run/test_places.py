"""The field that a message speaks of is found in the pod, and its line in the manifest that the pod was made from."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.core.model import Object
from webhook.core.yaml_reader import Location
from webhook.dry_run.judge import PodResult
from webhook.dry_run.places import Manifest, find_place

POD: Object = {
    "metadata": {"namespace": "ml", "annotations": {"a/b": "x"}, "labels": {"c/d": "y"}},
    "spec": {
        "containers": [
            {
                "name": "main",
                "env": [{"name": "FIRST"}, {"name": "SECOND"}],
                "resources": {"limits": {"rdma/hca": "1"}, "requests": {"cpu": "1"}},
                "volumeMounts": [
                    {"name": "a", "mountPath": "/a"},
                    {"name": "b", "mountPath": "/b"},
                ],
                "volumeDevices": [{"name": "disk", "devicePath": "/dev/x"}],
                "ports": [{"name": "web"}, {"name": "rdzv"}],
            }
        ],
        "initContainers": [{"name": "wait"}],
        "volumes": [{"name": "a"}, {"name": "shm"}],
        "nodeSelector": {"pool": "fast"},
        "hostNetwork": True,
    },
}
MAIN = ("spec", "containers", 0)


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("annotation a/b: is wrong", ("metadata", "annotations", "a/b")),
        ("label c/d says so", ("metadata", "labels", "c/d")),
        ("the word a/b alone", None),
        ("container main: SECOND is set", (*MAIN, "env", 1)),
        ("container main limits rdma/hca to 1", (*MAIN, "resources", "limits", "rdma/hca")),
        ("container main requests cpu", (*MAIN, "resources", "requests", "cpu")),
        ("container main has a mount at /b", (*MAIN, "volumeMounts", 1, "mountPath")[:-1]),
        ("container main has a device at /dev/x", (*MAIN, "volumeDevices", 0)),
        ("container main: port rdzv is taken", (*MAIN, "ports", 1)),
        ("container main is privileged", MAIN),
        ("container wait: cannot run", ("spec", "initContainers", 0)),
        ("volume shm is too small", ("spec", "volumes", 1)),
        ("spec.nodeSelector[pool] is another", ("spec", "nodeSelector", "pool")),
        ("spec.nodeSelector[zone] is another", ("spec", "nodeSelector")),
        ("spec.hostNetwork is true", ("spec", "hostNetwork")),
        ("spec.tolerations is absent", None),
        ("namespace ml does not exist", ("metadata", "namespace")),
        ("namespace ml is there", None),
        ("says nothing of the pod", None),
    ],
)
def test_finds_what_a_message_speaks_of(message: str, place: Location | None) -> None:
    assert find_place(POD, message) == place


@pytest.mark.parametrize("pod", [{}, {"spec": None}, {"spec": {"containers": None}}])
def test_finds_nothing_in_a_pod_without_it(pod: Any) -> None:
    assert (
        find_place(pod, "container main: spec.nodeSelector of the namespace does not exist") is None
    )


JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: a
spec:
  parts:
  - template:
      spec:
        containers:
        - name: main
          image: i
        - image: j
  - 3
"""
FIRST, SECOND = ({"name": "main", "image": "i"}, {"name": "", "image": "j"})


def line(source: str, *location: str | int, text: str = JOB, namespace: str = "ml") -> int:
    before: Object = {
        "metadata": {"name": "a-1", "namespace": "ml"},
        "spec": {"containers": [FIRST, SECOND], "priority": 1},
    }
    pod = PodResult(f"Job/a{source}", namespace, before, before, True, workload="Job/a")
    return Manifest(text).line(pod, location or None)


@pytest.mark.parametrize(
    ("source", "location", "found"),
    [
        (" spec.parts[0].template", ("spec", "containers", 0, "image"), 11),
        (" spec.parts[0].template", ("spec", "containers", 0), 10),
        # a container without a name is not found again
        (" spec.parts[0].template", ("spec", "containers", 1), 9),
        (" spec.parts[0].template", ("spec", "priority"), 8),
        (" spec.parts[0].template", (), 7),
        (" spec.parts[0]", (), 7),
        (" spec.parts[1]", (), 13),
        (" spec.parts[2]", (), 0),
        (" spec.parts[x]", (), 0),
        (" spec.parts[1].template", (), 0),
        (" spec.nothing", (), 0),
        ("", ("spec", "containers", 0), 5),
        ("", (), 1),
        (" spec.parts[0].template", ("metadata", "namespace"), 3),
    ],
)
def test_finds_the_line_of_the_manifest(source: str, location: Location, found: int) -> None:
    assert line(source, *location) == found


def test_finds_no_line_in_another_manifest() -> None:
    assert line("", text="kind: Job\nmetadata: {name: b}\n") == 0
    assert line("", text="kind: Job\nmetadata: {name: a, namespace: other}\n") == 0
    assert line("", text="kind: 3\nmetadata: a\n---\n- 1\n") == 0


def test_finds_the_last_of_a_key_that_is_written_twice() -> None:
    text = JOB.replace("          image: i\n", "          image: h\n          image: i\n")
    assert line(" spec.parts[0].template", "spec", "containers", 0, "image", text=text) == 12
