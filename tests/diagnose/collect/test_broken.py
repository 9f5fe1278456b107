"""One object of a list is broken: `check` and `explain` leave it out and say so alike."""

from __future__ import annotations

import pytest

from tests.diagnose.check.cluster import installed
from tests.diagnose.hostile import HostileConnection, cluster_of
from tests.diagnose.scenes import SPACE, Scene, node
from webhook.core import names
from webhook.core.errors import InputError
from webhook.diagnose.collect import Target, read_all, read_job
from webhook.diagnose.snapshot import Snapshot

PROBLEM = "is left out, since it cannot be read: metadata.labels is not an object"


def with_a_broken_node(connection: HostileConnection) -> HostileConnection:
    broken = node("node-1")
    broken["metadata"]["labels"] = ["rdma/hca"]
    connection.objects["/api/v1/nodes"] = [broken, node("node-2")]
    return connection


def test_one_broken_node_of_two_leaves_one_in_both() -> None:
    snapshot = Snapshot(with_a_broken_node(installed()))
    broken = with_a_broken_node(cluster_of(Scene(1)))
    reading, _ = read_job(Snapshot(broken, SPACE), Target("job", "bert"))
    assert len(snapshot.nodes()) == 1
    assert len(reading.nodes or ()) == 1
    [unread] = snapshot.unread()
    assert (unread.what, unread.problem) == ("nodes/node-1", PROBLEM)
    assert [(each.what, each.problem) for each in reading.unread] == [("nodes/node-1", PROBLEM)]


def test_settings_that_may_not_be_read_are_told_by_both() -> None:
    path = f"GET /api/v1/namespaces/fabric-injector/configmaps/{names.CONFIG_MAP}"
    cluster, job = installed(), cluster_of(Scene(1))
    for connection in (cluster, job):
        connection.spoil = lambda asked, *answer: (403, b"{}") if asked == path else answer
    snapshot = Snapshot(cluster)
    snapshot.profiles()
    explained = read_job(Snapshot(job, SPACE), Target("job", "bert"))[0].unread
    assert {each.what for each in snapshot.unread()} == {"settings"}
    assert "settings" in {each.what for each in explained}


def test_status_says_what_it_needs_where_pods_may_not_be_listed() -> None:
    connection = cluster_of(Scene(1))
    connection.spoil = lambda asked, *given: (403, b"{}") if asked == "GET /api/v1/pods" else given
    told = "status lists pods in all namespaces: ask for it, or name a namespace of yours by -n"
    with pytest.raises(InputError, match=told):
        read_all(Snapshot(connection))
