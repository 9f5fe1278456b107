"""Read parts of a cluster in parallel; what cannot be read is noted, so that the rest can be judged."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Self, TypeVar

from webhook.core.errors import InputError, Unavailable
from webhook.core.model import Object
from webhook.diagnose.explain.observation import named
from webhook.diagnose.listing import Found, Listing, Unread
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.reader import Reader
from webhook.kube.resource import Key, Resource

T = TypeVar("T")

REQUEST_SECONDS = 30.0
AT_A_TIME = 8
MOST_BROKEN = 5
"""How many broken objects of one list are named; of a thousand, nobody reads each."""


class Collector:
    """Read while the `with` block lasts. *tell* gets a sentence on how far it is, from any thread but one at a time.

    *most_pages*: how much of one list is read. ``unread``: what was left out, and why.
    """

    def __init__(
        self,
        connection: Connection,
        tell: Callable[[str], None] = lambda _: None,
        *,
        most_pages: int,
    ) -> None:
        self.reader = Reader(connection, REQUEST_SECONDS)
        self.unread: list[Unread] = []
        self._most_pages = most_pages
        self._tell = tell
        self._done = self._begun = 0
        self._lock = threading.Lock()
        self._workers = _Workers()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._workers.stop(is_done=error is None)

    def begin(self, read: Callable[[], T]) -> Future[T]:
        """Call *read* beside others."""
        with self._lock:
            self._begun += 1

        def work() -> T:
            value = read()
            with self._lock:
                self._done += 1
                self._tell(f"read {self._done} of {self._begun}")
            return value

        return self._workers.submit(work)

    def read_list(
        self, resource: Resource, keep: Callable[[Object], T | None], namespace: str = ""
    ) -> Listing[T]:
        """List a resource, of one namespace or of all; *keep* takes what matters of each object, None to pass it over.

        Raises RequestFailed where it may not be listed. What is left out is noted.
        """
        kept: list[T] = []
        broken: list[tuple[str, str]] = []
        seen, installed, more = 0, False, False
        for page in self.reader.pages(resource, keep, namespace, most=self._most_pages):
            installed = True
            kept += [value for value in page.objects if value is not None]
            broken += page.broken
            seen, more = seen + len(page.objects), page.more
            with self._lock:
                self._tell(f"{seen:,} {resource.name}")
        notes = [
            Unread(name, f"cannot be read, so that it is left out: {problem}")
            for name, problem in broken
        ]
        if len(notes) > MOST_BROKEN:
            rest = f"{len(notes) - MOST_BROKEN:,} more cannot be read, so that they are left out"
            notes[MOST_BROKEN:] = [Unread(resource.name, rest)]
        if more:
            notes.append(Unread(resource.name, f"only the first {seen:,} were read"))
        self.unread += notes
        return Listing(tuple(kept), installed=installed, is_complete=not notes, broken=len(broken))

    def begin_list(
        self, what: str, resource: Resource, keep: Callable[[Object], T | None], namespace: str = ""
    ) -> Future[Listing[T]]:
        """Begin to list it; where that part, *what*, may not be listed, that is noted and is the problem of the answer."""
        return self.begin(lambda: self.list_part(what, resource, keep, namespace))

    def list_part(
        self, what: str, resource: Resource, keep: Callable[[Object], T | None], namespace: str = ""
    ) -> Listing[T]:
        """List it now, as `begin_list` does."""
        try:
            return self.read_list(resource, keep, namespace)
        except Unavailable as error:
            return Listing(problem=self.note(what, error))

    def find_part(
        self, what: str, resource: Resource, key: Key, keep: Callable[[Object], T]
    ) -> Found[T]:
        """Get one object; where that part, *what*, may not be read, that is noted and is the problem of the answer."""
        try:
            return Found(self.reader.find(resource, key, keep))
        except Unavailable as error:
            return Found(problem=self.note(what, error))

    def begin_part(self, what: str, read: Callable[[], T]) -> Future[T | None]:
        """Begin to call *read*, for None and a note where that part, *what*, cannot be read."""
        return self.begin(lambda: self.part(what, read))

    def part(self, what: str, read: Callable[[], T]) -> T | None:
        """Return what *read* does now, as `begin_part` does."""
        try:
            return read()
        except Unavailable as error:
            self.note(what, error)
            return None

    def note(self, what: str, error: Unavailable | str) -> str:
        """Note that this part cannot be read; return why."""
        self._note(what, "cannot be read", str(error))
        return str(error)

    def note_pods(self, what: str, failed: Mapping[str, Sequence[str]]) -> None:
        """Note of which pods this part cannot be read; *failed*: their names by why."""
        for problem, pods in failed.items():
            self._note(what, f"of {named(pods)} cannot be read", problem)

    def _note(self, what: str, found: str, why: str) -> None:
        self.unread.append(Unread(what, f"{found}, so that part is unknown: {why}"))

    def notes(self) -> tuple[Unread, ...]:
        """Return each note once, in an order that does not depend on which thread was first."""
        return tuple(sorted(set(self.unread)))


def without_pods(
    error: RequestFailed, namespace: str, command: str, does: str = "lists"
) -> Unavailable | InputError:
    """Return what a *command* that *does* list pods, of all namespaces or of one, fails with where they may not be listed."""
    if error.status == 401:
        return InputError(f"{error}; log in to the cluster again")
    if error.status == 403:
        where = f"in namespace {namespace}" if namespace else "in all namespaces"
        advice = "ask for it" if namespace else "ask for it, or name a namespace of yours by -n"
        return InputError(f"{error}; {command} {does} pods {where}: {advice}")
    return error


class _Workers:
    """Do work in up to AT_A_TIME threads. They are daemons: who interrupts a command waits for no server that is silent."""

    def __init__(self) -> None:
        self._work: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Do it beside others; any thread may ask."""
        future: Future[T] = Future()
        self._work.put((future, work))
        with self._lock:
            if len(self._threads) < AT_A_TIME:
                self._threads.append(
                    threading.Thread(target=self._run, name="collect", daemon=True)
                )
                self._threads[-1].start()
        return future

    def stop(self, *, is_done: bool) -> None:
        """End the threads; where all is *done*, wait until they have ended, else give up what is not begun."""
        while not is_done:
            try:
                left = self._work.get_nowait()
            except Empty:
                break
            if left is not None:
                left[0].cancel()
        for _ in self._threads:
            self._work.put(None)
        if is_done:
            for thread in self._threads:
                thread.join()

    def _run(self) -> None:
        while (next_one := self._work.get()) is not None:
            future, work = next_one
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work())
            except BaseException as error:  # whoever asks for the result gets it
                future.set_exception(error)
            del future, work, next_one  # a thread that waits holds on to nothing
