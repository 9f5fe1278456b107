"""Follow a file that describes something, and keep its last good content.

A ConfigMap's mount swaps a symlink, an editor renames or rewrites, and neither gives dependable file events: so the content itself
is read again and again, and compared.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from webhook.core.errors import InputError, WebhookError

T = TypeVar("T")

_SETTLE_SECONDS = 0.1


class FollowedFile(Generic[T]):
    """Hold what *parse* makes of a file's content; once started, follow its changes in a thread, or else at each `look`.

    *parse* raises ProfilesError or InputError. *title* names the file in messages. *absent* is what a file means that is empty, or
    does not exist in a folder that does; where it is None, that is an error. *at_first* is what holds until a `look` finds something
    good; where it is None, the file is read here.
    *on_reload* gets each new value. *on_error* gets, once for each broken content, a ProfilesError with every fault, or
    an InputError where the file cannot be read; the last good value stays. Both are called in the thread, and must not raise.

    Raises ProfilesError or InputError where the file cannot be used when it is read here.
    """

    def __init__(
        self,
        path: Path,
        *,
        parse: Callable[[bytes], T],
        title: str = "profiles file",
        absent: T | None = None,
        at_first: T | None = None,
        on_reload: Callable[[T], None] = lambda _: None,
        on_error: Callable[[WebhookError], None] = lambda _: None,
        interval_seconds: float = 1.0,
    ) -> None:
        self._path, self._parse, self._title, self._absent = path, parse, title, absent
        self._on_reload = on_reload
        self._on_error = on_error
        self._interval_seconds = interval_seconds
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._judged: bytes | str | None = None
        if at_first is None:
            self._judged = self._content()
            self._value = self._read(self._judged)
        else:
            self._value = at_first
        self._error: WebhookError | None = None

    def current(self) -> T:
        """Return the last good value."""
        return self._value

    def error(self) -> WebhookError | None:
        """Say why the file as it stands is not in use; None where it is."""
        return self._error

    def faulty(self) -> int:
        """Return 1 where the file as it stands is not in use."""
        return int(self._error is not None)

    def look(self) -> T:
        """Read the file in this thread, judge it where it has changed, and return the last good value; for one that is not started.

        What failed for another reason than its content, as without memory for its process, is tried again.
        """
        seen = self._look()
        is_known = seen == self._judged
        if not is_known or isinstance(self._error, InputError):
            self._judged = seen
            self._judge(seen, is_told=is_known)
        return self._value

    def start(self) -> None:
        """Begin to follow the file."""
        self._thread = threading.Thread(
            target=self._follow, name=self._title.replace(" ", "-"), daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop following; returns once the thread has ended."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _follow(self) -> None:
        while not self._stopping.wait(self._interval_seconds):
            seen = self._look()
            if seen != self._judged and self._has_settled(seen):
                self._judged = seen
                self._judge(seen)

    def _look(self) -> bytes | str:
        """Return the file's bytes, or why it cannot be read."""
        try:
            return self._content()
        except InputError as error:
            return str(error)

    def _has_settled(self, seen: bytes | str) -> bool:
        """Tell whether the file is no longer being written: a rewrite in place shows half a file for a moment."""
        return not self._stopping.wait(_SETTLE_SECONDS) and self._look() == seen

    def _judge(self, seen: bytes | str, *, is_told: bool = False) -> None:
        try:
            value = self._read(seen)
        except Exception as error:  # a fault of ours must not end the watch
            self._error = (
                error
                if isinstance(error, WebhookError)
                else InputError(f"internal error: {error!r}")
            )
            if not is_told:
                self._on_error(self._error)
        else:
            self._value = value
            self._error = None
            self._on_reload(value)

    def _read(self, seen: bytes | str) -> T:
        if isinstance(seen, str):
            raise InputError(seen)
        return self._parse(seen) if self._absent is None or seen.strip() else self._absent

    def _content(self) -> bytes:
        try:
            return self._path.read_bytes()
        except OSError as error:
            if (
                self._absent is not None
                and isinstance(error, FileNotFoundError)
                and self._path.parent.is_dir()
            ):
                return b""
            raise InputError(
                f"{self._title} {self._path}: cannot be read: {error.strerror}"
            ) from error
