"""One object of a list is broken: `check` and `explain` leave it out, say so in the same words, and judge the others."""

from __future__ import annotations

import pytest

from tests.diagnose.check import test_hostile as hostile_check
from tests.diagnose.explain import test_hostile as hostile_explain
from tests.diagnose.hostile import HostileConnection, cluster_of
from tests.diagnose.scenes import SPACE, Scene, node
from webhook.core import names
from webhook.core.errors import InputError
from webhook.diagnose.check import Subject
from webhook.diagnose.collect.inventory import take_inventory
from webhook.diagnose.collect.jobs import Asked, Target, read_all, read_job
from webhook.diagnose.listing import Unread

PROBLEM = "cannot be read, so that it is left out: status.allocatable is not an object"


def with_a_broken_node(connection: HostileConnection) -> HostileConnection:
    broken = node("node-1")
    broken["status"]["allocatable"] = ["rdma/hca"]
    connection.objects["/api/v1/nodes"] = [broken, node("node-2")]
    return connection


def test_one_broken_node_of_two_leaves_one_in_both() -> None:
    inventory = take_inventory(with_a_broken_node(hostile_check.installed()), Subject(), None)
    reading, _ = read_job(
        with_a_broken_node(cluster_of(Scene(1))), Target("job", "bert"), Asked(SPACE)
    )
    assert len(inventory.surroundings.nodes.items) == 1
    assert len(reading.nodes or ()) == 1
    assert inventory.unread == reading.unread == (Unread("nodes/node-1", PROBLEM),)


def test_both_say_so_in_the_same_words() -> None:
    checked = hostile_check.judged(with_a_broken_node(hostile_check.installed()))
    explained = hostile_explain.judged(with_a_broken_node(cluster_of(Scene(1))))["findings"]
    for found in (checked, explained):
        told = [each for each in found if each["subject"] == "nodes/node-1"]
        assert [(each["level"], each["message"]) for each in told] == [("warn", PROBLEM)]


def test_settings_that_may_not_be_read_are_told_by_both() -> None:
    path = f"GET /api/v1/namespaces/fabric-injector/configmaps/{names.CONFIG_MAP}"
    cluster, job = hostile_check.installed(), cluster_of(Scene(1))
    for connection in (cluster, job):
        connection.spoil = lambda asked, *answer: (403, b"{}") if asked == path else answer
    checked = take_inventory(cluster, Subject(), None).unread
    explained = read_job(job, Target("job", "bert"), Asked(SPACE))[0].unread
    for unread in (checked, explained):
        assert "settings" in {each.what for each in unread}, unread


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (401, "log in to the cluster again"),
        (
            403,
            "status lists pods in all namespaces: ask for it, or name a namespace of yours by -n",
        ),
    ],
)
def test_status_says_what_it_needs_where_pods_may_not_be_listed(answer: int, told: str) -> None:
    connection = cluster_of(Scene(1))
    connection.spoil = lambda asked, *given: (
        (answer, b"{}") if asked == "GET /api/v1/pods" else given
    )
    with pytest.raises(InputError, match=told):
        read_all(connection, Asked())
