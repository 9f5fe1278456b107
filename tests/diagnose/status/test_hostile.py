"""`status` given answers of an API server that are broken in one place: a table or a plain error, never a traceback."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.test_status import cluster, invoke
from tests.diagnose.hostile import (
    HostileConnection,
    held,
    small,
    spoil_an_annotation,
    spoil_an_answer,
)
from tests.diagnose.scenes import PROFILES, Scene
from tests.profiles import as_objects
from webhook.core import names


def cluster_of(made: Scene) -> HostileConnection:
    connection = cluster(made)
    connection.objects["/apis/fabric-injector.io/v1alpha1/fabricprofiles"] = as_objects(PROFILES)
    if made.workloads:
        connection.objects["/apis/kueue.x-k8s.io"] = {
            "preferredVersion": {"groupVersion": "kueue.x-k8s.io/v1beta2"}
        }
        connection.objects["/apis/kueue.x-k8s.io/v1beta2/workloads"] = list(made.workloads)
    return connection


def judged(connection: HostileConnection) -> dict[str, Any]:
    """Look twice, and hold both answers against what every answer must be."""
    table = invoke(connection, "-A")
    assert table.exit_code in (0, 1, 2), table.exception
    assert table.output.replace("\n", "").isprintable()
    assert table.exception is None or isinstance(table.exception, SystemExit)
    result = invoke(connection, "-A", "-o", "json")
    assert result.exit_code == table.exit_code
    if result.exit_code == 2:
        assert result.stderr.startswith("Error: ")
        return {}
    assert result.stdout.replace("\n", "").isprintable()
    document: dict[str, Any] = json.loads(result.stdout)
    return document


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_an_annotation_whose_json_is_broken_in_one_place(data: st.DataObject) -> None:
    made = small("well")
    spoil_an_annotation(made.master, data)
    assert judged(cluster_of(made))["jobs"]


@cache
def requests() -> list[str]:
    """List the requests that an undisturbed look sends."""
    connection = cluster_of(held())
    judged(connection)
    return sorted(set(connection.asked))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_an_answer_that_is_none(data: st.DataObject) -> None:
    connection = cluster_of(held())
    spoil_an_answer(connection, requests(), data)
    judged(connection)


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
    for number, pod in enumerate(made.pods.values()):
        metadata = pod["metadata"]
        metadata["labels"] = {
            key: f"{value}{text}" for key, value in metadata["labels"].items() if key != names.JOB
        }
        metadata["annotations"] |= dict.fromkeys(
            (
                names.MASTER_ADDR,
                names.MASTER_HOST,
                names.LOCAL_ADDR,
                names.RENDEZVOUS_NETWORK,
                names.CONTAINER,
                names.NETWORKS,
            ),
            text,
        )
        metadata["ownerReferences"] = [
            {**each, "name": text, "kind": text} for each in metadata["ownerReferences"]
        ]
        pod["spec"]["nodeName"] = text
        pod["spec"]["schedulerName"] = text
        pod["status"]["phase"] = text if number else "Pending"
        for each in pod["status"].get("containerStatuses") or ():
            each["state"] = {"waiting": {"reason": text, "message": text}}
    shown = judged(cluster_of(made))
    assert shown["jobs"] or shown["unread"]
    table = invoke(cluster_of(made), "-A").stdout
    assert max(map(len, table.splitlines())) < 5_000, (
        "one tenant's text leaves no room for the jobs of others"
    )
