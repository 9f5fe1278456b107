"""Hold a Lease, so that one process at a time writes: client-go's election, by our clock too."""

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from webhook.core.model import Object
from webhook.kube.catalogue import LEASES
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.reader import Reader, whole

DURATION_SECONDS = 6
"""How long others leave the Lease to a holder that renews it no more."""
RENEW_DEADLINE_SECONDS = 3.0
"""How long a renewal lasts here."""
RETRY_SECONDS = 1.0
MOST_PAUSE_SECONDS = 10.0
"""Longest pause that the API server may ask for."""
REQUEST_SECONDS = 3.0
STOP_SECONDS = 1.0
"""How long it may take to give the Lease back."""
MOST_SECONDS = 60
"""Longest duration that is believed: a wrong one must end."""
RELEASED_SECONDS = 1
MOST_TRANSITIONS = 2**31 - 1
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """Hold a Lease's spec; times are MicroTime, ``2026-11-21T15:30:35.000001Z``.

    Two equal records are one renewal: a holder's renewTime changes each time. A field that is
    missing or of another type counts as empty.
    """

    holder: str = ""
    duration_seconds: int = 0
    acquired: str = ""
    renewed: str = ""
    transitions: int = 0

    @classmethod
    def of(cls, lease: Object) -> "LeaseRecord":
        """Read an object, which may hold anything."""
        spec = _spec(lease)
        texts = (spec.get(key) for key in ("holderIdentity", "acquireTime", "renewTime"))
        holder, acquired, renewed = (value if isinstance(value, str) else "" for value in texts)
        numbers = (spec.get(key) for key in ("leaseDurationSeconds", "leaseTransitions"))
        duration, transitions = (value if isinstance(value, int) else 0 for value in numbers)
        return cls(holder, duration, acquired, renewed, transitions)

    @property
    def seconds(self) -> int:
        """Give how long the record holds after it was first seen."""
        return min(max(self.duration_seconds, DURATION_SECONDS), MOST_SECONDS)


def _spec(lease: Object) -> Object:
    spec = lease.get("spec")
    return spec if isinstance(spec, dict) else {}


