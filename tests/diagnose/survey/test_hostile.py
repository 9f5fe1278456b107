"""`survey` given answers of an API server that are broken in one place: a survey or a plain error, never a traceback."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.diagnose.hostile import JUNK, HostileConnection, broken, places, spoil_an_answer
from tests.diagnose.survey.clusters import KINDS, PROFILES, job
from webhook.cli import main
from webhook.cli import survey as command
from webhook.core.model import Object
from webhook.core.profiles.convert import to_objects

NETWORKS = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions"
FABRIC_PROFILES = "/apis/fabric-injector.io/v1alpha1/fabricprofiles"
KINDS_OF_OBJECTS = ("/api/v1/pods", "/api/v1/namespaces", "/api/v1/nodes", NETWORKS, FABRIC_PROFILES)


@cache
def sample() -> str:
    ready = [{"type": "Ready", "status": "True"}]
    config = json.dumps({"cniVersion": "0.3.1", "type": "macvlan", "ipam": {"type": "whereabouts"}})
    objects: dict[str, list[Object]] = {
        "/api/v1/pods": [pod for kind in KINDS for pod in job(kind, kind[:3].lower())],
        "/api/v1/namespaces": [{"metadata": {"name": "research", "labels": {}}}],
        "/api/v1/nodes": [
            {"metadata": {"name": "node-1"}, "status": {"allocatable": {"rdma/hca": "8"}, "conditions": ready}}
        ],
        NETWORKS: [{"metadata": {"name": "rdma-net", "namespace": "default"}, "spec": {"config": config}}],
        FABRIC_PROFILES: to_objects(PROFILES),
    }
    return json.dumps(objects)


def cluster() -> HostileConnection:
    return HostileConnection(json.loads(sample()), "research")


def invoke(connection: HostileConnection, *arguments: str) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "connect_to_cluster", lambda: connection)
        return CliRunner().invoke(main, ["survey", *arguments], color=True, env={"NO_COLOR": "1"})


def judged(connection: HostileConnection, *arguments: str) -> dict[str, Any]:
    """Survey twice, and hold both answers against what every answer must be."""
    table = invoke(connection, "-v", *arguments)
    assert table.exit_code in (0, 1, 2), table.exception
    assert table.exception is None or isinstance(table.exception, SystemExit)
    assert not set("\x1b\r\x07\u202e\x9b") & set(table.output)
    result = invoke(connection, "-o", "json", *arguments)
    assert result.exit_code == table.exit_code
    assert not set("\x1b\r\x07\u202e\x9b") & set(result.output)
    if result.exit_code == 2:
        assert result.stderr.startswith("Error: ")
        return {}
    document: dict[str, Any] = json.loads(result.stdout)
    assert document["summary"]["jobs"] == sum(len(group["jobs"]) for group in document["groups"])
    return document


def test_the_sample_is_sound() -> None:
    document = judged(cluster())
    assert (document["summary"]["completed"], document["unread"]) == (5, [])


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_an_object_that_is_broken_in_one_place(data: st.DataObject) -> None:
    connection = cluster()
    listed = connection.objects[data.draw(st.sampled_from(KINDS_OF_OBJECTS))]
    index = data.draw(st.integers(0, len(listed) - 1))
    at = data.draw(st.sampled_from([*places(listed[index])]))
    listed[index] = broken(listed[index], at, data.draw(st.sampled_from(JUNK)))
    judged(connection)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_an_answer_that_is_none(data: st.DataObject) -> None:
    connection = cluster()
    invoke(connection)
    requests = sorted(set(connection.asked))
    spoil_an_answer(connection, requests, data)
    judged(connection)


def hostile(pods: Iterable[Object]) -> dict[str, Any]:
    connection = cluster()
    connection.objects["/api/v1/pods"] += pods
    return judged(connection)


def test_hostile_pods_are_counted_and_the_rest_is_judged() -> None:
    large, _ = job("PyTorchJob", "large")
    large["metadata"]["labels"] |= {f"label-{number}": "x" for number in range(130_000)}
    [terminal, *_] = job("Job", "ddp")
    terminal["metadata"]["ownerReferences"][0]["name"] = "\x1b[2J\u202e"
    shapeless: list[Any] = [5, None, {"metadata": None}, {"metadata": {"name": "x", "namespace": "y"}, "spec": []}]
    document = hostile([large, terminal, *shapeless])
    assert document["summary"]["left_out"] == 1 + len(shapeless)
    assert document["summary"]["completed"] >= 5
    named = [each["what"] for each in document["unread"]]
    assert "pods/large-master-0" in named


def test_absurd_amounts_and_sizes_cost_nothing() -> None:
    pods = list(job("PyTorchJob", "absurd"))
    for pod in pods:
        pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "9" * 200
        pod["spec"]["containers"][0]["env"].append({"name": "PET_NNODES", "value": "9" * 5000})
    assert hostile(pods)["summary"]["jobs"] == 6
