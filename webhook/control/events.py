"""Send Events that tell a pod's owner what is wrong: few of them, and never at the cost of publishing."""

from __future__ import annotations

import hashlib
import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime

from webhook.control.event_spam import EventSeries, PodRef, SpamFilter
from webhook.kube.catalogue import EVENTS
from webhook.kube.connection import Connection, RequestFailed, Response

__all__ = ["EventRecorder", "PodRef"]

MESSAGE_BYTES = 1024
"""Longest message that the API accepts."""
NAME_LENGTH = 253
QUEUE_LENGTH = 1024
REQUEST_SECONDS = 4.0
TRIES = 4
LEAST_BACKOFF_SECONDS = 1.0
MOST_BACKOFF_SECONDS = 30.0
STOP_SECONDS = 1.0
_MERGE = {"Content-Type": "application/merge-patch+json"}
_log = logging.getLogger(__name__)


class EventRecorder:
    """Send Warning Events about pods, one at a time, in a thread of its own.

    For the same pod and reason one Event is sent, and its count raised at most once in ten minutes; what exceeds the limits of
    ``event_spam`` is dropped. *host* is the process' identity. ``dropped``: how many were lost to a full queue or to failures.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        component: str = "fabric-injector",
        host: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = time.monotonic,
        uniform: Callable[[float, float], float] = random.uniform,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self.dropped = 0
        self._connection = connection
        self._component = component
        self._host = host
        self._now = now
        self._uniform = uniform
        self._filter = SpamFilter(monotonic)
        self._waiting: deque[tuple[EventSeries, str]] = deque()
        self._changed = threading.Condition()
        self._stopped = threading.Event()
        self._pause = pause or self._stopped.wait
        self._thread = threading.Thread(target=self.run, name="events", daemon=True)
        self._problem = ""

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> bool:
        """End within a second; what waits is dropped: the next leader sees the same pods. An Event on its way harms no other leader."""
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(STOP_SECONDS)
        return True

    def record(self, pod: PodRef, reason: str, message: str) -> None:
        """Queue an Event about the pod; any thread may call this, and is never held up. *reason*: ``NoSecondaryAddress``."""
        with self._changed:
            if self._stopped.is_set():
                return
            complaint = self._filter.admit(pod, reason)
            if complaint is None:
                return
            if len(self._waiting) >= QUEUE_LENGTH:
                self._filter.forget(complaint)
                self.dropped += 1
                return
            self._waiting.append((complaint, message))
            self._changed.notify()

    def run(self) -> None:
        """Send what is recorded until stopped."""
        while not self._stopped.is_set():
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._stopped.is_set())
            self.send_waiting()

    def send_waiting(self) -> None:
        """Send what has been recorded so far."""
        while self._waiting and not self._stopped.is_set():
            complaint, message = self._waiting.popleft()
            if not self._delivered(complaint, message):
                with self._changed:
                    self._filter.forget(complaint)
                    self.dropped += 1

    def _delivered(self, complaint: EventSeries, message: str) -> bool:
        """Send, and again after a growing pause where no answer comes; return whether it arrived."""
        for number in range(1, TRIES + 1):
            try:
                problem = self._send(complaint, message)
                self._report(problem)
                return not problem
            except RequestFailed as error:
                self._report(str(error))
                most = min(MOST_BACKOFF_SECONDS, LEAST_BACKOFF_SECONDS * 2**number)
                after = min(MOST_BACKOFF_SECONDS, error.retry_after_seconds)
            except Exception:  # the other Events are still to be sent
                _log.exception(
                    "Event of pod %s/%s: unexpected failure",
                    complaint.pod.namespace,
                    complaint.pod.name,
                )
                return False
            if number < TRIES:
                self._pause(after + self._uniform(0.0, most))
            if self._stopped.is_set():
                return False
        return False

    def _send(self, complaint: EventSeries, message: str) -> str:
        """Create the Event, or raise its count where it exists; return why it was refused, or an empty text."""
        text, at = _fitting(message), self._now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        former = False
        if not complaint.told:
            response = self._create(complaint, text, at)
            former = (
                response.status == 409
            )  # another process created it, and its count is not known here
        if complaint.told or former:
            patch = {
                "lastTimestamp": at,
                "message": text,
                **({} if former else {"count": complaint.count}),
            }
            path = EVENTS.object_path((complaint.pod.namespace, event_name(complaint)))
            response = self._connection.request(
                "PATCH", path, body=patch, headers=_MERGE, timeout=REQUEST_SECONDS
            )
            if response.status == 404:  # the API server keeps Events for an hour
                former = False
                response = self._create(complaint, text, at)
        if response.status not in (200, 201):
            return response.problem
        complaint.told = True
        count = response.json().get("count") if former else 0
        with self._changed:
            complaint.count += count if isinstance(count, int) else 0
        return ""

    def _create(self, complaint: EventSeries, text: str, at: str) -> Response:
        pod = complaint.pod
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": event_name(complaint), "namespace": pod.namespace},
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", **pod._asdict()},
            "type": "Warning",
            "reason": complaint.reason,
            "message": text,
            "count": complaint.count,
            "firstTimestamp": at,
            "lastTimestamp": at,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._host,
        }
        return self._connection.request(
            "POST", EVENTS.path_in(pod.namespace), body=event, timeout=REQUEST_SECONDS
        )

    def _report(self, problem: str) -> None:
        if problem and problem != self._problem:
            _log.warning("Event: %s", problem)
        self._problem = problem


def event_name(complaint: EventSeries) -> str:
    """Return the name of the Event for a pod and a reason; the same in every process, so that a second one is counted on the first."""
    digest = hashlib.sha256(f"{complaint.pod.uid}/{complaint.reason}".encode()).hexdigest()[:16]
    return f"{complaint.pod.name[: NAME_LENGTH - 17].rstrip('-.')}.{digest}"


def _fitting(message: str) -> str:
    """Return the message as printable text that the API accepts; names in it come from pods."""
    text = "".join(char if char.isprintable() else " " for char in message)
    data = text.encode()
    return (
        text
        if len(data) <= MESSAGE_BYTES
        else data[: MESSAGE_BYTES - 3].decode(errors="ignore") + "…"
    )
