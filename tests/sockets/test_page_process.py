"""The process of the dry run beside admission: whatever becomes of it, reviews are answered and the page says what happened."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import urllib3
import uvloop

from tests.sockets.conftest import HERE, OBJECTS, PROFILES
from tests.sockets.server import Server, admit, admitting
from tests.waiting import wait_until
from webhook.core.profiles import parse_profiles
from webhook.http.listener import ListenAddress, bind
from webhook.serve.page_process import PageProcess
from webhook.serve.questions import Answers
from webhook.serve.slot import Slot
from webhook.world.objects import ObjectsWorld, load_objects

pytestmark = pytest.mark.sockets

LIVE = sorted((HERE.parent / "fixtures/live").rglob("*.review.json"))
POD = b"apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: default}\nspec: {containers: [{name: c, image: i}]}\n"
LISTS = b'{"a": [' + b"[]," * 900_000 + b"[]]}"
"""A paste that is no larger than the page takes, and needs more memory than its process may have."""


def children(server: Server) -> list[int]:
    """Return the processes that the server has started, and that have not ended."""
    number = server.process.pid
    tasks = Path(f"/proc/{number}/task").iterdir()
    found = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    return [child for child in found if runs(child)]


def runs(number: int) -> bool:
    """Return whether a process has not ended; one that nobody has reaped yet has."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def started(server: Server) -> int:
    """Ask for the first dry run, and return the number of the process that answers."""
    assert server.plain("POST", "/dry-run", POD).status == 200
    [child] = children(server)
    return child


def test_is_started_when_it_is_asked_for_the_first_time_and_not_by_a_silent_connection(own: Server) -> None:
    with own.connect("dryRun"):
        assert own.get("/readyz").status == 200
        assert children(own) == []
    child = started(own)
    assert own.plain("GET", "/state").status == 200
    assert children(own) == [child]


def test_no_process_that_lasts_loads_what_reads_profiles(own: Server, authority: Path, review: bytes) -> None:
    child = started(own)
    with closing(own.client(authority)) as client:
        assert admit(client, review).status == 200
    for number in (own.process.pid, child):
        assert "pydantic_core" not in Path(f"/proc/{number}/maps").read_text()


def test_answers_as_admission_does(own: Server, authority: Path) -> None:
    changed = 0
    with closing(own.client(authority)) as client:
        for path in LIVE:
            review = json.loads(path.read_bytes())
            pod = review["request"]["object"]
            if pod["kind"] != "Pod":
                continue
            review["request"]["namespace"] = pod["metadata"]["namespace"] = "default"  # which the server knows
            answer = admit(client, json.dumps(review).encode()).json()["response"]
            patch = json.loads(base64.b64decode(answer["patch"])) if "patch" in answer else []
            [told] = own.plain("POST", "/dry-run", json.dumps(pod).encode()).json()["pods"]
            assert (told["allowed"], told["patch"]) == (answer["allowed"], patch), path
            changed += bool(patch)
    assert changed > 5


def test_admits_and_starts_again_where_it_is_killed(own: Server, authority: Path, review: bytes) -> None:
    child = started(own)
    with admitting(own, authority, review) as statuses:
        os.kill(child, signal.SIGKILL)
        assert own.get("/readyz").status == 200
        wait_until(lambda: not Path(f"/proc/{child}").exists(), "its end, reaped")
        assert started(own) != child
    assert set(statuses) == {200}


def test_admits_and_says_what_happened_where_a_paste_needs_too_much(
    own: Server, authority: Path, review: bytes
) -> None:
    with admitting(own, authority, review) as statuses:
        reply = own.plain("POST", "/dry-run", LISTS)
        assert reply.status == 503
        assert "the manifest needs more memory than the page has" in reply.json()["message"]
        assert "fabric-injector dry-run -f FILE" in reply.json()["message"]
        assert own.plain("POST", "/dry-run", POD).status == 200
    assert set(statuses) == {200}
    assert own.peak_megabytes() < 80


def test_takes_a_large_paste_without_holding_it_in_the_process_of_admission(own: Server) -> None:
    started(own)
    before = own.peak_megabytes()
    large = POD.replace(b"namespace: default", b"namespace: default, annotations: {a: %s}" % (b"x" * (2 << 20)))
    assert own.plain("POST", "/dry-run?output=pod", large).body.count(b"x") == 2 << 20
    assert own.peak_megabytes() < before + 4


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_does_not_outlive_the_webhook(own: Server, number: signal.Signals) -> None:
    child = started(own)
    os.kill(child, signal.SIGSTOP)  # it can close nothing by itself
    own.process.send_signal(number)
    own.process.wait(20)
    wait_until(lambda: not runs(child), "its end")


