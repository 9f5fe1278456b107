"""What a rule gets of a cluster: each thing once, and a warning in place of what cannot be read."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from tests.diagnose.connection import HostileConnection
from tests.diagnose.scenes import node
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.diagnose.finding import Finding, ok
from webhook.diagnose.snapshot import MOST_BROKEN, Snapshot, Unread, at_once, run
from webhook.kube.catalogue import NODES, WORKLOADS

NODE_LIST, LEASE = (
    "/api/v1/nodes",
    "/apis/coordination.k8s.io/v1/namespaces/fabric-injector/leases/fabric-injector",
)


def cluster(*nodes: Object, status: int = 200) -> HostileConnection:
    connection = HostileConnection({NODE_LIST: list(nodes)}, "default")
    if status != 200:
        connection.spoil = lambda request, *answer: (
            (status, b'{"message": "no"}') if NODE_LIST in request else answer
        )
    return connection


def count_nodes(snapshot: Snapshot) -> Iterator[Finding]:
    yield ok("devices", "before", "is kept")
    yield ok("devices", "nodes", str(len(snapshot.nodes())))


def name_of(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def told(connection: HostileConnection) -> list[tuple[str, str, str]]:
    found = run((count_nodes, count_nodes), Snapshot(connection))
    return [(each.level, each.subject, each.message) for each in found]


def test_reads_each_thing_once() -> None:
    connection = cluster(node())
    assert told(connection).count(("ok", "nodes", "1")) == 2
    assert connection.asked.count(f"GET {NODE_LIST}") == 1


def test_what_cannot_be_read_ends_the_rule_and_is_reported_once() -> None:
    *before, last = told(cluster(status=403))
    assert before == [("ok", "before", "is kept")] * 2
    assert last[:2] == ("warn", "nodes")
    assert last[2].startswith("cannot be read, so that part is unknown: GET /api/v1/nodes")


@pytest.mark.parametrize(("status", "action"), [(403, "ask for the right"), (500, "correct what")])
def test_who_was_refused_asks_for_the_right(status: int, action: str) -> None:
    assert run((count_nodes,), Snapshot(cluster(status=status)))[-1].action.startswith(action)


def test_a_broken_object_is_left_out_or_ends_the_rule() -> None:
    broken = {"metadata": {"name": "b", "labels": []}}
    snapshot = Snapshot(cluster(node(), broken))
    assert len(snapshot.nodes()) == 1
    [note] = snapshot.unread()
    assert str(note).startswith("nodes/b: is left out, since it cannot be read")
    with pytest.raises(Unread, match="nodes/b"):
        snapshot.list_all(NODES, name_of)


def test_names_a_few_of_many_broken_objects() -> None:
    objects = [{"metadata": {"name": f"n{number}", "labels": []}} for number in range(40)]
    snapshot = Snapshot(cluster(*objects))
    assert snapshot.nodes() == ()
    assert len(snapshot.unread()) == MOST_BROKEN + 1
    assert "35 more are left out" in " ".join(str(each) for each in snapshot.unread())


def test_a_kind_that_is_not_installed_is_none() -> None:
    snapshot = Snapshot(cluster())
    queues = WORKLOADS.at("/apis/kueue.x-k8s.io/v1")
    assert snapshot.list_optional(queues, name_of) is None
    assert snapshot.list_all(queues, name_of) == ()
    assert snapshot.lease() is None
    assert snapshot.unread() == []


def test_calls_run_beside_each_other_and_answer_in_order() -> None:
    both = threading.Barrier(2, timeout=10)

    def slow() -> str:
        both.wait()
        time.sleep(0.01)
        return "first"

    def quick() -> str:
        both.wait()
        return "second"

    assert at_once([slow, quick]) == ["first", "second"]


def test_an_error_of_a_call_is_raised() -> None:
    def fails() -> None:
        raise InputError("no")

    with pytest.raises(InputError):
        at_once([fails])
