"""The structure check: what the API server sends passes, what cannot be a pod is refused by name."""

import ast
import importlib
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec.structs import fields

import webhook.core
from tests import pods
from tests.tables import read
from webhook.core import pod_check, pod_types
from webhook.core.errors import MalformedReview
from webhook.core.pod_check import check_pod

TABLES = read(__file__, "pod_check.yaml")


def at(path: str, value: Any) -> Any:
    """Return a pod that holds nothing but a value at a path like ``spec.volumes[0].name``."""
    for index, key, name in reversed(re.findall(r"\[(\d+)\]|\['(.+?)'\]|(\w+)", path)):
        value = [*[{}] * int(index), value] if index else {key or name: value}
    return value


def told_of(path: str) -> str:
    """Return a path as it is told: the key of a map is not."""
    return re.sub(r"\['.+?'\]", "[...]", f"pod.{path}".removesuffix("."))


REFUSED: list[tuple[Any, str]] = [
    *(
        (at(path, one), f"{told_of(path)}: expected {told}")
        for path, one, told in TABLES["refused"]
    ),
    *((at(path, one), told_of(path) + told) for path, one, told in TABLES["refused_within"]),
    ({"spec": {"hostname": ("no", "JSON")}}, "pod.spec.hostname: expected a string"),
    ({"spec": {"nodeSelector": {1: "a"}}}, "pod.spec.nodeSelector: expected a string"),
    (
        at("spec.containers[0].resources.limits.cpu", 10**4300),
        "limits[...]: expected an integer <= 922",
    ),
    ({"metadata": {"labels": {"a" * 3_000_000: 1}}}, "pod.metadata.labels[...]: expected a string"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=[row[1][:60] for row in REFUSED])
def test_names_the_field_of_a_wrong_type(value: Any, message: str) -> None:
    with pytest.raises(MalformedReview) as refused:
        check_pod(value)
    assert message in str(refused.value)


@pytest.mark.parametrize("name", pods.all_names())
def test_passes_every_real_pod(name: str) -> None:
    found = pods.load(name)
    assert check_pod(found) is found


@pytest.mark.parametrize("value", TABLES["passes"], ids=str)
def test_passes_what_a_pod_may_hold(value: dict[str, Any]) -> None:
    assert check_pod(value) == value


LISTED = {one.encode_name: one.type for one in fields(pod_types.Container)}
PARTS: dict[str, Any] = {
    "Container": pod_types.Container,
    "Metadata": pod_types.Metadata,
    "Spec": pod_types.Spec,
}
PARTS |= {key: get_args(get_args(LISTED[key])[0])[0] for key in TABLES["fields"].keys() - PARTS}
"""The type of each part; of a list of a container, that of its items."""
CHECKED_FOLDERS = ("core", "injection", "networks", "workloads")


@pytest.mark.parametrize("part", TABLES["fields"])
def test_every_field_that_the_core_names_is_checked(part: str) -> None:
    there = set(TABLES["fields"][part].split())
    checked = {one.encode_name for one in fields(PARTS[part])}
    others = there - checked - set(TABLES["named_for_another_reason"].get(part, "").split())
    assert checked <= there
    core = Path(webhook.core.__file__).parent
    files = [path for path in core.rglob("*.py") if path.parent.name in CHECKED_FOLDERS]
    named = {
        node.value
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert sorted(others & named) == []


def test_its_types_are_made_as_the_module_is_imported() -> None:
    module = importlib.reload(pod_check)
    many = [{"name": "c", "env": [{"name": "A"}]}] * (pod_types.CONTAINERS + 1)
    assert module.check_pod({"spec": {"containers": many}})
    with pytest.raises(MalformedReview, match="env: expected a list, found a string"):
        module.check_pod({"spec": {"containers": [*many, {"env": "x"}]}})
