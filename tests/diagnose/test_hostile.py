"""`explain` and `status` given an API server whose answers are broken in one place.

Each answer is a table or a plain error, never a traceback.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.diagnose.connection import HostileConnection
from tests.diagnose.hostile import (
    held,
    held_against,
    small,
    spoil_an_annotation,
    spoil_an_answer,
)
from tests.diagnose.scenes import Scene, cluster_of, patched
from tests.pods import FIXTURES, load
from webhook.cli import explain, main, status
from webhook.core import names, podspec
from webhook.core.model import Object

EXPLAIN, EXPLAIN_POD = ("explain", "job/bert"), ("explain", "pod/bert-worker-0")
STATUS = ("status", "-A")
COMMANDS = (EXPLAIN, EXPLAIN_POD, STATUS)


def invoke(connection: HostileConnection, *arguments: str) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        for module in (explain, status):
            patch.setattr(module, "connect_to_cluster", lambda: connection)
        # as on a terminal, where click passes on what begins with an escape
        return CliRunner().invoke(main, arguments, color=True, env={"NO_COLOR": "1"})


def judged(arguments: tuple[str, ...], connection: HostileConnection) -> dict[str, Any]:
    return held_against(lambda *more: invoke(connection, *arguments, *more))


@settings(max_examples=140, deadline=None)
@given(st.data())
def test_an_annotation_whose_json_is_broken_in_one_place(data: st.DataObject) -> None:
    made = small("well")
    spoil_an_annotation(made.master, data)
    assert judged(data.draw(st.sampled_from(COMMANDS)), cluster_of(made))


@cache
def requests(arguments: tuple[str, ...]) -> list[str]:
    """List the requests that an undisturbed command sends for this job."""
    connection = cluster_of(held())
    judged(arguments, connection)
    return sorted(set(connection.asked))


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_an_answer_that_is_none(data: st.DataObject) -> None:
    connection, command = cluster_of(held()), data.draw(st.sampled_from(COMMANDS))
    spoil_an_answer(connection, requests(command), data)
    judged(command, connection)


def test_leaves_out_an_object_that_is_no_such_object_and_says_so() -> None:
    made = Scene()
    made.pods["bert-worker-1"]["spec"]["containers"] = {"name": "pytorch"}
    told = {
        each["subject"]: each["message"] for each in judged(EXPLAIN, cluster_of(made))["findings"]
    }
    why = "pod.spec.containers: expected a list, found an object"
    assert told["pods/bert-worker-1"] == f"is left out, since it cannot be read: {why}"


BEYOND_NUMBERS = {"memory": "much", "rdma/hca": "some", "nvidia.com/gpu": ""}
SPOILT: dict[str, Object] = {
    "no containers": {"spec": {"containers": []}},
    "another container": {"metadata": {"annotations": {names.CONTAINER: "gone"}}},
    "no quantities": {"spec": {"containers": {0: {"resources": {"limits": BEYOND_NUMBERS}}}}},
}


@pytest.mark.parametrize("patch", SPOILT.values(), ids=SPOILT)
def test_explains_a_pod_that_is_not_as_it_was_admitted(patch: Object) -> None:
    made = Scene(1)
    made.master.update(patched(made.master, patch))
    document = judged(EXPLAIN, cluster_of(made))
    assert [each["pod"] for each in document["members"]] == ["bert-master-0", "bert-worker-0"]
    assert not [each for each in document["findings"] if each["level"] == "fail"]


def test_names_what_is_wrong_with_the_one_pod_that_was_asked_for() -> None:
    made = Scene()
    made.master["spec"]["containers"] = ["pytorch"]
    result = invoke(cluster_of(made), "explain", "pod/bert-master-0")
    assert result.exit_code == 2
    wrong = "pod.spec.containers[0]: expected an object, found a string"
    told = f"pods/bert-master-0 answered with an object that cannot be read: {wrong}"
    assert told in result.stderr


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
        result = invoke(cluster_of(made), "explain", target)
        assert (result.exit_code, told in result.stderr) == (2, True), result.stderr
        assert result.stderr.replace("\n", "").isprintable()


def test_half_a_surrogate_pair_makes_an_annotation_unreadable() -> None:
    made = Scene()
    made.master["metadata"]["annotations"][names.NETWORK_STATUS] = (
        '[{"name": "a", "interface": "\\ud800"}]'
    )
    result = invoke(cluster_of(made), "explain", "job/bert", "-o", "json")
    assert json.loads(result.stdout)["members"][0]["networks"] == []


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
    pod["status"] = {
        "phase": phase,
        "containerStatuses": [{"name": pod["spec"]["containers"][0]["name"], **state}],
        "initContainerStatuses": [{"name": names.WAIT_CONTAINER, **state}],
    }
    made.pods = {"train-0": pod}
    assert judged(("explain", "pod/train-0"), cluster_of(made))["members"]


TEXTS = {
    "escape": "\x1b[2J\x1b]0;owned\x07",
    "lines": "\r\nok",
    "bidi": "\u202egnihtyna",
    "c1": "\x9b31m",
    "nul": "\x00",
    "separator": "\u2028",
    "long": "x" * 250_000,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_texts_of_tenants_are_shown_and_obeyed_by_nobody(text: str) -> None:
    made = small("dead-controller")
    told = (names.MASTER_ADDR, names.MASTER_HOST, names.LOCAL_ADDR, names.RENDEZVOUS_NETWORK)
    for number, pod in enumerate(made.pods.values()):
        metadata, labels = pod["metadata"], pod["metadata"]["labels"]
        metadata["labels"] = {key: f"{labels[key]}{text}" for key in labels if key != names.JOB}
        for key in (*told, names.CONTAINER, names.NETWORKS):
            metadata["annotations"][key] = text
        for owner in metadata["ownerReferences"]:
            owner |= {"name": text, "kind": text}
        pod["spec"] |= {"nodeName": text, "schedulerName": text}
        pod["status"]["phase"] = text if number else "Pending"
        for each in pod["status"].get("containerStatuses") or ():
            each["state"] = {"waiting": {"reason": text, "message": text}}
    judged(EXPLAIN, cluster_of(made))
    shown = judged(STATUS, cluster_of(made))
    assert shown["jobs"] or shown["unread"]
    table = invoke(cluster_of(made), *STATUS).stdout
    assert max(map(len, table.splitlines())) < 5_000, (
        "one tenant's text leaves no room for the jobs of others"
    )
