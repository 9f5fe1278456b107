"""Keep what is needed of all objects of one resource, whatever happens to the watch.

List in pages, watch from there on with bookmarks, go on from the last version seen; list again only
where that is too old. Source: kubernetes.io/docs/reference/using-api/api-concepts, "Efficient
detection of changes".
"""

import logging
import random
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from webhook.core.model import Object
from webhook.kube.connection import Connection, RequestFailed, Stream
from webhook.kube.decoding import decode, decode_event, decode_item
from webhook.kube.reader import PAGE_SIZE, Reader
from webhook.kube.resource import Key, Resource, key_text, object_key

T = TypeVar("T")

EXPIRED = 410
LIST_SECONDS = 60.0
WATCH_SECONDS = (240.0, 360.0)
"""How long a watch is asked to last, chosen each time: replicas do not reconnect together."""
SILENCE_SECONDS = 30.0
"""How much longer than asked a connection may stay silent before it counts as dead."""
NOT_INSTALLED_SECONDS = 3.0
"""How long after one look the next one is for a resource that is not there."""
MOST_RETRY_AFTER_SECONDS = 60.0
LEAST_BACKOFF_SECONDS = 0.5
MOST_BACKOFF_SECONDS = 5.0
"""Longest pause after failures: once the API server is back, nobody waits for long."""
HEALTHY_SECONDS = 30.0
"""How long a watch must have lasted for the pauses to be short again."""
STOP_SECONDS = 1.0
MOST_COMPLAINTS = 5
"""How many unreadable objects are logged each time that all are listed."""
_log = logging.getLogger(__name__)