def _micro_time(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Leader:
    """Take the Lease *name* of *namespace* whenever nobody holds it, and keep it until stopped.

    *identity* must be new in each process (pod name and a random part): one that returns would find
    itself holding. The Leader's thread calls *on_change* when the Lease is taken, and before it is
    given back or after it is lost. Nothing here compares this clock with another machine's. The
    holder counts from before it sent its last renewal, others from after they first saw it. Who
    deletes a held Lease may see two processes write for 3 s, as with client-go.
    """

    def __init__(
        self,
        connection: Connection,
        namespace: str,
        name: str,
        identity: str,
        *,
        on_change: Callable[[bool], None] = lambda _held: None,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        uniform: Callable[[float, float], float] = random.uniform,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self._connection, self._key, self._identity = connection, (namespace, name), identity
        self._on_change = on_change
        self._monotonic, self._now, self._uniform = monotonic, now, uniform
        self._reader = Reader(connection)
        self._title = f"Lease {namespace}/{name}"
        self._stopped = threading.Event()
        self._pause = pause or self._stopped.wait
        self._thread = threading.Thread(target=self.run, name="lease", daemon=True)
        self._new: Object = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"holderIdentity": identity},
        }
        self._lease: Object = {}  # as it was last written here
        self._held, self._until = False, float("-inf")
        self._seen, self._since = LeaseRecord(), 0.0
        self._gives_back = True
        self._problem = ""

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread.start()

    def stop(self, *, give_back: bool = True) -> None:
        """End within seconds. End all writing before: if given back, another begins at once."""
        self._gives_back = give_back
        self._stopped.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(STOP_SECONDS)

    def may_write(self) -> bool:
        """Tell whether a write of at most `connection.WRITE_SECONDS` may begin now."""
        return not self._stopped.is_set() and self._left() > 0

    def run(self) -> None:
        """Take and keep the Lease until stopped: then give it back."""
        while not self._stopped.is_set():
            seconds = self._turn()
            if self._held and self._left() <= 0:
                why = self._problem or "this process stood still"
                self._lose(f"not renewed for {RENEW_DEADLINE_SECONDS:g} s: {why}")
            self._pause(min(seconds, self._left()) if self._held else seconds)
        self._release()

    def _turn(self) -> float:
        """Try once to take or to renew; give the seconds until the next time."""
        seconds = RETRY_SECONDS * self._uniform(0.75, 1.25)
        try:
            if self._try():
                self._problem = ""
                return max(0.0, RETRY_SECONDS - RENEW_DEADLINE_SECONDS + self._left())
            problem, seconds = "", min(seconds, self._kept_seconds() or seconds)
        except RequestFailed as error:
            problem, seconds = str(error), max(seconds, error.retry_after_seconds)
        except Exception as error:  # the next turn may go better; without it nobody renews
            _log.exception("%s: unexpected failure", self._title)
            problem = repr(error)
        if problem and problem != self._problem:
            _log.warning("%s: %s; trying again", self._title, problem)
        self._problem = problem
        return min(seconds, MOST_PAUSE_SECONDS)

    def _try(self) -> bool:
        """Renew what is held without a look, else look and take what is free; tell whether held."""
        if self.may_write() and self._write(self._lease):
            return True
        lease = self._reader.find(LEASES, self._key, whole, seconds=REQUEST_SECONDS) or self._new
        record = LeaseRecord.of(lease)
        if record != self._seen:
            self._seen, self._since = record, self._monotonic()
        if self._held and record.holder not in ("", self._identity):
            self._lose(f"{record.holder} has taken it")
        return not self._kept_seconds() and self._write(lease)

    def _kept_seconds(self) -> float:
        """Return for how long another may still hold it."""
        if self._seen.holder in ("", self._identity):
            return 0.0
        return max(0.0, self._since + self._seen.seconds - self._monotonic())

    def _write(self, lease: Object) -> bool:
        """Write it as held by us; tell whether that was done, and not another process quicker."""
        if self._stopped.is_set():
            return False
        sent = self._monotonic()
        if not self._send(lease, self._claimed(LeaseRecord.of(lease)), REQUEST_SECONDS):
            return False
        self._seen, self._since = LeaseRecord.of(self._lease), sent
        self._until = sent + RENEW_DEADLINE_SECONDS
        if not self._held and self.may_write():
            self._held = True
            _log.info("%s: held by %s", self._title, self._identity)
            self._report(True)
        return True

    def _claimed(self, record: LeaseRecord) -> Object:
        """Return the fields by which we renew what is ours, or take over the rest."""
        at, is_ours = _micro_time(self._now()), record.holder == self._identity
        transitions = record.transitions if is_ours else record.transitions + 1
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": DURATION_SECONDS,
            "acquireTime": record.acquired if is_ours and record.acquired else at,
            "renewTime": at,
            "leaseTransitions": transitions if 0 < transitions <= MOST_TRANSITIONS else 0,
        }

    def _send(self, lease: Object, fields: Object, seconds: float) -> bool:
        """Create or replace it, with these fields of its spec; False where another was quicker.

        Raises RequestFailed where nothing is known of what was done.
        """
        is_new = lease is self._new
        method = "POST" if is_new else "PUT"
        path = LEASES.path_in(self._key[0]) if is_new else LEASES.object_path(self._key)
        body = {**lease, "spec": {**_spec(lease), **fields}}
        response = self._connection.request(method, path, body=body, timeout=seconds)
        if response.expect(200, 201, 404, 409).status >= 400:
            return False
        self._lease = response.json()
        return True

    def _left(self) -> float:
        return self._until - self._monotonic()

    def _lose(self, why: str) -> None:
        self._until = float("-inf")
        self._held = False
        _log.error("%s: lost by %s: %s", self._title, self._identity, why)
        self._report(False)

    def _release(self) -> None:
        """Leave what is held to whoever comes first."""
        if self._held:
            self._held = False
            self._report(False)
        if not self._gives_back or LeaseRecord.of(self._lease).holder != self._identity:
            return
        at = _micro_time(self._now())
        free = {"holderIdentity": "", "leaseDurationSeconds": RELEASED_SECONDS}
        try:
            if self._send(self._lease, {**free, "acquireTime": at, "renewTime": at}, STOP_SECONDS):
                _log.info("%s: given back by %s", self._title, self._identity)
        except RequestFailed as error:
            ends = f"it ends by itself in {DURATION_SECONDS} s"
            _log.warning("%s: not given back (%s); %s", self._title, error, ends)

    def _report(self, held: bool) -> None:
        try:
            self._on_change(held)
        except Exception:  # as in `_turn`
            _log.exception("%s: change not handled", self._title)
