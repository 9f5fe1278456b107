"""`explain` given answers of an API server that are broken in one place: findings or a plain error, never a traceback."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.diagnose.hostile import (
    HostileConnection,
    cluster_of,
    held,
    small,
    spoil_an_annotation,
    spoil_an_answer,
)
from tests.diagnose.scenes import Scene
from tests.pods import FIXTURES, load
from webhook.cli import explain as command
from webhook.cli import main
from webhook.core import names, podspec
from webhook.core.model import Object

NETWORKS = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions/rdma-net"
PODS = "/api/v1/namespaces/research/pods"


def invoke(connection: HostileConnection, *arguments: str) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "connect_to_cluster", lambda: connection)
        # as on a terminal, where click passes on what begins with an escape
        return CliRunner().invoke(main, ["explain", *arguments], color=True, env={"NO_COLOR": "1"})


def judged(connection: HostileConnection, target: str = "job/bert") -> dict[str, Any]:
    """Explain twice, and hold both answers against what every answer must be."""
    table = invoke(connection, target)
    assert table.exit_code in (0, 1, 2), table.exception
    assert not set("\x1b\r\x07\u202e\x9b") & set(table.output)
    result = invoke(connection, target, "-o", "json")
    assert result.exit_code == table.exit_code
    if result.exit_code == 2:
        assert result.stderr.startswith("Error: ")
        return {}
    document: dict[str, Any] = json.loads(result.stdout)
    assert all(each["subject"] and each["message"] for each in document["findings"])
    return document


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_an_annotation_whose_json_is_broken_in_one_place(data: st.DataObject) -> None:
    made = small("well")
    spoil_an_annotation(made.master, data)
    assert judged(cluster_of(made))["members"]


@cache
def requests() -> list[str]:
    """List the requests that an undisturbed explanation of this job sends."""
    connection = cluster_of(held())
    judged(connection)
    return sorted(set(connection.asked))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_an_answer_that_is_none(data: st.DataObject) -> None:
    connection = cluster_of(held())
    spoil_an_answer(connection, requests(), data)
    judged(connection)


def test_leaves_out_an_object_that_is_no_such_object_and_says_so() -> None:
    made = Scene()
    made.pods["bert-worker-1"]["spec"]["containers"] = {"name": "pytorch"}
    told = {each["subject"]: each["message"] for each in judged(cluster_of(made))["findings"]}
    assert (
        told["pods/bert-worker-1"]
        == "is left out, since it cannot be read: pod.spec.containers: expected a list, found an object"
    )


def no_containers(pod: Object) -> None:
    pod["spec"]["containers"] = []


def another_container(pod: Object) -> None:
    pod["metadata"]["annotations"][names.CONTAINER] = "gone"


def no_quantities(pod: Object) -> None:
    pod["spec"]["containers"][0]["resources"]["limits"] = {
        "memory": "much",
        "rdma/hca": "some",
        "nvidia.com/gpu": "",
    }


@pytest.mark.parametrize("spoil", [no_containers, another_container, no_quantities])
def test_explains_a_pod_that_is_not_as_it_was_admitted(spoil: Callable[[Object], None]) -> None:
    made = Scene(1)
    spoil(made.master)
    document = judged(cluster_of(made))
    assert [each["pod"] for each in document["members"]] == ["bert-master-0", "bert-worker-0"]
    assert not [each for each in document["findings"] if each["level"] == "fail"]


def test_names_what_is_wrong_with_the_one_pod_that_was_asked_for() -> None:
    made = Scene()
    made.master["spec"]["containers"] = ["pytorch"]
    result = invoke(cluster_of(made), "pod/bert-master-0")
    assert result.exit_code == 2
    assert (
        "pods/bert-master-0 answered with an object that cannot be read: pod.spec.containers[0]: expected an object, found a string"
        in result.stderr
    )


def test_a_terminal_gets_nothing_to_obey_from_an_annotation() -> None:
    made = Scene()
    made.master["metadata"]["annotations"][names.MASTER_ADDR] = "\x1b[2J192.168.0.1"
    result = invoke(cluster_of(made), "job/bert")
    assert "\x1b" not in result.output
    assert " [2J192.168.0.1" in result.output


def test_a_terminal_gets_nothing_to_obey_from_a_name_in_an_error() -> None:
    made = Scene(1)
    for number, pod in enumerate(made.pods.values()):
        pod["metadata"]["labels"] = {}
        owner = {
            **podspec.controller(pod),
            "name": "\x1b[2Jbert",
            "uid": f"u-{number}",
            "kind": f"\x1b[31mKind{number}",
        }
        pod["metadata"]["ownerReferences"] = [owner]
    for target, told in (
        ("job/absent", "jobs there:  [2Jbert"),
        ("job/\x1b[2Jbert", "2 jobs are named so"),
    ):
        result = invoke(cluster_of(made), target)
        assert (result.exit_code, told in result.stderr) == (2, True), result.stderr
        assert result.stderr.replace("\n", "").isprintable()


def test_half_a_surrogate_pair_in_an_annotation_is_written_as_json_writes_it() -> None:
    made = Scene()
    made.master["metadata"]["annotations"][names.NETWORK_STATUS] = (
        '[{"name": "a", "interface": "\\ud800"}]'
    )
    result = invoke(cluster_of(made), "job/bert", "-o", "json")
    assert json.loads(result.stdout)["members"][0]["networks"][0]["interface"] == "\ud800"


PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown", None, "Unheard")
STATES: tuple[dict[str, Any], ...] = (
    {},
    {"state": None},
    {
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": 1}},
    },
    {"state": {"running": {}}},
    {"state": {"running": {"startedAt": "9999-12-31T23:59:59Z"}}},
    {"state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}},
)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(sorted(path.name for path in (FIXTURES / "pods").glob("*.yaml"))),
    st.sampled_from(PHASES),
    st.sampled_from(STATES),
    st.sampled_from(["", "node-1", "gone"]),
    st.booleans(),
)
def test_a_pod_of_any_system_in_any_phase(
    file: str, phase: str | None, state: Object, on: str, admitted: bool
) -> None:
    made = Scene(0)
    pod = load(f"pods/{file}")
    pod["metadata"] |= {"namespace": "research", "name": "train-0", "uid": "u"}
    pod["spec"].pop("nodeName", None)
    if admitted:
        pod = made.admitted(pod)
    if on:
        pod["spec"]["nodeName"] = on
    containers = [{"name": pod["spec"]["containers"][0]["name"], **state}]
    init_containers = [{"name": names.WAIT_CONTAINER, **state}]
    pod["status"] = {
        "phase": phase,
        "containerStatuses": containers,
        "initContainerStatuses": init_containers,
    }
    made.pods = {"train-0": pod}
    assert judged(cluster_of(made), "pod/train-0")["members"]
