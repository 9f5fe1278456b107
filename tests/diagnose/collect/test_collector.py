"""How what `check` and `explain` need is read: page by page, beside each other, and noting what may not be seen."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from tests.fake_apiserver import (
    NAMESPACES,
    NETWORKS,
    NOT_INSTALLED,
    PODS,
    FakeApiServer,
    hang,
    status,
    text,
)
from webhook.core.model import Object
from webhook.diagnose.collect import collector as collector_module
from webhook.diagnose.collect.collector import AT_A_TIME, MOST_BROKEN, Collector
from webhook.diagnose.listing import Found, Listing, Unread
from webhook.kube import catalogue
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.credentials import Credentials

SPACES = catalogue.NAMESPACES
NOBODY = Connection(Credentials("test", "http://127.0.0.1:9"))


@pytest.fixture
def collector(server: FakeApiServer) -> Iterator[Collector]:
    with Collector(Connection(Credentials("test", server.url)), most_pages=4) as running:
        yield running


def name(obj: Object) -> str | None:
    found: str = obj["metadata"]["name"]
    return None if found.startswith("skip") else found


def new_threads(before: set[threading.Thread]) -> list[threading.Thread]:
    """Return the threads of a collector that were not there before."""
    found = [each for each in threading.enumerate() if each not in before]
    return [each for each in found if each.name.startswith("collect")]


def test_who_interrupts_waits_for_no_answer() -> None:
    """Nor does the end of the process, which waits for threads that are no daemons."""
    begun, answered = threading.Event(), threading.Event()
    of_other_tests = {*threading.enumerate()}

    def silent() -> str:
        begun.set()
        answered.wait(10)
        return "late"

    futures: list[Future[str]] = []
    threads: list[threading.Thread] = []

    def interrupted() -> None:
        with Collector(NOBODY, most_pages=1) as collector:
            futures.extend(collector.begin(silent) for _ in range(AT_A_TIME + 1))
            assert begun.wait(10)
            threads.extend(new_threads(of_other_tests))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not any(each.done() and not each.cancelled() for each in futures)
    assert futures[-1].cancelled(), "what was not begun is not begun any more"
    assert len(threads) == AT_A_TIME
    assert all(each.daemon for each in threads)
    answered.set()
    for each in threads:
        each.join(10)
        assert not each.is_alive()


def test_who_ends_well_leaves_no_thread() -> None:
    of_other_tests = {*threading.enumerate()}
    with Collector(NOBODY, most_pages=1) as collector:
        futures = [
            collector.begin(lambda: collector.begin(lambda: "nested").result()) for _ in range(3)
        ]
        assert [each.result() for each in futures] == ["nested"] * 3
        failed = collector.begin(lambda: int("x"))
    with pytest.raises(ValueError, match="invalid literal"):
        failed.result()
    assert not [each for each in new_threads(of_other_tests) if each.is_alive()]


def test_reads_all_pages(server: FakeApiServer, collector: Collector) -> None:
    for number in range(1203):
        server.put(NAMESPACES, f"a-{number:04}")
    server.put(NAMESPACES, "skipped")
    found = collector.begin_list("namespaces", SPACES, name).result()
    assert (len(found.items), found.problem, found.is_complete) == (1203, "", True)
    asked = server.asked("list", NAMESPACES)
    assert [request.query["limit"] for request in asked] == ["500"] * 3
    assert all("as=PartialObjectMetadataList" in request.headers["Accept"] for request in asked)


def test_reads_so_much_and_says_that_there_is_more(server: FakeApiServer) -> None:
    for number in range(1001):
        server.put(NAMESPACES, f"a-{number:04}")
    with Collector(Connection(Credentials("test", server.url)), most_pages=2) as collector:
        found = collector.read_list(SPACES, name)
    assert (len(found.items), found.is_complete, found.known) == (1000, False, None)
    assert collector.unread == [Unread("namespaces", "only the first 1,000 were read")]


def test_leaves_out_what_is_broken_and_names_a_few(
    server: FakeApiServer, collector: Collector
) -> None:
    server.put(catalogue.PODS.path, "fine", "ml")
    for number in range(MOST_BROKEN + 2):
        server.put(catalogue.PODS.path, f"bad-{number}", "ml", spec={"nodeName": number})
    found = collector.read_list(catalogue.PODS, name)
    assert (found.items, found.is_complete, found.known) == (("fine",), False, None)
    assert collector.unread == [
        *(
            Unread(
                f"pods/bad-{number}",
                "cannot be read, so that it is left out: spec.nodeName is not a string",
            )
            for number in range(MOST_BROKEN)
        ),
        Unread("pods", "2 more cannot be read, so that they are left out"),
    ]


def test_notes_what_it_may_not_read(server: FakeApiServer, collector: Collector) -> None:
    server.misbehave("list", NAMESPACES, *[status(403, "namespaces is forbidden")] * 3)
    problem = "GET /api/v1/namespaces answered 403: namespaces is forbidden"
    with pytest.raises(RequestFailed, match="namespaces is forbidden"):
        collector.read_list(SPACES, name)
    assert collector.notes() == ()
    found = collector.list_part("namespaces", SPACES, name)
    assert found == Listing(problem=problem)
    assert found.known is None
    assert collector.begin_part("all", lambda: collector.read_list(SPACES, name)).result() is None
    told = f"cannot be read, so that part is unknown: {problem}"
    assert collector.notes() == (Unread("all", told), Unread("namespaces", told))


def test_knows_what_is_not_installed(server: FakeApiServer, collector: Collector) -> None:
    server.misbehave("list", NETWORKS, text(404, NOT_INSTALLED))
    assert collector.read_list(catalogue.NETWORKS, name) == Listing(installed=False)


@pytest.mark.parametrize("body", ["[]", "garbage"])
def test_survives_odd_answers(server: FakeApiServer, collector: Collector, body: str) -> None:
    server.misbehave("list", PODS, text(200, body))
    assert collector.list_part("pods", catalogue.PODS, name).problem.startswith("GET /api/v1/pods")


def test_gets_one_object(server: FakeApiServer, collector: Collector) -> None:
    server.put(NAMESPACES, "a")
    assert collector.find_part("a", SPACES, ("", "a"), name) == Found("a")
    assert collector.find_part("a", SPACES, ("", "b"), name).absent
    server.misbehave("get", f"{NAMESPACES}/a", status(403, "no"))
    refused = collector.find_part("a", SPACES, ("", "a"), name)
    assert (refused.absent, refused.problem) == (False, "GET /api/v1/namespaces/a answered 403: no")


def test_ends_with_an_api_server_that_hangs(
    server: FakeApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector_module, "REQUEST_SECONDS", 0.2)
    server.misbehave("list", NAMESPACES, hang)
    with Collector(Connection(Credentials("test", server.url)), most_pages=1) as collector:
        assert "GET /api/v1/namespaces" in collector.list_part("namespaces", SPACES, name).problem


def test_tells_its_progress(server: FakeApiServer) -> None:
    server.put(NAMESPACES, "a")
    told: list[str] = []
    with Collector(
        Connection(Credentials("test", server.url)), told.append, most_pages=1
    ) as collector:
        collector.begin_list("namespaces", SPACES, name).result()
    assert told == ["1 namespaces", "read 1 of 1"]
