"""Pods: which of their containers run beside one another, and what a variable holds."""

import pytest

from tests.pods import minimal_container, minimal_pod
from webhook.core.model import Object
from webhook.core.podspec import env_value, running_containers


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
