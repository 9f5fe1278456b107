"""Pods: which of their containers run beside one another, and what a variable holds."""

import pytest

from tests.pods import minimal_container, minimal_pod
from webhook.core.model import Object
from webhook.core.podspec import (
    display_name,
    env,
    env_value,
    is_windows,
    limits,
    normalized_mount_path,
    running_containers,
)


def test_sidecars_run_beside_the_containers() -> None:
    early = [minimal_container("prepare"), minimal_container("mesh", restartPolicy="Always")]
    pod = minimal_pod(minimal_container("a"), minimal_container("b"), initContainers=early)
    assert [each["name"] for each in running_containers(pod)] == ["a", "b", "mesh"]


@pytest.mark.parametrize(
    ("entries", "value"),
    [
        ([], None),
        ([{"name": "B", "value": "1"}], None),
        ([{"name": "A"}], ""),
        ([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}], "2"),
        (
            [
                {"name": "A", "value": "1"},
                {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            ],
            None,
        ),
    ],
)
def test_the_last_entry_of_a_variable_counts(entries: list[Object], value: str | None) -> None:
    assert env_value({"env": entries}, "A") == value


def test_reads_what_is_there_and_takes_the_rest_as_empty() -> None:
    container = {
        "env": [{"name": "A"}],
        "resources": {"limits": {"a.b/c": 1}},
    }
    pod = minimal_pod(container, os={"name": "windows"})
    assert (env(container), env({})) == ([{"name": "A"}], [])
    assert (limits(container), limits({"resources": None})) == ({"a.b/c": 1}, {})
    assert (is_windows(pod), is_windows(minimal_pod())) == (True, False)
    assert display_name({"metadata": {"generateName": "a-"}}) == "a-*"


@pytest.mark.parametrize(
    ("written", "seen"),
    [("/a.b", "/a.b"), ("//X/.", "/X"), ("/a/./b/", "/a/b"), ("X/a", "/X/a")],
)
def test_a_mount_path_is_taken_as_the_kubelet_does(written: str, seen: str) -> None:
    assert normalized_mount_path(written) == seen
