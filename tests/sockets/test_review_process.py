"""The process that reads large reviews: whatever becomes of it, all others are answered, and so is the next large one."""

from __future__ import annotations

import contextlib
import errno
import gc
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice, product
from pathlib import Path

import orjson
import pytest

from tests.sockets.flood import large_reviews
from tests.sockets.server import Reply, Server, admit, admitting
from tests.sockets.test_page_process import children, runs
from tests.waiting import wait_until
from webhook.core.errors import MalformedReview, Unavailable
from webhook.core.reading_cost import MOST_BYTES_OF_VALUES
from webhook.core.reduced_review import reduce_review
from webhook.http.endpoint import Limits
from webhook.serve import review_process
from webhook.serve.review_process import ReviewProcess
from webhook.serve.review_reader import ROOM_BYTES

pytestmark = pytest.mark.sockets

NONE = frozenset[str]()


def large(review: bytes) -> bytes:
    return review.ljust(MOST_BYTES_OF_VALUES + 1)


def labelled(review: bytes) -> bytes:
    """Return the review of a pod of which there is much to be read."""
    asked = json.loads(review)
    asked["request"]["object"]["metadata"]["labels"] |= {f"example.com/{number}": "a" for number in range(90_000)}
    return json.dumps(asked).encode()


def ask(server: Server, authority: Path, review: bytes) -> Reply:
    with closing(server.client(authority)) as client:
        return admit(client, review)


def started(server: Server, authority: Path, review: bytes) -> int:
    """Post a large review, and return the number of the process that has read it."""
    assert ask(server, authority, large(review)).status == 200
    [child] = children(server)
    return child


def data_bytes(child: int) -> int:
    """Return how much memory for data the process has."""
    lines = Path(f"/proc/{child}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmData"))


def test_is_started_by_the_first_large_review_alone(own: Server, authority: Path, review: bytes) -> None:
    answer = ask(own, authority, review)
    assert children(own) == []
    assert ask(own, authority, large(review)).body == answer.body
    [child] = children(own)
    for each in large_reviews(review):
        assert ask(own, authority, each).body == answer.body
    assert children(own) == [child]
    assert own.get("/readyz").status == 200


def test_what_is_no_review_is_refused_as_a_small_one_is(server: Server, authority: Path) -> None:
    for text in (b'{"kind": "Pod"}', b"[1, x", b"\xff\xfe"):
        refused = ask(server, authority, large(text))
        assert (refused.status, refused.body) == (400, ask(server, authority, text).body)
    assert ask(server, authority, b"[" * 100_000).status == 400


def test_nothing_is_lost_where_it_is_killed_between_two_reviews(own: Server, authority: Path, review: bytes) -> None:
    child = started(own, authority, review)
    with admitting(own, authority, review) as statuses:
        for _ in range(3):
            os.kill(child, signal.SIGKILL)
            assert own.get("/readyz").status == 200
            wait_until(lambda child=child: not Path(f"/proc/{child}").exists(), "its end, reaped")  # type: ignore[misc]
            child = started(own, authority, review)
    assert set(statuses) == {200}


def test_others_are_admitted_while_it_hangs(own: Server, authority: Path, review: bytes) -> None:
    child = started(own, authority, review)
    with admitting(own, authority, review) as statuses:
        os.kill(child, signal.SIGSTOP)
        refused = ask(own, authority, large_reviews(review)[0])
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert refused.json()["message"] == "the review was not read in 4 s: ask again, or make the pod smaller"
        assert own.get("/readyz").status == 200
        assert started(own, authority, review) != child
    assert set(statuses) == {200}


def test_others_are_admitted_where_it_has_too_little_memory(own: Server, authority: Path, review: bytes) -> None:
    child = started(own, authority, review)
    with admitting(own, authority, review) as statuses:
        resource.prlimit(child, resource.RLIMIT_DATA, (data_bytes(child) + (6 << 20),) * 2)
        refused = ask(own, authority, labelled(review))
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert refused.json()["message"].endswith("ask again")  # what wants memory in vain may also end the process
        assert ask(own, authority, labelled(review)).status == 200
        assert children(own) != [child]
    assert set(statuses) == {200}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_does_not_outlive_the_webhook(own: Server, authority: Path, review: bytes, number: signal.Signals) -> None:
    child = started(own, authority, review)
    os.kill(child, signal.SIGSTOP)  # it can close nothing by itself
    own.process.send_signal(number)
    own.process.wait(20)
    wait_until(lambda: not runs(child), "its end")


def test_is_bounded_and_yields_to_admission(own: Server, authority: Path, review: bytes) -> None:
    child = started(own, authority, review)
    assert resource.prlimit(child, resource.RLIMIT_DATA)[0] <= 80 << 20
    assert os.getpriority(os.PRIO_PROCESS, child) > os.getpriority(os.PRIO_PROCESS, own.process.pid)


def test_loads_little() -> None:
    script = "import webhook.serve.review_reader, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert not {name.partition(".")[0] for name in loaded} & {
        "click",
        "pydantic",
        "kubernetes",
        "flask",
        "asyncio",
        "ssl",
    }
    assert not loaded & {"webhook.core.review", "webhook.core.profiles"}


