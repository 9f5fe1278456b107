"""What each answer of the API server means: missing, refused, broken, too many, expired."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.fake_apiserver import (
    NETWORKS,
    NODES,
    NOT_INSTALLED,
    Behaviour,
    Exchange,
    FakeApiServer,
    status,
    text,
)
from webhook.core.model import Object
from webhook.kube import catalogue
from webhook.kube import reader as reading
from webhook.kube.connection import AnswerTooLong, RequestFailed
from webhook.kube.reader import MOST_PAGE_BYTES, Page, Reader, whole

PATH = "/api/v1/namespaces/ml/pods"
MANAGED = [{"manager": "kubectl", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:metadata": {}}}]


@pytest.fixture
def reader(server: FakeApiServer) -> Reader:
    return Reader(server.connection())


def page(*names: str, token: str = "", **fields: object) -> Behaviour:
    metadata = {"resourceVersion": "1", "continue": token}
    items = [
        {"metadata": {"name": name, "namespace": "ml", "managedFields": MANAGED}, **fields}
        for name in names
    ]
    return lambda exchange: exchange.answer(200, {"metadata": metadata, "items": items})


def name(obj: Object) -> str:
    found: str = obj["metadata"]["name"]
    return found


def pages(reader: Reader, most: int = 3, size: int = 500) -> list[Page[str]]:
    return list(
        reader.pages(catalogue.PODS.select(labels="app=x"), name, "ml", most=most, size=size)
    )


def test_reads_page_by_page(server: FakeApiServer, reader: Reader) -> None:
    server.misbehave("get", PATH, page("a", "b", token="t1"), page("c"))
    assert pages(reader) == [Page(["a", "b"], [], True), Page(["c"], [], False)]
    assert [(each.query.get("continue"), each.query["limit"]) for each in server.requests] == [
        (None, "500"),
        ("t1", "500"),
    ]
    assert {each.query["labelSelector"] for each in server.requests} == {"app=x"}


def test_reads_so_many_pages_and_tells_of_more(server: FakeApiServer, reader: Reader) -> None:
    server.misbehave("get", PATH, *(page(str(number), token="more") for number in range(4)))
    assert [(each.objects, each.more) for each in pages(reader, most=2)] == [
        (["0"], True),
        (["1"], True),
    ]
    assert len(server.requests) == 2


def heavy(server: FakeApiServer, count: int, size: int) -> None:
    for number in range(count):
        server.put(
            catalogue.PODS.path,
            f"p{number}",
            "ml",
            labels={"app": "x"},
            annotations={"filler": "x" * size},
        )


def limits(server: FakeApiServer) -> list[int]:
    return [int(each.query["limit"]) for each in server.requests]


def test_asks_for_fewer_objects_where_a_page_weighs_too_much(
    server: FakeApiServer, reader: Reader
) -> None:
    heavy(server, 40, MOST_PAGE_BYTES // 10)
    found = pages(reader, size=64)
    assert [each for one in found for each in one.objects] == [f"p{number}" for number in range(40)]
    assert [one.more for one in found] == [True] * (len(found) - 1) + [False]
    assert limits(server)[:4] == [64, 16, 4, 4], "each page that was too long is asked for anew"


def test_an_object_that_outweighs_a_page_comes_alone(server: FakeApiServer, reader: Reader) -> None:
    heavy(server, 2, MOST_PAGE_BYTES)
    assert [one.objects for one in pages(reader, size=2)] == [["p0"], ["p1"]]
    assert limits(server) == [2, 1, 1]


def test_gives_up_an_answer_that_is_longer_than_any_object(
    server: FakeApiServer, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_BYTES", 100_000)
    heavy(server, 1, 200_000)
    with pytest.raises(AnswerTooLong, match=f"GET {PATH}: the answer is longer than 100000 bytes"):
        pages(reader, size=1)


def test_a_list_of_no_installed_api_has_no_page(server: FakeApiServer, reader: Reader) -> None:
    server.misbehave("list", NETWORKS, text(404, NOT_INSTALLED))
    assert list(reader.pages(catalogue.NETWORKS, name, most=1)) == []
    server.misbehave("get", PATH, page())
    assert pages(reader) == [Page([], [], False)]


def test_leaves_broken_objects_out_and_names_them(server: FakeApiServer, reader: Reader) -> None:
    items = [
        {"metadata": {"name": "a", "namespace": "ml"}},
        {"metadata": {"name": "b", "labels": []}},
        3,
        {"metadata": {"name": 5}},
    ]
    server.misbehave(
        "get", PATH, lambda exchange: exchange.answer(200, {"metadata": {}, "items": items})
    )
    [found] = pages(reader)
    assert found.objects == ["a"]
    assert found.broken == [
        ("pods/b", "metadata.labels is not an object"),
        ("one of the pods", "it is not an object"),
        ("one of the pods", "metadata.name is not a string"),
    ]


def test_what_its_reader_cannot_read_is_broken_too(server: FakeApiServer, reader: Reader) -> None:
    def read(obj: Object) -> int:
        return int(obj["metadata"]["name"])

    server.misbehave("get", PATH, page("1", "x"))
    [found] = list(reader.pages(catalogue.PODS, read, "ml", most=1))
    assert (found.objects, [broken for broken, _ in found.broken]) == ([1], ["pods/x"])
    server.put(catalogue.PODS.path, "x", "ml")
    with pytest.raises(
        RequestFailed, match="pods/x answered with an object that cannot be read: ValueError"
    ) as raised:
        reader.find(catalogue.PODS, ("ml", "x"), read)
    assert raised.value.status == 200


@pytest.mark.parametrize(
    "body", ["[]", "garbage", '{"items": 5}', '{"metadata": {"continue": 5}}', '{"metadata": [1]}']
)
def test_refuses_what_is_not_a_list(server: FakeApiServer, reader: Reader, body: str) -> None:
    server.misbehave("get", PATH, text(200, body))
    with pytest.raises(RequestFailed, match=f"GET {PATH} answered"):
        pages(reader)


def test_tells_missing_from_refused_from_broken(server: FakeApiServer, reader: Reader) -> None:
    server.put(catalogue.NODES.path, "a")
    server.put(catalogue.NODES.path, "b", labels={"x": 5})
    assert reader.find(catalogue.NODES, ("", "a"), name) == "a"
    assert reader.find(catalogue.NODES, ("", "c"), name) is None
    server.misbehave("get", "/api/v1/nodes/a", status(403, "no"))
    with pytest.raises(RequestFailed, match="GET /api/v1/nodes/a answered 403: no") as refused:
        reader.find(catalogue.NODES, ("", "a"), name)
    assert (refused.value.status, refused.value.is_refusal) == (403, True)
    with pytest.raises(
        RequestFailed, match=r"cannot be read: metadata\.labels.* is not a string"
    ) as broken:
        reader.find(catalogue.NODES, ("", "b"), name)
    assert (broken.value.status, broken.value.is_refusal) == (200, False)


def test_keeps_managed_fields_only_where_asked_for(server: FakeApiServer, reader: Reader) -> None:
    server.put(catalogue.PODS.path, "a", "ml", managedFields=MANAGED)
    server.misbehave("get", PATH, page("a"))
    [found] = list(reader.pages(catalogue.PODS, whole, "ml", most=1))
    assert "managedFields" not in found.objects[0]["metadata"]
    key = ("ml", "a")
    bare, full = (
        reader.find(catalogue.PODS, key, whole),
        reader.find(catalogue.PODS, key, whole, managed_fields=True),
    )
    assert bare is not None
    assert full is not None
    assert ("managedFields" in bare["metadata"], full["metadata"]["managedFields"]) == (
        False,
        MANAGED,
    )


def test_a_name_cannot_leave_its_place_in_the_path(server: FakeApiServer, reader: Reader) -> None:
    assert reader.find(catalogue.PODS, ("ml/pods/x?y", "a/log"), name) is None
    assert server.requests[0].path == "/api/v1/namespaces/ml/pods/x?y/pods/a/log"
    assert server.requests[0].query == {}


def test_takes_the_time_from_the_api_server(server: FakeApiServer, reader: Reader) -> None:
    def timed(date: str) -> Behaviour:
        def behave(exchange: Exchange) -> None:
            handler: Any = exchange._handler
            handler.date_time_string = lambda timestamp=None: date
            page()(exchange)

        return behave

    server.misbehave("get", PATH, timed("Sat, 21 Nov 2026 12:00:00 GMT"), timed("today"))
    pages(reader)
    assert reader.answered == datetime(2026, 11, 21, 12, tzinfo=UTC)
    pages(reader)
    assert reader.answered is None


def test_asks_for_the_time(server: FakeApiServer, reader: Reader) -> None:
    server.misbehave("get", "/version", status(200), status(401, "who?"), status(503, "later"))
    assert reader.server_time() is not None
    for code in (401, 503):
        with pytest.raises(RequestFailed) as raised:
            reader.server_time()
        assert raised.value.status == code


def test_asks_for_the_version_that_a_group_prefers(server: FakeApiServer, reader: Reader) -> None:
    group = "/apis/kueue.x-k8s.io"
    body = '{"preferredVersion": {"groupVersion": "kueue.x-k8s.io/v1beta2"}}'
    server.misbehave(
        "get",
        group,
        text(200, body),
        text(404, NOT_INSTALLED),
        text(200, '{"preferredVersion": 5}'),
    )
    assert reader.preferred_version(group) == f"{group}/v1beta2"
    assert reader.preferred_version(group) == ""
    with pytest.raises(RequestFailed, match=r"answered without preferredVersion\.groupVersion"):
        reader.preferred_version(group)


def test_decodes_one_object_at_a_time(server: FakeApiServer, reader: Reader) -> None:
    for each in "abcd":
        server.put(NODES, each)
    entered: list[str] = []
    most: list[int] = []

    def slow(obj: Object) -> str:
        entered.append(name(obj))
        most.append(len(entered))
        threading.Event().wait(0.05)
        return entered.pop()

    with ThreadPoolExecutor(4) as threads:
        found = list(
            threads.map(lambda each: reader.find(catalogue.NODES, ("", each), slow), "abcd")
        )
    assert found == list("abcd")
    assert most == [1, 1, 1, 1]
