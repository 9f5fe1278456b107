"""How ``check`` reads: page by page, as metadata where that is enough, and never raising for what it may not see."""

from collections.abc import Iterator

import pytest

from tests.fake_apiserver import NAMESPACES, NETWORKS, NOT_INSTALLED, PODS, FakeApiServer, hang, status, text
from webhook.core.errors import InputError, Unavailable
from webhook.core.model import Object
from webhook.diagnose.check import reader as check_reader
from webhook.diagnose.check.reader import Found, Listing, Progress, Reader, read_time
from webhook.kube.connection import Connection
from webhook.kube.credentials import Credentials
from webhook.kube.resource import Resource

SPACES = Resource("namespaces", "/api/v1", metadata_only=True)
NADS = Resource("network-attachment-definitions", "/apis/k8s.cni.cncf.io/v1")


@pytest.fixture
def reader(server: FakeApiServer) -> Iterator[Reader]:
    with Reader(Connection(Credentials("test", server.url))) as running:
        yield running


def name(obj: Object) -> str | None:
    found: str = obj["metadata"]["name"]
    return None if found.startswith("skip") else found


def test_reads_all_pages(server: FakeApiServer, reader: Reader) -> None:
    for number in range(1203):
        server.put(NAMESPACES, f"a-{number:04}")
    server.put(NAMESPACES, "skipped")
    found = reader.list(SPACES, name).result()
    assert (len(found.items), found.problem) == (1203, "")
    asked = server.asked("list", NAMESPACES)
    assert [request.query["limit"] for request in asked] == ["500"] * 3
    assert all("as=PartialObjectMetadataList" in request.headers["Accept"] for request in asked)


def test_begins_anew_where_pages_expire(server: FakeApiServer, reader: Reader) -> None:
    for number in range(700):
        server.put(NAMESPACES, f"a-{number:04}")
    server.misbehave("list", NAMESPACES, status(410))
    found = reader.list(SPACES, name).result()
    assert (len(found.items), found.problem) == (700, "")
    assert "limit" not in server.asked("list", NAMESPACES)[-1].query


def test_notes_what_it_may_not_read(server: FakeApiServer, reader: Reader) -> None:
    server.misbehave("list", NAMESPACES, status(403, "namespaces is forbidden"))
    found = reader.list(SPACES, name).result()
    assert found == Listing(problem="GET /api/v1/namespaces answered 403: namespaces is forbidden")
    assert found.known is None


def test_knows_what_is_not_installed(server: FakeApiServer, reader: Reader) -> None:
    server.misbehave("list", NETWORKS, text(404, NOT_INSTALLED))
    assert reader.list(NADS, name).result() == Listing(installed=False)


@pytest.mark.parametrize("body", ["[]", "garbage", '{"items": [{"metadata": {}}]}', '{"items": [3]}'])
def test_survives_odd_answers(server: FakeApiServer, reader: Reader, body: str) -> None:
    server.misbehave("list", PODS, text(200, body))
    found = reader.list(Resource("pods", "/api/v1"), name).result()
    assert found.problem.startswith("GET /api/v1/pods")


def test_gets_one_object(server: FakeApiServer, reader: Reader) -> None:
    server.put(NAMESPACES, "a")
    assert reader.read_one(SPACES, ("", "a"), name) == Found("a")
    assert reader.read_one(SPACES, ("", "b"), name).absent
    server.misbehave("get", f"{NAMESPACES}/a", status(403, "no"))
    refused = reader.read_one(SPACES, ("", "a"), name)
    assert (refused.absent, refused.problem) == (False, "GET /api/v1/namespaces/a answered 403: no")


def test_ends_with_an_api_server_that_hangs(
    server: FakeApiServer, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_reader, "REQUEST_SECONDS", 0.2)
    server.misbehave("list", NAMESPACES, hang)
    assert "GET /api/v1/namespaces" in reader.list(SPACES, name).result().problem


def test_tells_its_progress(server: FakeApiServer) -> None:
    server.put(NAMESPACES, "a")
    told: list[str] = []
    with Reader(Connection(Credentials("test", server.url)), Progress(told.append)) as reader:
        reader.list(SPACES, name).result()
    assert told == ["read 1 of 1: 1 namespaces"]


def test_asks_for_the_time(server: FakeApiServer) -> None:
    connection = Connection(Credentials("test", server.url))
    server.misbehave("get", "/version", status(200), status(401, "who?"), status(503, "later"))
    assert read_time(connection) is not None
    with pytest.raises(InputError, match="log in to the cluster again"):
        read_time(connection)
    with pytest.raises(Unavailable):
        read_time(connection)