@pytest.fixture
def process() -> Iterator[ReviewProcess]:
    with closing(ReviewProcess(seconds=20)) as process:
        yield process


def number_of(process: ReviewProcess) -> int:
    assert process._child is not None
    return process._child._process.pid


def test_reads_what_is_read_here(process: ReviewProcess, review: bytes) -> None:
    for each in (review, *large_reviews(review)):
        assert process.reduce(each, NONE) == orjson.loads(reduce_review(each, NONE))
    first = number_of(process)
    with pytest.raises(MalformedReview, match="the body is not JSON"):
        process.reduce(b"x", NONE)
    with pytest.raises(MalformedReview, match="MB of memory, and at most 40 are given to one"):
        process.reduce(b"[" + b"{}," * 1_000_000, NONE)
    assert number_of(process) == first


def test_is_killed_where_it_takes_too_long(review: bytes) -> None:
    with closing(ReviewProcess(seconds=1)) as process:
        process.reduce(review, NONE)
        hung = number_of(process)
        os.kill(hung, signal.SIGSTOP)
        with pytest.raises(Unavailable, match="the review was not read in 1 s: ask again"):
            process.reduce(review, NONE)
        wait_until(lambda: not Path(f"/proc/{hung}").exists(), "its end, reaped")
        assert process.reduce(review, NONE) == orjson.loads(reduce_review(review, NONE))


