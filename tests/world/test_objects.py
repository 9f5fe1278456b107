"""Objects in files that stand for a cluster."""

import json
from pathlib import Path

import pytest

from tests.tables import cases, table
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


def test_reads_json_as_kubectl_prints_it(tmp_path: Path) -> None:
    objects = load_objects([_write(tmp_path / "stream.yaml", STREAM)])
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, indent="\t")
    assert load_objects([_write(tmp_path / "list.json", text)]) == objects
    assert len(objects) == 5


def _write(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


def test_reads_scalars_as_kubernetes_tools_do(tmp_path: Path) -> None:
    labels = "{istio.io/rev: 12:30, istio-injection: 2026-11-21}"
    text = f"{{kind: Namespace, metadata: {{name: ml, labels: {labels}}}}}"
    assert world(tmp_path, text).namespace("ml") == Namespace(
        "ml", {"istio.io/rev": "12:30", "istio-injection": "2026-11-21"}
    )


WRONG = """
scalar    | 7 | line 1: expected an object with a kind, found a number; correct or remove it
list      | [a] | line 1: expected an object with a kind, found a list; correct or remove it
no kind   | metadata: {name: x} | line 1: expected an object with a kind, found an object without
in a List | {kind: List, items: [7]} | line 1, items[0]: expected an object with a kind, found a
bare      | kind: Namespace | line 1: Namespace: metadata is missing; correct it
metadata  | {kind: Namespace, metadata: x} | line 1: Namespace: metadata is not an object;
number    | {kind: Namespace, metadata: {name: ml, labels: {a: 1}}} | line 1: Namespace ml: metadata
null      | {kind: Namespace, metadata: {name: ml, labels: {a: }}} | line 1: Namespace ml: metadata.
labels    | {kind: Namespace, metadata: {name: ml, labels: [a]}} | line 1: Namespace ml: metadata.
"""


@pytest.mark.parametrize(("text", "message"), cases(WRONG))
def test_names_the_place_that_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    file = _write(tmp_path / "objects.yaml", text)
    with pytest.raises(InputError) as failure:
        load_objects([file])
    assert str(failure.value).startswith(f"{file}, {message}")


@table(
    "text, message",
    {
        "no YAML": ("a: b\n c: d\n", ": line 2, column 3: not valid YAML: "),
        "an object in place of text": (
            "kind: NetworkAttachmentDefinition\nmetadata: {name: n}\nspec: {config: {}}",
            ", line 1: NetworkAttachmentDefinition n: spec.config is not a string; put it in",
        ),
    },
)
def test_says_what_to_do(tmp_path: Path, text: str, message: str) -> None:
    file = _write(tmp_path / "objects.yaml", text)
    with pytest.raises(InputError) as failure:
        load_objects([file])
    assert str(failure.value).startswith(f"{file}{message}")


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