class Informer(Generic[T]):
    """Hold in ``items`` what *read* keeps of each object (None: nothing); one thread writes.

    That thread calls *on_change* after ``items`` changed, with the key and the value, None for one
    that is gone. It calls *on_listed* after all was listed. ``synced``: all was listed once.
    ``installed``: the resource was there when last listed. ``last_contact``: monotonic time of the
    last answer. ``problem``: what ended the last turn before its time.
    """

    def __init__(
        self,
        connection: Connection,
        resource: Resource,
        read: Callable[[Object], T | None],
        *,
        on_change: Callable[[Key, T | None], None] = lambda _key, _value: None,
        on_listed: Callable[[], object] = lambda: None,
        monotonic: Callable[[], float] = time.monotonic,
        uniform: Callable[[float, float], float] = random.uniform,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self.resource = resource
        self.items: dict[Key, T] = {}
        self.synced = False
        self.installed = True
        self.problem = ""
        self.last_contact = monotonic()
        self._connection = connection
        self._reader = Reader(connection, LIST_SECONDS)
        self._keep = read
        self._on_change = on_change
        self._on_listed = on_listed
        self._monotonic = monotonic
        self._uniform = uniform
        self._stopped = threading.Event()
        self._pause = pause or self._stopped.wait
        self._thread = threading.Thread(target=self.run, name=f"watch-{resource.name}", daemon=True)
        self._stream: Stream | None = None
        self._version = ""
        self._complaints = 0

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """End within seconds; the thread is a daemon, so that one which hangs holds nothing up."""
        self._stopped.set()
        if stream := self._stream:
            stream.shut()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def doubt(self, stale_seconds: float) -> str:
        """Say why ``items`` cannot be trusted, empty where they can.

        Nothing is listed yet, or *stale_seconds* have passed without an answer.
        """
        problem = f" ({self.problem})" if self.problem else ""
        if not self.synced:
            return f"not listed yet{problem}"
        silent = self._monotonic() - self.last_contact
        if silent <= stale_seconds:
            return ""
        return f"no contact with the API server for {silent:.0f} s{problem}"

    def run(self) -> None:
        """List and watch until stopped; pause longer after each turn that failed or was short."""
        failures = 0
        while not self._stopped.is_set():
            began = self._monotonic()
            problem = self._try()
            if self._stopped.is_set():
                return
            if problem and problem.status not in (0, 429) and problem.status < 500:
                self._version = ""  # the next watch may not go on from where this one was
            is_absent = problem is not None and self._is_absent(problem)
            is_healthy = self._monotonic() - began >= HEALTHY_SECONDS
            failures = 0 if is_healthy or is_absent else failures + 1
            self._report(str(problem or ""))
            if problem or not is_healthy:
                most = min(MOST_BACKOFF_SECONDS, LEAST_BACKOFF_SECONDS * 2 ** min(failures, 10))
                asked = min(problem.retry_after_seconds, MOST_RETRY_AFTER_SECONDS) if problem else 0
                least = NOT_INSTALLED_SECONDS if is_absent else asked
                self._pause(least + self._uniform(0.0, most))

    def _try(self) -> RequestFailed | None:
        """List where need be, then watch; return what ended it before its time."""
        self._complaints = 0
        try:
            self._turn()
        except RequestFailed as error:
            return error
        except Exception as error:  # without this thread nothing is seen any more
            if not self._stopped.is_set():  # `stop` cuts a read off, which may fail in any way
                _log.exception("watch of %s: unexpected failure", self.resource.name)
            return RequestFailed(repr(error), 200)
        return None

    def _turn(self) -> None:
        if not self._version:
            self._version = self._list()
        seconds = int(self._uniform(*WATCH_SECONDS))
        query = self.resource.query(
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=self._version,
            timeoutSeconds=str(seconds),
        )
        with self._connection.stream(
            self.resource.path,
            query=query,
            headers=self.resource.headers("PartialObjectMetadata"),
            read_timeout=seconds + SILENCE_SECONDS,
        ) as stream:
            self._stream = stream
            self._contact()
            if not self._stopped.is_set():
                self._follow(stream)

    def _follow(self, stream: Stream) -> None:
        for line in stream.lines():
            if self._stopped.is_set():
                return
            if line:
                self._take(line)

    def _is_absent(self, problem: RequestFailed) -> bool:
        """Tell whether the resource is not installed, and need not be: then there are none."""
        if problem.status != 404 or not self.resource.optional:
            return False
        self.installed = False
        self._contact()
        self._replace({})
        return True

    def _list(self) -> str:
        """Bring ``items`` to what is there now; return the version to watch from."""
        found: dict[Key, T] = {}
        version = ""
        for page in self._reader.raw_pages(self.resource, size=PAGE_SIZE):
            self._contact()
            version = version or page.version
            for raw in page.items:
                key, value = self._read(decode_item(raw))
                if value is not None:
                    found[key] = value
        if not version:
            problem = f"{self.resource.name}: the list lacks metadata.resourceVersion"
            raise RequestFailed(problem, 200)
        self.installed = True
        self._replace(found)
        return version

    def _take(self, line: bytes) -> None:
        """Take one line of the watch; raise RequestFailed where it ends the watch."""
        try:
            event = decode_event(line)
            obj = decode(event.object)
            version = (obj.get("metadata") or {}).get("resourceVersion") or ""
        except (ValueError, AttributeError) as error:
            name = type(error).__name__
            problem = f"a line of {len(line)} bytes is no watch event ({name})"
            raise RequestFailed(problem, 200) from None
        self._contact()
        if event.type == "ERROR":
            raise _ended_with(obj)
        if event.type in ("ADDED", "MODIFIED"):
            self._set(*self._read(obj))
        elif event.type == "DELETED":
            key, _ = self._read(obj)
            self._set(key, None)
        self._version = version or self._version

    def _report(self, problem: str) -> None:
        if problem and problem != self.problem:
            _log.warning("watch of %s: %s; trying again", self.resource.name, problem)
        self.problem = problem

    def _contact(self) -> None:
        self.last_contact = self._monotonic()

    def _read(self, obj: Any) -> tuple[Key, T | None]:
        """Read key and value; of an object that cannot be read, what was known of it stays."""
        key: Key = ("", "")
        try:
            key = object_key(obj)
            return key, self._keep(obj)
        except Exception as error:  # one broken object must not hide the others
            self._complaints += 1
            if self._complaints <= MOST_COMPLAINTS:
                name, text = self.resource.name, key_text(key)
                _log.warning("%s %s: cannot be read, ignored (%r)", name, text, error)
            return key, self.items.get(key)

    def _replace(self, found: dict[Key, T]) -> None:
        for key in self.items.keys() - found.keys():
            self._set(key, None)
        for key, value in found.items():
            self._set(key, value)
        self.synced = True
        self._tell("list", self._on_listed)

    def _set(self, key: Key, value: T | None) -> None:
        if self.items.get(key) == value:
            return
        if value is None:
            del self.items[key]
        else:
            self.items[key] = value
        self._tell(key_text(key), lambda: self._on_change(key, value))

    def _tell(self, what: str, call: Callable[[], object]) -> None:
        try:
            call()
        except Exception:  # as in `_try`
            _log.exception("%s %s: change not handled", self.resource.name, what)


def _ended_with(status: Object) -> RequestFailed:
    code = status.get("code")
    message = f"the watch was ended with {code}: {status.get('message')}"
    return RequestFailed(message, EXPIRED if code == EXPIRED else 400)
