"""Leaders and writers in simulated time: one thread at a time runs, and the network errs."""

import copy
import heapq
import itertools
import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from webhook.kube.connection import WRITE_SECONDS, Connection, RequestFailed, Response
from webhook.kube.lease import Leader

BEGAN = datetime(2026, 11, 21, 12, tzinfo=UTC)
LEASES = "/apis/coordination.k8s.io/v1/namespaces/fabric-injector/leases"
PATH = f"{LEASES}/fabric-injector"
Delays: TypeAlias = tuple[float | None, float | None]


class Clock:
    """Time passes only while all threads wait; `run_until` lets it."""

    def __init__(self) -> None:
        self.time = 0.0
        self._due: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = itertools.count()
        self._given_back = threading.Semaphore(0)

    def at(self, when: float, call: Callable[[], object]) -> None:
        """Call at that time."""
        heapq.heappush(self._due, (max(when, self.time), next(self._numbers), call))

    def run_until(self, when: float) -> None:
        """Let time pass."""
        while self._due and self._due[0][0] <= when:
            self.time, _, call = heapq.heappop(self._due)
            call()
        self.time = when

    def thread(self, run: Callable[[], object]) -> None:
        """Start a thread, which may `sleep`."""

        def body() -> None:
            try:
                run()
            finally:
                self._given_back.release()

        def start() -> None:
            threading.Thread(target=body, daemon=True).start()
            self._given_back.acquire()

        self.at(self.time, start)

    def sleep(self, seconds: float) -> None:
        """Wait, in a thread."""
        woken = threading.Semaphore(0)

        def wake() -> None:
            woken.release()
            self._given_back.acquire()

        self.at(self.time + seconds, wake)
        self._given_back.release()
        woken.acquire()


class Store:
    """The Lease as the API server keeps it."""

    def __init__(self, **spec: Any) -> None:
        self.lease: dict[str, Any] | None = None
        self._version = 0
        if spec:
            self.put(spec)

    def put(self, spec: Any, **metadata: Any) -> None:
        """Write it, whoever holds it."""
        self._version += 1
        metadata = {
            "name": "fabric-injector",
            "uid": "u1",
            **metadata,
            "resourceVersion": str(self._version),
        }
        self.lease = {"metadata": metadata, "spec": copy.deepcopy(spec)}

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        spec: dict[str, Any] = self.lease["spec"]
        return spec

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        assert path == (LEASES if method == "POST" else PATH)
        if method == "POST":
            if self.lease is not None:
                return 409, {"message": "already exists"}
        elif self.lease is None:
            return 404, {"message": "not found"}
        elif (
            method == "PUT"
            and body["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]
        ):
            return 409, {"message": "the object has been modified"}
        if method != "GET":
            status = 200 if self.lease else 201
            self.put(body["spec"], **body["metadata"])
            return status, copy.deepcopy(self.lease)
        return 200, copy.deepcopy(self.lease)


class Link(Connection):
    """One process' way to the store. `delays`: seconds to it and back; None: it leads nowhere."""

    def __init__(self, clock: Clock, store: Store) -> None:
        self._clock = clock
        self._store = store
        self.delays: Callable[[], Delays] = lambda: (0.01, 0.01)
        self.refusals: list[tuple[int, float]] = []
        self.sent: list[tuple[str, float]] = []

    def request(self, method: str, path: str, **given: Any) -> Response:
        timeout: float = given["timeout"]
        assert 0 < timeout <= 3
        self.sent.append((method, self._clock.time))
        there, back = self.delays()
        if self.refusals:
            status, after = self.refusals.pop(0)
            if status >= 429:
                raise RequestFailed("refused", status, after)
            return Response(f"{method} {path}", status, {}, b'{"message": "no role"}')
        body = copy.deepcopy(given.get("body"))
        answers: list[tuple[int, Any]] = []
        if there is not None:
            self._clock.at(
                self._clock.time + there,
                lambda: answers.append(self._store.answer(method, path, body)),
            )  # also long after the sender has given up
        if there is None or back is None or there + back > timeout:
            self._clock.sleep(timeout)
            raise RequestFailed("timed out")
        self._clock.sleep(there + back)
        status, value = answers[0]
        return Response(f"{method} {path}", status, {}, json.dumps(value).encode())


class Process:
    """A Leader with a clock of its own, and a writer: `writes`: when each began and ended."""

    def __init__(
        self,
        clock: Clock,
        store: Store,
        name: str,
        *,
        rate: float = 1.0,
        offset: float = 0.0,
        write_seconds: Callable[[], float] = lambda: WRITE_SECONDS,
    ) -> None:
        self.clock = clock
        self.link = Link(clock, store)
        self.changes: list[tuple[bool, float]] = []
        self.writes: list[tuple[float, float]] = []
        self.stall_seconds = 0.0
        self.ended = False
        self._writing = True
        self._write_seconds = write_seconds
        self._rate = rate
        self.leader = Leader(
            self.link,
            "fabric-injector",
            "fabric-injector",
            name,
            on_change=lambda held: self.changes.append((held, round(clock.time, 3))),
            monotonic=lambda: offset + rate * clock.time,
            now=lambda: BEGAN + timedelta(seconds=offset + clock.time),
            uniform=lambda low, high: (low + high) / 2,
            pause=self._pause,
        )
        clock.thread(self._run)
        clock.thread(self._write)

    def leads(self) -> bool:
        return self.leader.may_write()

    def stop(self) -> None:
        """End the writer, then give the Lease back."""
        self._writing = False
        self.clock.at(self.clock.time + WRITE_SECONDS, self.leader.stop)

    def _run(self) -> None:
        self.leader.run()
        self.ended = True

    def _pause(self, seconds: float) -> None:
        assert seconds >= 0
        self.clock.sleep(seconds / self._rate + self.stall_seconds)

    def _write(self) -> None:
        while self._writing and not self.ended:
            if self.leader.may_write():
                seconds = self._write_seconds()
                self.writes.append((self.clock.time, self.clock.time + seconds))
            self.clock.sleep(0.25)


def overlaps(processes: list[Process]) -> list[tuple[float, float]]:
    """Give the writes of different processes that were under way at one time."""
    writes = sorted(
        (*write, number) for number, process in enumerate(processes) for write in process.writes
    )
    found = []
    latest: dict[int, float] = {}
    for began, ended, number in writes:
        found += [(began, end) for other, end in latest.items() if other != number and end > began]
        latest[number] = max(ended, latest.get(number, 0.0))
    return found


def kill(process: Process) -> None:
    """Let the process do nothing any more, as after SIGKILL."""
    process.stall_seconds = 1e9
    process.link.delays = lambda: (None, None)
    process._writing = False
