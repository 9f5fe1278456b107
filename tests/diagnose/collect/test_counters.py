"""How `explain --exec` reads counters: in which pods, by a shell or by cat, and what it says where neither is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.diagnose.explain.test_traffic import DEV
from tests.diagnose.scenes import Scene
from tests.kube.exec_server import SUCCESS, Answer, ExecServer
from webhook.diagnose.collect import counters
from webhook.diagnose.collect.collector import Collector
from webhook.diagnose.collect.counters import read_traffic
from webhook.diagnose.explain.counters import Traffic
from webhook.diagnose.listing import Unread
from webhook.kube.connection import Connection
from webhook.kube.credentials import Credentials

NOT_FOUND = {"status": "Failure", "message": 'exec: "sh": executable file not found in $PATH'}
TEXT = DEV.format(eth0=7, net1=8, words=9).encode()


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "SECONDS_BETWEEN", 0.01)


def read(
    answer: Callable[[Sequence[str]], Answer], workers: int = 1
) -> tuple[dict[str, Traffic], list[Unread], list[tuple[str, tuple[str, ...]]]]:
    with (
        ExecServer(answer) as server,
        Collector(Connection(Credentials("test", server.url)), most_pages=1) as collector,
    ):
        found = read_traffic(collector, Scene(workers).pods.values())
        return dict(found), collector.unread, server.asked


def test_each_pod_is_read_twice_by_a_shell() -> None:
    found, unread, asked = read(lambda _words: (101, TEXT, SUCCESS))
    assert found.keys() == {"bert-master-0", "bert-worker-0"}
    assert found["bert-master-0"].first.devices == {"mlx5_0/1": (36, 36)}
    assert found["bert-master-0"].seconds > 0
    assert unread == []
    assert [words[0] for _, words in asked] == ["sh"] * 4


def test_cat_alone_will_do() -> None:
    found, unread, _ = read(lambda words: (101, TEXT, SUCCESS) if words[0] == "cat" else (101, b"", NOT_FOUND), 0)
    assert found.keys() == {"bert-master-0"}
    assert unread == []


def test_an_image_with_neither_is_told() -> None:
    found, [unread], _ = read(lambda _words: (101, b"", NOT_FOUND))
    assert found == {}
    assert unread.problem == (
        "of bert-master-0, bert-worker-0 cannot be read, so that part is unknown: container pytorch has neither a shell nor cat, "
        'or no /proc/net/dev: exec: "sh": executable file not found in $PATH'
    )


def test_who_may_not_exec_is_told_what_to_ask_for() -> None:
    found, [unread], _ = read(lambda _words: (403, b"", 'cannot create resource "pods/exec"'))
    assert found == {}
    assert "answered 403" in unread.problem
    assert unread.problem.endswith("; ask for get and create of pods/exec")


def test_no_more_than_eight_pods_are_asked() -> None:
    found, _, _ = read(lambda _words: (101, TEXT, SUCCESS), 20)
    assert len(found) == 8
    assert "bert-master-0" in found
