"""Write addresses onto pods: a few requests at a time, as fast as the API server accepts them."""

import logging
import threading
import time
from collections.abc import Callable
from enum import StrEnum

from webhook.control.queue import FairQueue
from webhook.core.reconcile import Publication, Unit
from webhook.kube.catalogue import PODS
from webhook.kube.connection import Connection, RequestFailed, Response

log = logging.getLogger(__name__)

THREADS = 10
"""More than one namespace may use, see `queue`."""
STOP_SECONDS = 1.0
UNREACHABLE_PAUSE_SECONDS = 0.5
"""Pause of all requests where one got no connection.

One that timed out says nothing of other pods: its namespace rests.
"""
MOST_RETRY_AFTER_SECONDS = 30.0
_METADATA = PODS.metadata.headers("PartialObjectMetadata")["Accept"]


class Result(StrEnum):
    """Name what became of a write: a metric label, so the set is closed.

    gone: the pod no longer exists, or another one has its name. throttled: the server asked to
    wait. refused: a person must correct privileges or policy. failed: no answer, or a failure of
    the server.
    """

    PUBLISHED = "published"
    GONE = "gone"
    THROTTLED = "throttled"
    REFUSED = "refused"
    FAILED = "failed"


class Publisher:
    """Publish the units of *queue*.

    *lacks* returns what a unit lacks at this moment, *written* gets it once that stands on the pod.
    Nothing is sent unless *may_write*. *on_result* gets the result and the seconds since the unit
    was added. What is refused is left to whoever adds it again.
    """

    def __init__(
        self,
        connection: Connection,
        queue: FairQueue,
        *,
        lacks: Callable[[Unit], Publication | None],
        written: Callable[[Publication], None],
        may_write: Callable[[], bool],
        on_result: Callable[[Result, float], None] = lambda _result, _seconds: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection, self._queue, self._monotonic = connection, queue, monotonic
        self._lacks, self._written, self._may_write = lacks, written, may_write
        self._on_result = on_result
        self._complained: set[Unit] = set()
        self._threads = [
            threading.Thread(target=self._run, name=f"publish-{n}", daemon=True)
            for n in range(THREADS)
        ]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> bool:
        """End the threads; tell whether no request is under way any more, after a second."""
        self._queue.stop()
        deadline = self._monotonic() + STOP_SECONDS
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, deadline - self._monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self) -> None:
        while (taken := self._queue.get()) is not None:
            unit, since = taken
            begun, failed = self._monotonic(), None
            try:
                failed = self.publish(unit, since)
            except Exception:  # this thread must go on: without it fewer publish, in the end none
                log.exception("pod %s/%s: publishing failed unexpectedly", unit[0], unit.name)
            finally:
                self._queue.done(unit, seconds=self._monotonic() - begun, failed=failed)

    def publish(self, unit: Unit, since: float) -> bool | None:
        """Write what one pod lacks, and put it back into the queue where no answer comes.

        Returns whether the API server failed to answer for this pod. None says nothing of others
        of its namespace: nothing was sent, there was no connection, or the write was refused.
        """
        wanted = self._lacks(unit) if self._may_write() else None
        if wanted is None:
            self._complained.discard(unit)
            return None
        result, failed = self._send(unit, wanted)
        if result is Result.PUBLISHED:
            self._written(wanted)
        if result in (Result.PUBLISHED, Result.GONE):
            self._complained.discard(unit)
        elif result is not Result.REFUSED:
            self._queue.add([unit], since)
        self._on_result(result, self._monotonic() - since)
        return failed

    def _send(self, unit: Unit, wanted: Publication) -> tuple[Result, bool | None]:
        path = f"{PODS.object_path((wanted.namespace, wanted.name))}/status"
        body = {"metadata": {"uid": wanted.uid, "annotations": dict(wanted.annotations)}}
        try:
            response = self._connection.patch(path, body, accept=_METADATA)
        except RequestFailed as error:
            if error.status == 429:
                self._queue.pause(min(error.retry_after_seconds or 1.0, MOST_RETRY_AFTER_SECONDS))
                return Result.THROTTLED, None
            if error.is_unconnected:
                self._queue.pause(UNREACHABLE_PAUSE_SECONDS)
            self._complain(unit, str(error))
            return Result.FAILED, None if error.is_unconnected else True
        if response.status == 200:
            return Result.PUBLISHED, False
        if response.status == 404 or _is_another_pod(response):
            return Result.GONE, False
        self._complain(unit, response.problem)
        return (Result.FAILED, True) if response.status == 409 else (Result.REFUSED, None)

    def _complain(self, unit: Unit, problem: str) -> None:
        if unit not in self._complained:
            log.warning(
                "pod %s/%s: address not published: %s; trying again",
                unit.namespace,
                unit.name,
                problem,
            )
        self._complained.add(unit)


def _is_another_pod(response: Response) -> bool:
    """Return whether a write was refused because the pod of this name now has another uid."""
    if response.status != 422:
        return False
    causes = (response.json().get("details") or {}).get("causes") or ()
    return any(cause.get("field") == "metadata.uid" for cause in causes)
