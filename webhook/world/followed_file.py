"""Read a file that describes something again at each look, and keep its last good content.

A ConfigMap's mount swaps a symlink, an editor renames or rewrites, and neither gives dependable
file events. So the content itself is read and compared.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from webhook.core.errors import InputError, ProfilesError, WebhookError

T = TypeVar("T")

log = logging.getLogger(__name__)


class FollowedFile(Generic[T]):
    """Hold what *parse* makes of a file.

    *title* names the file in messages. *absent* is what a file means that is empty, or does not
    exist in a folder that does; None: an error. *at_first* holds until a `look` finds something
    good; None: the file is read here. *on_read* gets each value that was read. A fault is logged
    once, and the last good value stays.

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
        on_read: Callable[[T], None] = lambda _: None,
    ) -> None:
        self._path, self._parse, self._title, self._absent = path, parse, title, absent
        self._on_read = on_read
        self._error: WebhookError | None = None
        self._judged = self._content() if at_first is None else None
        self._value = self._read(self._judged) if at_first is None else at_first
        if at_first is None:
            on_read(self._value)

    def current(self) -> T:
        """Return the last good value."""
        return self._value

    def error(self) -> WebhookError | None:
        """Say why the file as it stands is not in use; None where it is."""
        return self._error

    def look(self) -> T:
        """Read the file, judge it where it has changed; return the last good value.

        What failed for another reason than its content is tried again.
        """
        content = self._content()
        if content != self._judged or isinstance(self._error, InputError):
            self._judge(content)
        return self._value

    def _judge(self, content: bytes | str) -> None:
        self._judged, before = content, self._error
        try:
            self._value = self._read(content)
        except Exception as error:  # a fault of ours must not end the watch
            internal = InputError(f"internal error: {error!r}")
            self._error = found = error if isinstance(error, WebhookError) else internal
            if str(found) != str(before or ""):
                self._log(found)
        else:
            self._error = None
            self._on_read(self._value)

    def _log(self, error: WebhookError) -> None:
        what = f"{self._title} not reloaded, the last good content stays"
        for fault in error.problems if isinstance(error, ProfilesError) else (error,):
            log.error("%s: %s: %s", what, self._path, fault)

    def _read(self, content: bytes | str | None) -> T:
        if not isinstance(content, bytes):
            raise InputError(content or "")
        return self._parse(content) if self._absent is None or content.strip() else self._absent

    def _content(self) -> bytes | str:
        """Return the file's bytes, or why it cannot be read."""
        try:
            return self._path.read_bytes()
        except OSError as error:
            is_absent = isinstance(error, FileNotFoundError) and self._path.parent.is_dir()
            if self._absent is not None and is_absent:
                return b""
            return f"{self._title} {self._path}: cannot be read: {error.strerror}"