class Running:
    """A page whose process is started in an event loop of a thread of its own."""

    def __init__(self, page: PageProcess, slot: Slot) -> None:
        self.page, self.slot = page, slot

    def ask(self, path: str = "/state", body: bytes | None = None) -> urllib3.BaseHTTPResponse:
        return urllib3.request(
            "POST" if body else "GET", f"{self.page.url}{path}", body=body, retries=False, timeout=30
        )

    def child(self) -> int:
        assert self.ask().status == 200
        [name] = [thread.name for thread in threading.enumerate() if thread.name.startswith("page-questions")]
        return int(name.rpartition("-")[2])


@pytest.fixture
def run() -> Iterator[Any]:
    loop = uvloop.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    pages: list[PageProcess] = []

    def done(coroutine: Any) -> Any:
        future: Future[Any] = asyncio.run_coroutine_threadsafe(coroutine, loop)
        return future.result(20)

    def run(**options: float) -> Running:
        profiles = parse_profiles(PROFILES.read_bytes())
        answers = Answers(ObjectsWorld(load_objects([OBJECTS])), lambda: profiles, dict)
        slot = Slot()
        page = PageProcess(bind(ListenAddress("127.0.0.1", 0)), answers, slot, **options)
        done(page.start())
        pages.append(page)
        return Running(page, slot)

    try:
        yield run
    finally:
        for page in pages:
            done(page.close(grace_seconds=0))
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_says_what_happened_where_it_is_killed(run: Any) -> None:
    page = run()
    child = page.child()
    os.kill(child, signal.SIGSTOP)  # so that it is killed while it is asked
    with ThreadPoolExecutor(1) as clients:
        asked = clients.submit(page.ask, "/dry-run", POD)
        wait_until(lambda: any(each.asked for each in page.page._exchanges), "the request")
        os.kill(child, signal.SIGKILL)
        reply = asked.result()
    assert (reply.status, reply.headers["connection"]) == (503, "close")
    assert "the process of the dry run has ended (Killed): ask again" in reply.json()["message"]
    assert page.ask().status == 200


def test_says_so_to_all_whose_pastes_are_under_way_though_its_end_is_noticed_late(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    noticed, serve = threading.Event(), Answers.serve

    def serve_and_wait(answers: Answers, asked: socket.socket) -> None:
        serve(answers, asked)
        noticed.wait(20)

    monkeypatch.setattr(Answers, "serve", serve_and_wait)
    page = run()
    child = page.child()
    os.kill(child, signal.SIGSTOP)
    try:
        with ThreadPoolExecutor(12) as clients:
            asked = [clients.submit(page.ask, "/dry-run", POD + b"#" * (2 << 20)) for _ in range(12)]
            wait_until(lambda: sum(bool(each.asked) for each in page.page._exchanges) == 12, "the requests")
            os.kill(child, signal.SIGKILL)
            replies = [each.result() for each in asked]
    finally:
        noticed.set()
    assert [reply.status for reply in replies] == [503] * 12
    assert "the process of the dry run has ended" in replies[0].json()["message"]
    assert page.ask().status == 200


def test_ends_where_it_hangs_and_says_so(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    page = run(answer_seconds=20.0)
    child = page.child()
    monkeypatch.setattr(page.page, "_answer_seconds", 2.0)  # once it has started, which takes long on a busy machine
    os.kill(child, signal.SIGSTOP)
    reply = page.ask()
    assert reply.status == 503
    assert "the dry run took longer than 2 s and was ended" in reply.json()["message"]
    assert not runs(child)
    monkeypatch.undo()
    assert page.ask().status == 200


def test_ends_where_nobody_asks_and_starts_again(run: Any) -> None:
    page = run(idle_seconds=0.5)
    child = page.child()
    wait_until(lambda: not Path(f"/proc/{child}").exists(), "its end, reaped")
    assert page.child() != child


def test_another_process_may_take_its_place(run: Any) -> None:
    page = run()
    child = page.child()
    with ThreadPoolExecutor(1) as clients:
        with page.slot.evicting(10):
            assert not runs(child)
            wait_until(lambda: not page.page._exchanges, "the end of the connection that the client keeps alive")
            asked = clients.submit(page.ask)
            assert wait([asked], timeout=0.3).not_done
        assert asked.result().status == 200
        page.slot.evict()
        wait_until(lambda: page.slot.take(lambda: None), "the slot to be free")
        page.slot.leave()


def test_many_connections_are_served_and_those_too_many_closed(run: Any) -> None:
    page = run()
    with ThreadPoolExecutor(20) as clients:
        asked = [clients.submit(page.ask, "/dry-run", POD) for _ in range(60)]
        assert {each.result().status for each in asked} <= {200, 503}
    assert page.ask().status == 200


def test_says_that_it_cannot_be_started(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    page = run()
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    reply = page.ask()
    assert reply.status == 503
    assert "cannot be started (No such file or directory)" in reply.json()["message"]
    monkeypatch.undo()
    assert page.ask().status == 200
