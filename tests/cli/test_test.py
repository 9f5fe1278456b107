"""``fabric-injector test``: its options and what it prints; tests/apiserver and tests/node run it."""

from __future__ import annotations

import json
import signal
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from webhook.cli import main
from webhook.cli import test as command
from webhook.core.model import Object
from webhook.diagnose.codes import Code
from webhook.diagnose.collect import fabric_test
from webhook.diagnose.fabric_test.job import JobSettings
from webhook.diagnose.fabric_test.verdict import GroupResult
from webhook.diagnose.finding import Finding, Level
from webhook.kube.connection import Connection, Response
from webhook.kube.credentials import Credentials

CONNECTION = Connection(Credentials("a test", "http://127.0.0.1:1"))
APART = Finding("fail", Code.TEST_RANKS_APART, "b and c", "rank 1 does not reach rank 0 at 10.9.0.1: timed out")


REAL = fabric_test.FabricTest


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
    monkeypatch.setattr(command, "connect_to_cluster", lambda: CONNECTION)
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
    assert "code: test-ranks-apart; what one means: fabric-injector check --explain CODE" in done.stdout
    assert "round 3 of 3" in done.stderr


@pytest.mark.parametrize(("level", "status", "cell"), [("fail", 1, "fail"), ("warn", 0, "9.50")])
def test_a_pair_whose_rdma_does_not_run_is_not_told_ok(
    level: Level, status: int, cell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = Code.TEST_RDMA_FAILED if level == "fail" else Code.TEST_RDMA_UNMEASURED
    rdma = Finding(level, code, "a and b", "RDMA over mlx5_2: ib_write_bw: x")
    monkeypatch.setattr(Cluster, "run", lambda *_: [GroupResult(("a", "b"), (rdma,), "10.9.0.1", 9.5, 30.0)])
    done = run("--pairwise", "--nodes", "a,b")
    assert done.exit_code == status, done.output
    lines = [line.split() for line in done.stdout.splitlines()]
    assert next(line[-1] for line in lines if line[:2] == ["a", "b"]) == level
    assert lines[-2:] == [["a", "-", cell], ["b", cell, "-"]]


@pytest.mark.parametrize(("rounds", "told"), [(1, 2), (0, 0)])
def test_ctrl_c_tells_what_earlier_rounds_have_found(rounds: int, told: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tested: list[Any] = []

    def interrupted(_: Any, groups: list[tuple[str, ...]], __: int) -> list[GroupResult]:
        if len(tested) == rounds:
            raise KeyboardInterrupt
        tested.append(groups)
        return [GroupResult(nodes, (APART,)) for nodes in groups]

    monkeypatch.setattr(Cluster, "run", interrupted)
    done = run("--pairwise", "--nodes", "a,b,c,d", "-o", "json")
    assert done.exit_code == 130
    assert len(json.loads(done.stdout)["groups"] if done.stdout else ()) == told


def test_one_job_of_all_nodes() -> None:
    done = run("--nodes", "a,b,c")
    assert done.exit_code == 0, done.output
    assert "9.50" in done.stdout


@pytest.mark.parametrize("nodes", ["a", "a,a", ","])
def test_one_node_is_no_test(nodes: str) -> None:
    done = run("--nodes", nodes)
    assert done.exit_code == 2
    assert "--nodes names two nodes or more" in done.stderr


def node(name: str, conditions: str = "True", **spec: Any) -> Object:
    labels = {"kubernetes.io/hostname": f"host-{name}"}
    status = {"conditions": [{"type": "Ready", "status": conditions}]}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("words", "secrets"),
    [((), None), (("--image-pull-secret", "a", "--image-pull-secret=b"), [{"name": "a"}, {"name": "b"}])],
)
def test_the_job_that_is_sent_names_the_secrets(
    words: tuple[str, ...], secrets: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Object] = []

    def request(_self: Connection, method: str, path: str, **options: Any) -> Any:
        if method == "POST" and path.endswith("/jobs"):
            sent.append(options["body"])
        return Response(f"{method} {path}", 403, {}, b"{}")

    monkeypatch.setattr(Connection, "request", request)
    monkeypatch.setattr(fabric_test, "FabricTest", REAL)
    assert run(*words).exit_code == 2
    [job] = sent
    pod = job["spec"]["template"]["spec"]
    assert pod.get("imagePullSecrets") == secrets
    assert pod["containers"][0]["image"] == "x"


NODES = [
    node("a"),
    node("cordoned", unschedulable=True, taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]),
    node("tainted", taints=[{"key": "gpu", "effect": "NoSchedule"}, {"key": "soft", "effect": "PreferNoSchedule"}]),
    node("silent", "Unknown"),
]


def test_nodes_that_take_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fabric_test, "_barriers", lambda _: [fabric_test._barrier(each) for each in NODES])
    assert fabric_test.schedulable_nodes(CONNECTION) == ["host-a"]
    done = run("--nodes", "host-a,host-cordoned,host-tainted,host-silent", "--pairwise")
    assert done.exit_code == 0, done.output
    for told in (
        "node host-cordoned is cordoned; kubectl uncordon cordoned ends that",
        "node host-tainted has the taint gpu:NoSchedule, which",
        "node host-silent is not Ready",
    ):
        assert told in done.stderr
    assert "node host-a " not in done.stderr


def test_a_node_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fabric_test, "_barriers", lambda _: [fabric_test._barrier(each) for each in NODES])
    done = run("--nodes", "host-a,host-b")
    assert done.exit_code == 2
    assert "no node has the label kubernetes.io/hostname=host-b" in done.stderr


@pytest.mark.parametrize(
    ("status", "told"),
    [(200, "deleted before its end"), (403, "could not be deleted: you may not; it ends by its deadline")],
)
def test_interrupted_it_deletes_its_job_and_says_so(status: int, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def request(method: str, path: str, **_: Any) -> Any:
        asked.append((method, path))
        return SimpleNamespace(status=201 if method == "POST" else status, problem="you may not")

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    lines: list[str] = []
    connection: Any = SimpleNamespace(request=request)
    monkeypatch.setattr(REAL, "_follow", interrupted)
    test = REAL(connection, "research", JobSettings("x"), system_namespace="s", tell=lines.append)
    with pytest.raises(KeyboardInterrupt):
        test.run([("a", "b")], 2)
    assert [method for method, _ in asked] == ["POST", "DELETE"]
    assert lines[0].split()[4] == asked[1][1].rpartition("/")[2]
    assert told in lines[-1]