def test_says_that_it_was_killed_while_it_read(process: ReviewProcess, review: bytes) -> None:
    process.reduce(review, NONE)
    child = number_of(process)
    os.kill(child, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(process.reduce, review, NONE)
        waiting = "_receive"
        wait_until(
            lambda: waiting in [frame.f_code.co_name for frame in sys._current_frames().values()], "the question"
        )
        os.kill(child, signal.SIGKILL)
        with pytest.raises(Unavailable, match=r"has ended \(Killed\): ask again"):
            asked.result()
    assert process.reduce(review, NONE) == orjson.loads(reduce_review(review, NONE))


def test_is_started_anew_where_it_has_ended_because_nothing_came(review: bytes) -> None:
    with closing(ReviewProcess(idle_seconds=0.05, seconds=20)) as process:
        for _ in range(2):
            assert process.reduce(review, NONE) == orjson.loads(reduce_review(review, NONE))
            first = number_of(process)
            wait_until(lambda first=first: not Path(f"/proc/{first}").exists(), "its end, reaped")  # type: ignore[misc]


def test_says_what_is_wrong_with_the_largest_review_too(process: ReviewProcess) -> None:
    """It has not the memory that orjson asks for."""
    text = b"x" * (Limits().body_bytes - 100)
    with pytest.raises(MalformedReview, match="expected apiVersion"):
        process.reduce(b'{"request": ["%b"]}' % text, NONE)
    with pytest.raises(MalformedReview, match="the body is not JSON: Input data was truncated"):
        process.reduce(b'{"request": ["%b"' % text, NONE)


@pytest.mark.parametrize("size", [2_500_000, 3_500_000, 4_500_000, 5_500_000])
def test_says_what_is_wrong_where_there_are_very_many_long_characters(process: ReviewProcess, size: int) -> None:
    """They take four times the room of their bytes, beside what is needed to read them."""
    letters = [chr(0x1F300 + number) for number in range(64)]
    words = ["".join(each) for each in islice(product(letters, repeat=4), size // 37)]
    text = json.dumps({word: word for word in words}, ensure_ascii=False, separators=(",", ":")).encode()
    with pytest.raises(MalformedReview, match="expected apiVersion"):
        process.reduce(text.ljust(size), NONE)


def test_says_that_it_cannot_be_started(process: ReviewProcess, review: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as changed:
        changed.setattr("sys.executable", "/nowhere/python")
        with pytest.raises(Unavailable, match=r"cannot be started \(No such file or directory\): ask again"):
            process.reduce(review, NONE)
    assert process.reduce(review, NONE) == orjson.loads(reduce_review(review, NONE))


def test_does_not_wait_for_a_thread_that_has_no_memory_to_begin(
    process: ReviewProcess, review: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(threading.Thread, "_bootstrap_inner", fails)
    monkeypatch.setattr(review_process._Child, "_reap", fails)
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    for _ in range(2):
        assert process.reduce(review, NONE) == orjson.loads(reduce_review(review, NONE))
        os.kill(number_of(process), signal.SIGKILL)
        wait_until(lambda: process._child is not None and process._child.has_ended(), "its end")


def test_a_review_is_refused_where_each_process_ends_at_once(
    process: ReviewProcess, review: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review_process, "_MODULE", "keyword")  # it ends without a word, and with status 0
    with pytest.raises(Unavailable, match=r"has ended \(status 0\): ask again"):
        process.reduce(review, NONE)


def test_no_review_gets_the_answer_to_another(
    process: ReviewProcess, review: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(child: object, deadline: float) -> bytes:
        raise MemoryError

    process.reduce(review, NONE)
    with monkeypatch.context() as changed:
        changed.setattr(review_process._Child, "_receive", fails)
        with pytest.raises(MemoryError):
            process.reduce(review, NONE)
    other = review.replace(json.loads(review)["request"]["uid"].encode(), b"another")
    assert process.reduce(other, NONE) == orjson.loads(reduce_review(other, NONE))


@pytest.mark.parametrize(
    ("kind", "length", "told", "further"),
    [
        ("z", 2, "{}", ""),
        ("r", 2**32 - 1, "{}", ""),
        ("r", 2, "{}", "x"),
        ("r", 4, "nose", ""),
        ("r", 0, "", ""),
        ("r", 2, "[]", ""),
        ("r", 2, "{}", ""),
        ("r", 14, '{"request": 1}', ""),
        ("r", 27, '{"request": {"object": {}}}', ""),
        ("r", 37, '{"request": {"uid": "a", "object":{}}}', ""),
    ],
    ids=str,
)
def test_an_answer_that_cannot_be_read_is_refused_and_the_process_ended(
    process: ReviewProcess,
    review: bytes,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    kind: str,
    length: int,
    told: str,
    further: str,
) -> None:
    (tmp_path / "spoilt_reader.py").write_text(
        f"""
import os, socket, sys, time
from webhook.serve.review_reader import ANSWERED
with socket.socket(fileno=int(sys.argv[-2])) as asked:
    asked.recv(1)
    os.pwrite(int(sys.argv[-1]), {told.encode()!r}, 0)
    asked.sendall(ANSWERED.pack(b"{kind}", {length}) + {further.encode()!r})
    time.sleep(60)
"""
    )
    with monkeypatch.context() as changed:
        changed.setenv("PYTHONPATH", str(tmp_path))
        changed.setattr(review_process, "_MODULE", "spoilt_reader")
        with pytest.raises(Unavailable, match="answered what cannot be read: ask again"):
            process.reduce(review, NONE)
    assert process.reduce(review, NONE) == orjson.loads(reduce_review(review, NONE))


def test_a_review_that_has_waited_too_long_is_not_begun(process: ReviewProcess, review: bytes) -> None:
    process.reduce(review, NONE)
    first = number_of(process)
    with pytest.raises(Unavailable, match="the review was not read in 20 s: ask again"):
        process.reduce(review, NONE, time.monotonic() - 19.6)
    assert process.reduce(review, NONE, time.monotonic() - 10) == orjson.loads(reduce_review(review, NONE))
    assert number_of(process) == first


def test_nothing_of_a_review_is_kept(process: ReviewProcess, review: bytes) -> None:
    """Also not by an exception in a cycle, which would hold it until the next collection."""
    text = large(review)
    gc.collect()
    for each, failure in ((text, None), (b"x" * len(text), MalformedReview), (b"[" * len(text), RecursionError)):
        before = sys.getrefcount(each)
        if failure is None:
            process.reduce(each, NONE)
        else:
            with contextlib.suppress(failure, MalformedReview):
                process.reduce(each, NONE)
        assert sys.getrefcount(each) == before


def test_says_that_there_is_no_room_for_a_review(
    process: ReviewProcess, review: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    process.reduce(review, NONE)
    first = number_of(process)
    with monkeypatch.context() as changed:
        changed.setattr(os, "posix_fallocate", fails)
        with pytest.raises(Unavailable, match=r"no room for the review \(No space left on device\): ask again"):
            process.reduce(large(review), NONE)
    with pytest.raises(Unavailable, match=r"no room for the review \(File too large\): ask again"):
        process.reduce(b" " * (ROOM_BYTES + 1), NONE)
    assert process.reduce(large(review), NONE) == orjson.loads(reduce_review(review, NONE))
    assert number_of(process) == first


def test_what_a_long_review_took_is_given_back(process: ReviewProcess, review: bytes) -> None:
    longest = review.ljust(6 << 20)
    for _ in range(3):
        assert process.reduce(longest, NONE) == orjson.loads(reduce_review(longest, NONE))
        assert process._child is not None
        assert os.fstat(process._child._file).st_blocks * 512 <= review_process.KEPT_BYTES


def test_the_process_that_reads_cannot_take_away_what_this_one_looks_into(
    process: ReviewProcess, review: bytes
) -> None:
    process.reduce(review, NONE)
    assert process._child is not None
    for length in (0, 2 * ROOM_BYTES):
        with pytest.raises(PermissionError):
            os.ftruncate(process._child._file, length)


def test_a_large_review_that_is_soon_read_needs_no_process(own: Server, authority: Path, review: bytes) -> None:
    answer = ask(own, authority, review)
    asked = json.loads(review)
    asked["request"]["object"]["spec"]["schedulerName"] = "a" * 500_000
    assert ask(own, authority, json.dumps(asked).encode()).body == answer.body
    asked["request"]["object"]["spec"] |= {"schedulerName": "a", "imagePullSecrets": [{"name": "a"}] * 5_000}
    assert ask(own, authority, json.dumps(asked).encode()).body == answer.body
    assert children(own) == []
    asked["request"]["object"]["spec"]["imagePullSecrets"] *= 10
    assert ask(own, authority, json.dumps(asked).encode()).body == answer.body
    assert len(children(own)) == 1
