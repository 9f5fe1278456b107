"""Do one kind of work again and again while this replica leads: threads, pauses and complaints."""

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from webhook.kube.connection import RequestFailed
from webhook.kube.informer import Informer

log = logging.getLogger(__name__)

FOLLOWER_SECONDS = 0.5
"""How often one that does not lead looks whether it does."""
SETTLE_SECONDS = 0.2
"""How long to wait after a change for those that come with it."""
MOST_REST_SECONDS = 120.0
MOST_PAUSE_SECONDS = 300.0
STOP_SECONDS = 1.0


class LeaderLoop(ABC):
    """Take a turn again and again in a thread of its own, while *may_write*.

    A turn that fails is logged once, as ``fault``, and taken again after a pause. That grows up to
    ``most_pause_seconds``, unless the API server asks for another. ``rest``: how many times as long
    as a turn took nothing is done after it. ``watches`` run as long as the thread. ``failures``:
    how many turns in a row have failed.
    """

    fault = ""
    rest = 0.0
    most_pause_seconds = MOST_PAUSE_SECONDS
    watches: tuple[Informer[Any], ...] = ()

    def __init__(
        self, may_write: Callable[[], bool], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.failures = 0
        self._leads, self._monotonic = may_write, monotonic
        self._problem = ""
        self._stopped, self._woken = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name=type(self).__name__, daemon=True)

    @abstractmethod
    def turn(self) -> float:
        """Do what is to be done; return the seconds until the next time. Raises RequestFailed."""

    def lost(self) -> None:  # noqa: B027  # most forget nothing
        """Forget what holds for a leader only; called again and again while another leads."""

    def start(self) -> None:
        """Start the threads."""
        for watch in self.watches:
            watch.start()
        self._thread.start()

    def stop(self) -> None:
        """End the threads, within a second or two. No write begins any more."""
        self._stopped.set()
        self._woken.set()
        for watch in self.watches:
            watch.stop()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def watch(self, *watches: Informer[Any]) -> None:
        """Start some watches later than the rest; they end with it."""
        self.watches += watches
        for watch in watches if not self._stopped.is_set() else ():
            watch.start()

    def wake(self, *_: object) -> None:
        """Take a turn soon, or look who leads; any thread may ask, and a watch for any change."""
        self._woken.set()

    def may_write(self) -> bool:
        """Tell whether a write may begin now."""
        return not self._stopped.is_set() and self._leads()

    def do_each(self, writes: Iterable[Callable[[], None]]) -> None:
        """Do each of the writes while this replica leads; one that fails keeps no other from it.

        Raises RequestFailed, the last one, once all are done or no connection is to be had.
        """
        failed: RequestFailed | None = None
        for write in writes:
            if not self.may_write():
                break
            try:
                write()
            except RequestFailed as error:
                failed = error
                if error.is_unconnected:
                    break
        if failed is not None:
            raise failed

    def _run(self) -> None:
        seconds = 0.0
        while not self._stopped.is_set():
            self._woken.wait(seconds)
            self._woken.clear()
            if not self.may_write():
                self.lost()
                seconds = FOLLOWER_SECONDS
                continue
            self._stopped.wait(SETTLE_SECONDS)
            self._woken.clear()
            began = self._monotonic()
            seconds = self._try()
            took = self._monotonic() - began
            self._stopped.wait(min(self.rest * took, MOST_REST_SECONDS))

    def _try(self) -> float:
        try:
            seconds = self.turn()
            self.failures, self._problem = 0, ""
            return seconds
        except RequestFailed as error:
            after = error.retry_after_seconds
            self._say(str(error))
        except Exception as error:  # the next turn may go better
            after = 0.0
            self._say(f"internal error: {error!r}", exc_info=True)
        self.failures = min(self.failures + 1, 10)
        return max(min(after, MOST_PAUSE_SECONDS), min(self.most_pause_seconds, 2.0**self.failures))

    def _say(self, problem: str, *, exc_info: bool = False) -> None:
        if problem != self._problem:
            log.warning("%s: %s; trying again", self.fault, problem, exc_info=exc_info)
        self._problem = problem
