"""``fabric-injector test``: its options and what it prints; tests/apiserver and tests/node run it."""

from __future__ import annotations

import signal
from typing import Any

import pytest
from click.testing import CliRunner

from webhook.cli import main
from webhook.cli import test as command
from webhook.core.model import Object
from webhook.diagnose.codes import Code
from webhook.diagnose.collect import fabric_test
from webhook.diagnose.fabric_test.verdict import GroupResult
from webhook.diagnose.finding import Finding
from webhook.kube.connection import Connection
from webhook.kube.credentials import Credentials

APART = Finding("fail", Code.TEST_RANKS_APART, "b and c", "rank 1 does not reach rank 0 at 10.9.0.1: timed out")


class Cluster:
    """Stand for the tests of groups: all nodes reach each other but b and c."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def run(self, groups: list[tuple[str, ...]], ranks: int) -> list[GroupResult]:
        assert ranks == 2 or groups == [("a", "b", "c")]
        apart = {"b", "c"}
        return [
            GroupResult(nodes, (APART,)) if set(nodes) == apart else GroupResult(nodes, (), "10.9.0.1", 9.5, 30.0)
            for nodes in groups
        ]


@pytest.fixture(autouse=True)
def cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "connect_to_cluster", lambda: Connection(Credentials("a test", "http://127.0.0.1:1")))
    monkeypatch.setattr(fabric_test, "FabricTest", Cluster)
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # of this process


def run(*words: str) -> Any:
    return CliRunner().invoke(main, ["test", "--image=x", *words])


def test_a_table_node_by_node() -> None:
    done = run("--pairwise", "--nodes", "a,b,c")
    assert done.exit_code == 1, done.output
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[-4:] == [
        ["a", "b", "c"],
        ["a", "-", "9.50", "9.50"],
        ["b", "9.50", "-", "fail"],
        ["c", "9.50", "fail", "-"],
    ]
    assert "does not reach rank 0" in done.stdout
    assert "round 3 of 3" in done.stderr


def test_one_job_of_all_nodes() -> None:
    done = run("--nodes", "a,b,c")
    assert done.exit_code == 0, done.output
    assert "9.50" in done.stdout


@pytest.mark.parametrize("nodes", ["a", "a,a", ","])
def test_one_node_is_no_test(nodes: str) -> None:
    done = run("--nodes", nodes)
    assert done.exit_code == 2
    assert "--nodes names two nodes or more" in done.stderr


def test_nodes_that_take_pods() -> None:
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    labels = {"labels": {"kubernetes.io/hostname": "host-a"}}
    node: Object = {"metadata": {"name": "a", **labels}, "spec": {}, "status": ready}
    assert fabric_test._hostname(node) == "host-a"
    for barred in ({"unschedulable": True}, {"taints": [{"key": "x", "effect": "NoSchedule"}]}):
        assert fabric_test._hostname({**node, "spec": barred}) == ""
    assert fabric_test._hostname({**node, "status": {}}) == ""
