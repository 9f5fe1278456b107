"""How `explain --logs` reads logs: of which pods, within bounds, and where it may not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests import ROOT
from tests.diagnose.scenes import SPACE, Scene
from tests.fake_apiserver import PODS, Behaviour, Exchange, FakeApiServer, status
from webhook.cli import main
from webhook.core.model import Object
from webhook.diagnose import collect
from webhook.diagnose.collect import Target, choose_pods, read_job
from webhook.diagnose.explain.snapshot import JobSnapshot
from webhook.diagnose.jobs import ObservedPod
from webhook.diagnose.snapshot import Snapshot
from webhook.kube.connection import Connection
from webhook.kube.credentials import Credentials

FOLDER = ROOT / "tests" / "fixtures" / "nccl"


def path(pod: str) -> str:
    return f"/api/v1/namespaces/{SPACE}/pods/{pod}/log"


def says(name: str) -> Behaviour:
    """Answer with a fixture as the kubelet does: no more than was asked for."""

    def answer(exchange: Exchange) -> None:
        text = (FOLDER / f"{name}.log").read_text()
        exchange.answer(200, text[: int(exchange.request.query["limitBytes"])])

    return answer


def of(text: str) -> Behaviour:
    return lambda exchange: exchange.answer(200, text)


@pytest.fixture
def scene(server: FakeApiServer) -> Callable[[int], Scene]:
    """Serve a job of rank 0 and so many workers."""

    def serve(workers: int) -> Scene:
        made = Scene(workers)
        for name, pod in made.pods.items():
            metadata = {
                key: pod["metadata"][key]
                for key in ("uid", "labels", "annotations", "ownerReferences")
                if key in pod["metadata"]
            }
            server.put(PODS, name, SPACE, spec=pod["spec"], status=pod["status"], **metadata)
        return made

    return serve


def asked(server: FakeApiServer) -> JobSnapshot:
    return read_job(
        Snapshot(Connection(Credentials("test", server.url)), SPACE),
        Target("job", "bert"),
        logs=True,
    )[0]


def test_each_pod_is_asked_for_the_beginning_of_its_training_container(
    server: FakeApiServer, scene: Callable[[int], Scene]
) -> None:
    for pod in scene(1).pods:
        server.misbehave("get", path(pod), says("2.21-roce"))
    reading = asked(server)
    assert reading.logs is not None
    assert {pod: list(found.log.chosen) for pod, found in reading.logs.items()} == {
        "bert-master-0": ["IB"],
        "bert-worker-0": ["IB"],
    }
    requests = [request for request in server.requests if request.path.endswith("/log")]
    assert next(request.path for request in requests) == path("bert-master-0"), "rank 0 first"
    assert {request.query["container"] for request in requests} == {"pytorch"}
    assert {request.query["limitBytes"] for request in requests} == {str(4 << 20)}
    assert all("tailLines" not in request.query for request in requests)


def test_who_may_not_read_rank_zeros_log_is_told_once(
    server: FakeApiServer, scene: Callable[[int], Scene]
) -> None:
    scene(3)
    server.misbehave("get", path("bert-master-0"), status(403, 'cannot get resource "pods/log"'))
    reading = asked(server)
    assert reading.logs == {}
    [unread] = [each.problem for each in reading.unread if each.what == "logs"]
    assert "answered 403" in unread
    assert unread.endswith("ask for get of pods/log, or let an administrator run this")
    assert len([request for request in server.requests if request.path.endswith("/log")]) == 1


def test_nodes_that_do_not_answer_are_told_together(
    server: FakeApiServer, scene: Callable[[int], Scene]
) -> None:
    for pod in scene(3).pods:
        server.misbehave(
            "get",
            path(pod),
            says("2.21-roce") if pod == "bert-master-0" else status(500, "no route"),
        )
    reading = asked(server)
    assert list(reading.logs or ()) == ["bert-master-0"]
    [unread] = [each.problem for each in reading.unread if each.what == "logs"]
    assert unread.startswith("of bert-worker-0, bert-worker-1, bert-worker-2 cannot be read")


def test_an_answer_that_is_longer_than_asked_for_is_given_up(
    server: FakeApiServer, scene: Callable[[int], Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene(0)
    monkeypatch.setattr(collect, "_MOST_BYTES", 1000)
    server.misbehave("get", path("bert-master-0"), of("x" * 100_000))
    reading = asked(server)
    [unread] = [each.problem for each in reading.unread if each.what == "logs"]
    assert "longer than 2000 bytes" in unread


def test_the_run_before_is_read_where_this_one_tells_nothing(
    server: FakeApiServer, scene: Callable[[int], Scene]
) -> None:
    stored = scene(0).master
    stored["status"]["containerStatuses"][0]["restartCount"] = 2
    server.misbehave("get", path("bert-master-0"), of("starting\n"), says("memlock"))
    found = (asked(server).logs or {})["bert-master-0"]
    assert found.is_previous
    assert [
        request.query.get("previous")
        for request in server.requests
        if request.path.endswith("/log")
    ] == [None, "true"]


def test_pods_that_have_not_begun_have_no_log(
    server: FakeApiServer, scene: Callable[[int], Scene]
) -> None:
    stored = scene(0).master
    stored["status"]["containerStatuses"][0]["state"] = {"waiting": {"reason": "PodInitializing"}}
    assert asked(server).logs == {}
    assert not [request for request in server.requests if request.path.endswith("/log")]


def test_of_many_pods_some_are_chosen_rank_zero_first() -> None:
    parts = [ObservedPod(pod) for pod in Scene(40).pods.values()]
    chosen = [part.name for part in choose_pods(parts, 4)]
    assert chosen == ["bert-master-0", "bert-worker-9", "bert-worker-19", "bert-worker-29"]


@pytest.fixture
def explain(server: FakeApiServer, tmp_path: Path) -> Callable[..., Result]:
    config: Object = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": SPACE}}],
        "clusters": [{"name": "c", "cluster": {"server": server.url}}],
        "users": [{"name": "u", "user": {}}],
    }
    (tmp_path / "config").write_text(json.dumps(config))

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(
            main, ["explain", *arguments], env={"KUBECONFIG": str(tmp_path / "config")}
        )

    return run


def test_hostile_logs_reach_no_terminal(
    server: FakeApiServer, scene: Callable[[int], Scene], explain: Callable[..., Result]
) -> None:
    scene(0)
    hostile = (
        "h:1:2 [0] NCCL INFO NCCL_IB_HCA set to \x1b]0;owned\x07\n"
        + (FOLDER / "2.18-socket.log").read_text()
    )
    server.misbehave("get", path("bert-master-0"), of(hostile))
    result = explain("job/bert", "--logs")
    assert "trains over TCP on eth0" in result.output
    assert result.output.replace("\n", "").isprintable()
