"""Do one kind of work again and again while this replica leads: thread, pauses and complaints."""

import logging
import threading
import time
from collections.abc import Callable, Iterable

from webhook.kube.connection import RequestFailed

log = logging.getLogger(__name__)

FOLLOWER_SECONDS = 0.5
"""How often one that does not lead looks whether it does."""
SETTLE_SECONDS = 0.2
"""How long to wait after a change for those that come with it."""
MOST_REST_SECONDS = 120.0
MOST_PAUSE_SECONDS = 300.0
STOP_SECONDS = 1.0


class LeaderLoop:
    """Take a *turn* again and again in a thread of its own, while *may_write*.

    *turn* returns the seconds until the next one, if nobody wakes it before. One that fails is
    logged once, as *fault*, and tried again after a pause that grows, or that the API server asks
    for. *on_lost* is called where this replica does not lead. *rest*: how many times as long as a
    turn took nothing is done after it. ``failures``: how many turns in a row have failed.
    """

    def __init__(
        self,
        name: str,
        turn: Callable[[], float],
        may_write: Callable[[], bool],
        *,
        fault: str,
        on_lost: Callable[[], object] = lambda: None,
        rest: float = 0.0,
        most_pause_seconds: float = MOST_PAUSE_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.failures = 0
        self._turn, self._leads, self._on_lost = turn, may_write, on_lost
        self._fault, self._rest, self._most_pause = fault, rest, most_pause_seconds
        self._monotonic = monotonic
        self._problem = ""
        self._stopped, self._woken = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> bool:
        """End the thread, for which it waits a second; tell whether it has ended."""
        self._stopped.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)
        return not self._thread.is_alive()

    def wake(self) -> None:
        """Take a turn soon; any thread may ask."""
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
            if not self.may_write():
                self._on_lost()
                self._stopped.wait(FOLLOWER_SECONDS)
                seconds = 0.0
                continue
            self._stopped.wait(SETTLE_SECONDS)
            self._woken.clear()
            began = self._monotonic()
            seconds = self._try()
            took = self._monotonic() - began
            self._stopped.wait(min(self._rest * took, MOST_REST_SECONDS))

    def _try(self) -> float:
        try:
            seconds = self._turn()
            self.failures, self._problem = 0, ""
            return seconds
        except RequestFailed as error:
            after = error.retry_after_seconds
            self._say(str(error))
        except Exception as error:  # the next turn may go better
            after = 0.0
            self._say(f"internal error: {error!r}", exc_info=True)
        self.failures = min(self.failures + 1, 10)
        return max(min(after, MOST_PAUSE_SECONDS), min(self._most_pause, 2.0**self.failures))

    def _say(self, problem: str, *, exc_info: bool = False) -> None:
        if problem != self._problem:
            log.warning("%s: %s; trying again", self._fault, problem, exc_info=exc_info)
        self._problem = problem
