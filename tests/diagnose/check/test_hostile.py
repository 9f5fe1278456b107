"""`check` given broken answers: findings or a plain error, never a traceback."""

from __future__ import annotations

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.diagnose.check.cluster import installed, invoke
from tests.diagnose.connection import HostileConnection
from tests.diagnose.hostile import held_against, spoil_an_answer

LEFT_OUT = "is left out, since it cannot be read"


def judged(connection: HostileConnection) -> list[dict[str, str]]:
    document = held_against(lambda *more: invoke(connection, *more))
    found: list[dict[str, str]] = document.get("findings", [])
    return found


@cache
def requests() -> list[str]:
    """List the requests that an undisturbed check sends."""
    connection = installed()
    judged(connection)
    return sorted(set(connection.asked))


def test_looks_at_all_that_is_there() -> None:
    connection = installed()
    found = judged(connection)
    assert [each for each in found if each["topic"] == "unread"] == []
    unasked = set(connection.objects) - {each.removeprefix("GET ") for each in connection.asked}
    assert unasked == set()


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_an_answer_that_is_none(data: st.DataObject) -> None:
    connection = installed()
    spoil_an_answer(connection, requests(), data)
    judged(connection)


def test_what_was_left_out_is_not_said_to_be_missing() -> None:
    """A network of a profile and the webhook's Deployment are there, but cannot be read."""
    connection = installed()
    for path in (
        "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions",
        "/apis/apps/v1/namespaces/fabric-injector/deployments",
    ):
        connection.objects[path][0]["metadata"]["labels"] = []
    found = judged(connection)
    assert {each["subject"]: each["message"] for each in found if each["topic"] == "unread"} == {
        "network-attachment-definitions/rdma-net": f"{LEFT_OUT}: metadata.labels is not an object",
        "deployments/fabric-injector-webhook": f"{LEFT_OUT}: metadata.labels is not an object",
    }
    assert not [each for each in found if "does not exist" in each["message"]]
