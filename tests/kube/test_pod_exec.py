"""How a command is run in a container: what it writes, how it ends, and what is said where it cannot be run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.kube.exec_server import SUCCESS, Answer, ExecServer
from webhook.kube.answer import RequestFailed
from webhook.kube.credentials import Credentials
from webhook.kube.pod_exec import ExecAnswer, run_in_container

POD = ("ml", "bert-0")


def run(answer: Answer, *, most_bytes: int = 10_000, seconds: float = 5.0) -> ExecAnswer:
    with ExecServer(lambda _words: answer) as server:
        found = run_in_container(
            Credentials("test", server.url, authorization=lambda: "Bearer t"),
            POD,
            "main",
            ("cat", "/proc/net/dev"),
            seconds=seconds,
            most_bytes=most_bytes,
        )
        assert server.asked == [("/api/v1/namespaces/ml/pods/bert-0/exec", ("cat", "/proc/net/dev"))]
        return found


def test_what_it_writes_in_several_frames() -> None:
    assert run((101, b"x" * 2500, SUCCESS)) == ExecAnswer(b"x" * 2500)


def test_how_it_failed() -> None:
    failure = {"status": "Failure", "message": 'exec: "cat": executable file not found in $PATH'}
    assert run((101, b"", failure)).problem == 'exec: "cat": executable file not found in $PATH'
    assert run((101, b"half", None)) == ExecAnswer(b"half", "the connection ended before the command did")


def test_no_more_is_kept_than_asked_for() -> None:
    assert len(run((101, b"x" * 50_000, SUCCESS), most_bytes=3000).stdout) == 3000


@pytest.mark.parametrize("status", [400, 403, 404, 500])
def test_who_is_refused_is_told_why(status: int) -> None:
    with pytest.raises(RequestFailed, match=f"answered {status}: cannot create pods/exec") as caught:
        run((status, b"", "cannot create pods/exec"))
    assert caught.value.status == status


def test_a_server_that_is_not_there() -> None:
    gone: Callable[[], ExecAnswer] = lambda: run_in_container(  # noqa: E731
        Credentials("test", "http://127.0.0.1:9"), POD, "main", ("cat",), seconds=1.0, most_bytes=10
    )
    with pytest.raises(RequestFailed, match="pods/bert-0/exec"):
        gone()


IMPORTED_AT_ONCE = """
import sys, threading, time
from webhook.kube.credentials import Credentials
from webhook.kube.pod_exec import run_in_container

class Slow:
    def find_spec(self, name, *_):
        time.sleep(0.001 if name.startswith("kubernetes") else 0)

def run():
    together.wait()
    try:
        run_in_container(Credentials("t", "http://127.0.0.1:9"), ("a", "b"), "c", ["x"], seconds=1.0, most_bytes=10)
    except Exception as error:
        told.append(type(error).__name__)

sys.meta_path.insert(0, Slow())
together, told = threading.Barrier(8), []
threads = [threading.Thread(target=run) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*told)
"""


def test_several_at_once_import_the_library_once() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED_AT_ONCE], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["RequestFailed"] * 8, done.stderr
