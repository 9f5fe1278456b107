"""Keep what is needed of all objects of one resource, whatever happens to the watch."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from webhook.core.model import Object
from webhook.kube.connection import Connection
from webhook.kube.list_watch import SILENCE_SECONDS, ListWatch, Restart, WatchError
from webhook.kube.resource import Key, Resource, key_text, object_key

T = TypeVar("T")

LEAST_BACKOFF_SECONDS = 0.5
MOST_BACKOFF_SECONDS = 30.0
MOST_BROKEN = 3
"""Most failures that count for the backoff while the server does not answer: after a short restart of its nobody waits 30 s."""
HEALTHY_SECONDS = 30.0
"""How long a watch must have lasted for the backoff to begin anew."""
STOP_SECONDS = 1.0
MOST_COMPLAINTS = 5
"""How many unreadable objects are logged each time that all are listed."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _End:
    """Say what ended a turn: the error's text and not the error, which would hold on to all that was in hand."""

    restart: Restart
    problem: str = ""
    after_seconds: float = 0.0
    status: int = 0


class Reflector(Generic[T]):
    """Hold in ``items`` what *transform* keeps of each object (None: nothing). Any thread may read; one writes.

    *on_change* is called by that thread after ``items`` changed, with the key and the value, None for one that is gone;
    *on_listed* after ``items`` holds all that was listed.
    *on_restart* gets the resource's name and the reason, a Restart. ``synced``: all was listed once. ``installed``: whether the
    resource was there when last listed. ``last_contact``: monotonic time of the last answer. ``problem``: what ended the last turn
    before its time.
    ``unreadable``: why *transform* cannot read an object as it is now, by key.
    """

    def __init__(
        self,
        connection: Connection,
        resource: Resource,
        transform: Callable[[Object], T | None],
        *,
        on_change: Callable[[Key, T | None], None] = lambda _key, _value: None,
        on_listed: Callable[[], object] = lambda: None,
        on_restart: Callable[[str, str], None] = lambda _resource, _reason: None,
        monotonic: Callable[[], float] = time.monotonic,
        uniform: Callable[[float, float], float] = random.uniform,
        pause: Callable[[float], object] | None = None,
        silence_seconds: float = SILENCE_SECONDS,
    ) -> None:
        self.resource = resource
        self.items: dict[Key, T] = {}
        self.synced = False
        self.installed = True
        self.last_contact = monotonic()
        self.problem = ""
        self.unreadable: dict[Key, str] = {}
        self._transform = transform
        self._on_change = on_change
        self._on_listed = on_listed
        self._on_restart = on_restart
        self._monotonic = monotonic
        self._uniform = uniform
        self._stopped = threading.Event()
        self._pause = pause or self._stopped.wait
        self._source = ListWatch(connection, resource, uniform, silence_seconds)
        self._thread = threading.Thread(target=self.run, name=f"watch-{resource.name}", daemon=True)
        self._to_refresh: set[str] = set()
        self._is_interrupted = threading.Event()
        self._version = ""
        self._unreadable = 0

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """End within seconds; the thread is a daemon, so that one which hangs holds nothing up."""
        self._stopped.set()
        self._source.stop()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def refresh(self, namespace: str) -> None:
        """List the objects of a namespace anew, since *transform* would keep others of them now. Any thread may ask."""
        self._to_refresh.add(namespace)
        self._is_interrupted.set()
        self._source.interrupt()

    def doubt(self, stale_seconds: float) -> str:
        """Say why ``items`` cannot be trusted, empty where they can: nothing listed yet, or *stale_seconds* without an answer."""
        problem = f" ({self.problem})" if self.problem else ""
        if not self.synced:
            return f"not listed yet{problem}"
        silent = self._monotonic() - self.last_contact
        return (
            f"no contact with the API server for {silent:.0f} s{problem}"
            if silent > stale_seconds
            else ""
        )

    def run(self) -> None:
        """List and watch until stopped, with a growing pause after each turn that failed or was short."""
        failures = 0
        while not self._stopped.is_set():
            began = self._monotonic()
            end = self._turn()
            if self._stopped.is_set():
                return
            if self._is_interrupted.is_set() and end.restart in (Restart.ENDED, Restart.BROKEN):
                self._is_interrupted.clear()
                continue
            healthy = self._monotonic() - began >= HEALTHY_SECONDS
            failures = 0 if healthy else failures + 1
            if end.restart is Restart.BROKEN:
                failures = min(failures, MOST_BROKEN)
            elif end.restart is Restart.NOT_INSTALLED:
                failures = 0
            self._report(end)
            if end.problem or not healthy:
                most = min(MOST_BACKOFF_SECONDS, LEAST_BACKOFF_SECONDS * 2 ** min(failures, 10))
                self._pause(end.after_seconds + self._uniform(0.0, most))

    def _turn(self) -> _End:
        """List where need be, then watch; say what ended it."""
        self._unreadable = 0
        try:
            if not self._version:
                self._version = self._list()
            for namespace in tuple(self._to_refresh):
                self._refresh(namespace)
            self._watch()
        except WatchError as error:
            if error.restart is Restart.NOT_INSTALLED:
                self.installed = False
                self._contact()
                self._replace({})
            if error.relist:
                self._version = ""
            return _End(error.restart, str(error), error.after_seconds)
        except Exception as error:  # whatever it is, the next turn may go better; without this thread nothing is seen any more
            _log.exception("watch of %s: unexpected failure", self.resource.name)
            self._version = ""
            return _End(Restart.INVALID, repr(error))
        return _End(Restart.ENDED)

    def _report(self, end: _End) -> None:
        if end.problem and end.problem != self.problem:
            _log.warning("watch of %s: %s; trying again", self.resource.name, end.problem)
        self.problem = end.problem
        self._on_restart(self.resource.name, end.restart)

    def _list(self) -> str:
        """Bring ``items`` to what is there now; give the version to watch from."""
        self._to_refresh.clear()
        self.unreadable.clear()
        found: dict[Key, T] = {}
        version = ""
        for page_version, objects in self._source.pages():
            self._contact()
            version = version or page_version
            for obj in objects:
                key, value = self._read(obj)
                if value is not None:
                    found[key] = value
        self.installed = True
        self._replace(found)
        return version

    def _refresh(self, namespace: str) -> None:
        """List one namespace. The watch goes on where it was: what it brings again is older for a moment, and ends as it is now."""
        for _, objects in self._source.pages(namespace):
            self._contact()
            for obj in objects:
                self._set(*self._read(obj))
        self._to_refresh.discard(namespace)

    def _watch(self) -> None:
        for event in self._source.events(self._version):
            if self._stopped.is_set() or self._to_refresh:
                return
            self._contact()
            if event.kind in ("ADDED", "MODIFIED"):
                self._set(*self._read(event.object))
            elif event.kind == "DELETED":
                key, _ = self._read(event.object)
                self.unreadable.pop(key, None)
                self._set(key, None)
            self._version = event.version or self._version

    def _contact(self) -> None:
        self.last_contact = self._monotonic()

    def _read(self, obj: Any) -> tuple[Key, T | None]:
        """Read key and value; of an object that cannot be read, what was known of it stays."""
        key: Key = ("", "")
        try:
            key = object_key(obj)
            value = self._transform(obj)
            self.unreadable.pop(key, None)
            return key, value
        except Exception as error:  # one broken object must not hide the others
            self.unreadable[key] = str(error)
            self._unreadable += 1
            if self._unreadable <= MOST_COMPLAINTS:
                _log.warning(
                    "%s %s: cannot be read, ignored (%r)", self.resource.name, key_text(key), error
                )
            return key, self.items.get(key)

    def _replace(self, found: dict[Key, T]) -> None:
        for key in self.items.keys() - found.keys():
            self._set(key, None)
        for key, value in found.items():
            self._set(key, value)
        self.synced = True
        try:
            self._on_listed()
        except Exception:  # as above
            _log.exception("%s: list not handled", self.resource.name)

    def _set(self, key: Key, value: T | None) -> None:
        if self.items.get(key) == value:
            return
        if value is None:
            del self.items[key]
        else:
            self.items[key] = value
        try:
            self._on_change(key, value)
        except Exception:  # as above
            _log.exception("%s %s: change not handled", self.resource.name, key_text(key))
