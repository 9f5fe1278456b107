"""Have large reviews read by a process of their own: to read three megabytes keeps the interpreter busy, and all others waiting.

The process is started when the first large review comes, and ends when none has come for long. Whatever becomes of it, the review that
it reads is answered with 503, and the next one gets another process.
"""

from __future__ import annotations

import _thread
import contextlib
import errno
import fcntl
import json
import logging
import mmap
import os
import socket
import subprocess
import time
from collections.abc import Collection
from typing import Any

import orjson

from webhook.core.errors import MalformedReview, Unavailable
from webhook.core.model import Object
from webhook.serve.child import how_ended, start_child
from webhook.serve.review_reader import ANSWERED, ASKED, MALFORMED, NO_MEMORY, REDUCED, ROOM_BYTES, TOO_DEEP

IDLE_SECONDS = 300.0
SECONDS = 4.0
"""How long after a review has come it may be read: the API server gives up after 5 s. The largest takes 0.1 s where the processor is
free."""
LEAST_SECONDS = 0.5
"""With less time left for it a review is not begun: a process that would have read it in time would be ended."""
_SLOW = "the review was not read in {:g} s: ask again, or make the pod smaller"
_LOST = "the process that reads large reviews has ended ({}): ask again"
END_SECONDS = 1.0
"""How long a process may take to end that has closed its socket."""
KEPT_BYTES = 4 << 20
"""What is kept of the room from one review to the next: to get it anew takes longer than to read what is in it."""
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
"""A process whose memory is spoilt could take the room away while this one looks into it, which would end this one."""
_MODULE = "webhook.serve.review_reader"
_ENDED = 0
"""Exit status of a process that ends by itself, between two reviews."""

log = logging.getLogger(__name__)


class ReviewProcess:
    """Reduce large reviews in a process; `reduce` is called in one thread, with which the process ends.

    *idle_seconds*: how long it is kept while nothing comes. *seconds*: it is killed where a review came so long ago.
    """

    def __init__(self, *, idle_seconds: float = IDLE_SECONDS, seconds: float = SECONDS) -> None:
        self._idle_seconds, self._seconds = idle_seconds, seconds
        self._child: _Child | None = None

    def reduce(self, body: bytes, labels: Collection[str], came_at: float | None = None) -> Object:
        """Return what ``reduce_review`` returns, read, and raise what it raises; Unavailable where the process fails.

        *came_at*: when the review came, by ``time.monotonic()``; None: now.
        """
        now = time.monotonic()
        deadline = (now if came_at is None else came_at) + self._seconds
        if deadline - now < min(LEAST_SECONDS, self._seconds):
            raise Unavailable(_SLOW.format(self._seconds))
        keys = json.dumps([*labels]).encode()
        head = ASKED.pack(len(keys), len(body)) + keys
        answer = self._ask(head, body, deadline) or self._ask(head, body, deadline)
        if answer is None:
            raise Unavailable(_LOST.format(how_ended(_ENDED)))
        found, told = answer
        if found == MALFORMED:
            raise MalformedReview(told.decode("utf-8", "replace"))
        if found == TOO_DEEP:
            raise RecursionError
        if found == NO_MEMORY:
            raise MemoryError
        review: Object = told
        return review

    def close(self) -> None:
        """End the process, if there is one; `reduce` is not called any more."""
        if self._child:
            self._child.kill()
            self._child.status()

    def _ask(self, head: bytes, body: bytes, deadline: float) -> tuple[bytes, Any] | None:
        """Return the answer; None where the process ended by itself before it was asked. Raises Unavailable."""
        if self._child and self._child.has_ended():
            self._child.status()
            self._child = None
        if self._child is None:
            try:
                self._child = _Child(self._idle_seconds)
            except OSError as error:
                why = error.strerror or str(error)
                message = f"the process that reads large reviews cannot be started ({why}): ask again"
                raise Unavailable(message) from None
        try:
            self._child.hand_over(body)
        except OSError as error:
            why = error.strerror or str(error)
            raise Unavailable(f"there is no room for the review ({why}): ask again, or make the pod smaller") from None
        try:
            return self._child.ask(head, deadline)
        except TimeoutError:
            self._child.kill()
            why = _SLOW.format(self._seconds)
        except (OSError, EOFError):
            why = _LOST.format(how_ended(self._child.status()))
        except ValueError:
            self._child.kill()
            why = "the process that reads large reviews answered what cannot be read: ask again"
        except BaseException:  # what it still answers would be taken for the answer to the next review
            ended, self._child = self._child, None
            ended.kill()
            ended.status()
            raise
        ended, self._child = self._child, None
        if ended.status() == _ENDED:
            return None
        raise Unavailable(why)


