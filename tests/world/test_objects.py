"""Objects in files that stand for a cluster."""

import json
from pathlib import Path

import pytest

from webhook.core import names
from webhook.core.errors import InputError
from webhook.core.model import Namespace
from webhook.world.objects import ObjectsWorld, load_objects
from webhook.world.view import read_namespace

STREAM = """\
# what a platform team keeps beside its profiles
apiVersion: v1
kind: Namespace
metadata: {name: ml, labels: {fabric-injector.io/profile: hostdev}, creationTimestamp: null}
---
---
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata:
  name: rail-0
  namespace: ml
  annotations: {k8s.v1.cni.cncf.io/resourceName: nvidia.com/rail0}
spec:
  config: '{"type": "host-device", "ipam": {"type": "whereabouts", "range": "192.168.1.0/24"}}'
---
apiVersion: v1
kind: List
items:
- {apiVersion: k8s.cni.cncf.io/v1, kind: NetworkAttachmentDefinition, metadata: {name: plain}}
- apiVersion: v1
  kind: NamespaceList
  items:
  - metadata: {name: other}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: unknown}, data: {at: 2026-01-01T00:00:00Z}}
"""


def world(folder: Path, *texts: str) -> ObjectsWorld:
    files = []
    for number, text in enumerate(texts):
        files.append(folder / f"{number}.yaml")
        files[-1].write_text(text)
    return ObjectsWorld(load_objects(files))


def test_knows_what_the_files_hold(tmp_path: Path) -> None:
    known = world(tmp_path, STREAM)
    assert (
        known.namespace("ml")
        == known.fresh_namespace("ml")
        == Namespace("ml", {names.PROFILE: "hostdev"})
    )
    assert known.namespace("other") == Namespace("other")
    rail = known.network("ml", "rail-0")
    assert rail
    assert (rail.resources, rail.has_ipam) == (("nvidia.com/rail0",), True)
    plain = known.network("default", "plain")
    assert plain
    assert (plain.namespace, plain.has_ipam) == ("default", False)
    assert known.checks() == {}


def test_knows_nothing_else(tmp_path: Path) -> None:
    known = world(tmp_path, STREAM)
    assert known.namespace("default") is None
    assert known.fresh_namespace("default") is None
    assert known.network("ml", "plain") is None


def test_reads_json_as_kubectl_prints_it(tmp_path: Path) -> None:
    objects = load_objects([_write(tmp_path / "stream.yaml", STREAM)])
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, indent="\t")
    assert load_objects([_write(tmp_path / "list.json", text)]) == objects
    assert len(objects) == 5


def _write(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


def test_reads_scalars_as_kubernetes_tools_do(tmp_path: Path) -> None:
    text = "{kind: Namespace, metadata: {name: ml, labels: {istio.io/rev: 12:30, istio-injection: 2026-11-21}}}"
    assert world(tmp_path, text).namespace("ml") == Namespace(
        "ml", {"istio.io/rev": "12:30", "istio-injection": "2026-11-21"}
    )


def test_lets_the_last_object_of_a_name_count(tmp_path: Path) -> None:
    text = "{kind: Namespace, metadata: {name: ml, labels: {istio.io/rev: '%s'}}}"
    assert world(tmp_path, text % 1, text % 2).namespace("ml") == Namespace(
        "ml", {"istio.io/rev": "2"}
    )


@pytest.mark.parametrize("text", ["", "---\n---\n", "# nothing\n", "{}\n"[:0]], ids=repr)
def test_takes_an_empty_file(tmp_path: Path, text: str) -> None:
    assert load_objects([_write(tmp_path / "empty.yaml", text)]) == []


NAMED = "kind: Namespace\nmetadata:\n  name: ml\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b\n c: d\n", "line 2, column 3: not valid YAML: "),
        ("kind: [\n", "line 2, column 1: not valid YAML: "),
        (NAMED + "---\n\tx: 1", "line 5, column 1: not valid YAML: "),
        ("kind: &a\nx: *b", "line 2, column 4: the alias *b has no anchor before it"),
        ("kind: Na\x00mespace", "line 1, column 9: the character U+0000 is not allowed; remove it"),
        ('{"kind": "Namespace",', "line 2, column 1: not valid YAML: "),
        (
            NAMED + "  name: other",
            "line 4, column 3: metadata.name: is written twice, first in line 3; keep one",
        ),
        (
            '{"kind": "List",\n"kind": "List"}',
            "line 2, column 1: kind: is written twice, first in line 1; keep one",
        ),
        ("7\n", "line 1: expected an object with a kind, found a number; correct or remove it"),
        (
            NAMED + "---\n- a\n",
            "line 5: expected an object with a kind, found a list; correct or remove it",
        ),
        (
            "metadata: {name: x}",
            "line 1: expected an object with a kind, found an object without one; correct or remove it",
        ),
        (
            "kind: List\nitems: [7]",
            "line 1, items[0]: expected an object with a kind, found a number; correct or remove it",
        ),
        (
            "kind: Namespace",
            "line 1: Namespace: metadata is missing; correct it",
        ),
        (
            "kind: Namespace\nmetadata: x",
            "line 1: Namespace: metadata is not an object; correct it",
        ),
        (
            NAMED + "  labels: {a: 1}",
            "line 1: Namespace ml: metadata.labels[...] is not a string; put it in quotes",
        ),
        (
            NAMED + "  labels: {a: null}",
            "line 1: Namespace ml: metadata.labels[...] is not a string; put it in quotes",
        ),
        (
            NAMED + "  labels: [a]",
            "line 1: Namespace ml: metadata.labels is not an object; correct it",
        ),
        (
            "kind: NetworkAttachmentDefinition\nmetadata: {name: n}\nspec: {config: {}}",
            "line 1: NetworkAttachmentDefinition n: spec.config is not a string; put it in quotes",
        ),
    ],
)
def test_names_the_place_that_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    file = _write(tmp_path / "objects.yaml", text)
    with pytest.raises(InputError) as failure:
        load_objects([file])
    comma = ": " if ", column" in message else ", "
    assert str(failure.value).startswith(f"{file}{comma}{message}")


def test_names_the_place_of_bytes_that_are_no_text(tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    file.write_bytes(b"kind: x\n# \xfc\n")
    with pytest.raises(
        InputError,
        match=r"line 2, column 3: the byte 0xfc is not UTF-8; save the file in that encoding$",
    ):
        load_objects([file])


def test_names_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"none\.yaml: cannot be read \(No such file or directory\)"
    ):
        load_objects([tmp_path / "none.yaml"])


def test_keeps_name_and_the_labels_of_a_namespace_that_are_read() -> None:
    read = {
        "fabric-injector.io/profile": "shared",
        "fabric-injector.io/mode": "observe",
        "pod-security.kubernetes.io/enforce": "baseline",
        "istio-injection": "enabled",
        "istio.io/rev": "stable",
    }
    labels = {"a": "b", **read, **{f"k{number}": "" for number in range(1000)}}
    metadata = {"name": "ml", "labels": labels, "annotations": {"x": "y"}, "managedFields": [{}]}
    assert read_namespace({"metadata": metadata}) == Namespace("ml", read, {})
    assert read_namespace({"metadata": {"name": "ml", "labels": None}}) == Namespace("ml", {}, {})
