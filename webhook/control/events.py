"""Send Events that say what is wrong with a pod: few, and never at the cost of publishing."""

import hashlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from webhook.control.leader_loop import LeaderLoop
from webhook.core.model import Object
from webhook.core.printable import printable
from webhook.kube.catalogue import EVENTS
from webhook.kube.connection import WRITE_SECONDS, Connection, RequestFailed, Response

MESSAGE_BYTES = 1024
"""Longest message that the API accepts."""
NAME_LENGTH = 253
IDLE_SECONDS = 300.0
REPEAT_SECONDS = 600.0
"""How long the same Event about the same pod is not sent again."""
MOST_OF_NAMESPACE, MOST = 100, 1000
"""How many Events are sent in that time: of one namespace, so that none takes another's share, and
of all."""
COMPONENT = "fabric-injector"


class PodRef(NamedTuple):
    """Name one pod; the uid distinguishes it from a later pod of the same name."""

    namespace: str
    name: str
    uid: str


class _Event(NamedTuple):
    pod: PodRef
    reason: str
    message: str

    @property
    def name(self) -> str:
        """Return the same name in every process, so that each goes on with the other's Event."""
        digest = hashlib.sha256(f"{self.pod.uid}/{self.reason}".encode()).hexdigest()[:16]
        return f"{self.pod.name[: NAME_LENGTH - 17].rstrip('-.')}.{digest}"


class EventRecorder(LeaderLoop):
    """Send Warning Events about pods, one at a time, in a thread of its own, while *may_write*.

    For the same pod and reason one Event exists, written at most once in ten minutes. What is more
    than the limits is dropped. *host*: the process' identity.
    """

    fault = "Events are not sent"
    most_pause_seconds = 30.0

    def __init__(
        self,
        connection: Connection,
        may_write: Callable[[], bool],
        *,
        host: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(may_write, monotonic)
        self._connection, self._host, self._now = connection, host, now
        self._admitted: dict[tuple[PodRef, str], float] = {}  # the oldest first
        self._waiting: deque[_Event] = deque()
        self._lock = threading.Lock()

    def lost(self) -> None:
        """Drop what waits: the leader sees the same pods."""
        self._waiting.clear()

    def record(self, pod: PodRef, reason: str, message: str) -> None:
        """Queue an Event about the pod; any thread may call this, and is never held up."""
        with self._lock:
            if len(self._waiting) < MOST and self._admit(pod, reason):
                self._waiting.append(_Event(pod, reason, message))
        self.wake()

    def _admit(self, pod: PodRef, reason: str) -> bool:
        """Tell whether an Event may be sent now: none like it was lately, nor too many others."""
        now = self._monotonic()
        while self._admitted and next(iter(self._admitted.values())) <= now - REPEAT_SECONDS:
            del self._admitted[next(iter(self._admitted))]
        of_namespace = sum(each.namespace == pod.namespace for each, _ in self._admitted)
        is_full = of_namespace >= MOST_OF_NAMESPACE or len(self._admitted) >= MOST
        if is_full or (pod, reason) in self._admitted:
            return False
        self._admitted[pod, reason] = now
        return True

    def turn(self) -> float:
        """Send what waits."""
        self.do_each(self._sends())
        return IDLE_SECONDS

    def _sends(self) -> Iterator[Callable[[], None]]:
        while self._waiting:
            yield partial(self._send, self._waiting.popleft())

    def _send(self, event: _Event) -> None:
        """Send an Event; one that fails is sent when its cause is seen again."""
        try:
            self._create_or_renew(event).expect(200, 201)
        except RequestFailed:
            with self._lock:
                self._admitted.pop((event.pod, event.reason), None)
            raise

    def _create_or_renew(self, event: _Event) -> Response:
        namespace = event.pod.namespace
        text, at = _fitting(event.message), self._now().astimezone(UTC)
        time = at.strftime("%Y-%m-%dT%H:%M:%SZ")
        response = self._connection.request(
            "POST",
            EVENTS.path_in(namespace),
            body=self._made(event, text, time),
            timeout=WRITE_SECONDS,
        )
        if response.status != 409:
            return response
        path = EVENTS.object_path((namespace, event.name))
        return self._connection.patch(path, {"lastTimestamp": time, "message": text})

    def _made(self, event: _Event, text: str, time: str) -> Object:
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": event.name, "namespace": event.pod.namespace},
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", **event.pod._asdict()},
            "type": "Warning",
            "reason": event.reason,
            "message": text,
            "count": 1,
            "firstTimestamp": time,
            "lastTimestamp": time,
            "source": {"component": COMPONENT},
            "reportingComponent": COMPONENT,
            "reportingInstance": self._host,
        }


def _fitting(message: str) -> str:
    """Return printable text that the API accepts; names in it come from pods."""
    text = printable(message, None)
    data = text.encode()
    if len(data) <= MESSAGE_BYTES:
        return text
    return data[: MESSAGE_BYTES - 3].decode(errors="ignore") + "…"