class _Child:
    """Hold the process, the socket by which it is asked, and the room in memory by which it gets reviews and tells what it found.

    By a socket either would come in many pieces, and with each the thread would wait for the interpreter, and keep others waiting.
    """

    def __init__(self, idle_seconds: float) -> None:
        with contextlib.ExitStack() as stack:
            file = os.memfd_create("review", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            stack.callback(os.close, file)
            os.ftruncate(file, ROOM_BYTES)
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS)
            self._room = stack.enter_context(mmap.mmap(file, ROOM_BYTES))
            self._socket, asked = socket.socketpair()
            stack.callback(self._socket.close)
            with asked:
                self._process = start_child(_MODULE, str(idle_seconds), inherited=(asked.fileno(), file))
            self._closing = stack.pop_all()
        self._file, self._held = file, 0
        self._is_killed = False  # by us
        try:
            _thread.start_new_thread(self._reap, ())  # Thread.start waits for ever for one that has no memory to begin
        except RuntimeError as error:
            self._process.kill()
            self.status()
            raise OSError(str(error)) from None
        log.info("the process that reads large reviews starts: %d", self._process.pid)

    def hand_over(self, body: bytes) -> None:
        """Put a review where the process reads it. Raises OSError where there is no room."""
        length = len(body)
        if length > ROOM_BYTES:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        if length > self._held:
            os.posix_fallocate(self._file, 0, length)  # without it a write would end this process where there is none
            self._held = length
        self._room[:length] = body

    def ask(self, head: bytes, deadline: float) -> tuple[bytes, Any]:
        """Return what was found, and what is told of the review that was handed over: where it was reduced, what was made of it.

        Raises TimeoutError after *deadline*, OSError or EOFError where the process has ended, ValueError for any other answer.
        """
        self._socket.settimeout(_left(deadline))
        self._socket.sendall(head)
        received = b""
        while len(received) < ANSWERED.size:
            received += self._receive(deadline)
        found, length = ANSWERED.unpack_from(received)
        if len(received) > ANSWERED.size or length > ROOM_BYTES:
            raise ValueError(f"{received!r}")
        told = self._room[:length]
        if max(self._held, length) > KEPT_BYTES:
            self._room.madvise(mmap.MADV_REMOVE, KEPT_BYTES, ROOM_BYTES - KEPT_BYTES)
            self._held = KEPT_BYTES
        if found not in (REDUCED, MALFORMED, TOO_DEEP, NO_MEMORY):
            raise ValueError(f"{found!r}")
        return found, _review(told) if found == REDUCED else told

    def has_ended(self) -> bool:
        """Return whether the process has ended, and was reaped."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """End the process."""
        self._is_killed = True
        self._process.kill()

    def status(self) -> int:
        """Close what is held, and return the exit status of the process, which is killed unless it ends by itself."""
        self._closing.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(END_SECONDS)
        self.kill()
        return self._process.wait()

    def _receive(self, deadline: float) -> bytes:
        self._socket.settimeout(_left(deadline))
        if not (part := self._socket.recv(ANSWERED.size + 1)):
            raise EOFError
        return part

    def _reap(self) -> None:
        status = self._process.wait()
        level = logging.INFO if self._is_killed or status == _ENDED else logging.WARNING
        log.log(level, "the process that reads large reviews has ended: %s", how_ended(status))


def _review(told: bytes) -> Object:
    """Read a reduced review. Raises ValueError for anything else."""
    review = orjson.loads(told)
    request = review.get("request") if isinstance(review, dict) else None
    if not isinstance(request, dict) or "uid" not in request:
        raise ValueError("no request")
    if "object" in request and not {"excess", "seen"} <= review.keys():
        raise ValueError("a pod that was not reduced")
    return review  # type: ignore[no-any-return]  # it is a dict


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)
