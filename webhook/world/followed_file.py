"""Follow a file that describes something, and keep its last good content.

A ConfigMap's mount swaps a symlink, an editor renames or rewrites, and neither gives dependable
file events. So the content itself is read again and again, and compared.
"""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from webhook.core.errors import InputError, WebhookError

T = TypeVar("T")

_SETTLE_SECONDS = 0.1


class FollowedFile(Generic[T]):
    """Hold what *parse* makes of a file; once started, follow it in a thread, else at each `look`.

    *title* names the file in messages. *absent* is what a file means that is empty, or does not
    exist in a folder that does; None: an error. *at_first* holds until a `look` finds something
    good; None: the file is read here. *on_reload* gets each new value; *on_error*, once for each
    fault, a ProfilesError or InputError, and the last good value stays.

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
        self._on_reload, self._on_error = on_reload, on_error
        self._interval_seconds = interval_seconds
        self._stopping = threading.Event()
        name = title.replace(" ", "-")
        self._thread = threading.Thread(target=self._follow, name=name, daemon=True)
        self._error: WebhookError | None = None
        self._judged = self._content() if at_first is None else None
        self._value = self._read(self._judged) if at_first is None else at_first

    def current(self) -> T:
        """Return the last good value."""
        return self._value

    def error(self) -> WebhookError | None:
        """Say why the file as it stands is not in use; None where it is."""
        return self._error

    def faulty(self) -> int:
        """Return 1 where the file as it stands is not in use."""
        return int(self._error is not None)

    def checks(self) -> Mapping[str, str]:
        """Say what keeps the content from being known: nothing, once it was read."""
        return {self._title.partition(" ")[0]: ""}

    def look(self) -> T:
        """Read the file in this thread, judge it where it has changed; return the last good value.

        What failed for another reason than its content is tried again.
        """
        content = self._content()
        if content != self._judged or isinstance(self._error, InputError):
            self._judge(content)
        return self._value

    def start(self) -> None:
        """Begin to follow the file."""
        self._thread.start()

    def stop(self) -> None:
        """Stop following; returns once the thread has ended."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _follow(self) -> None:
        while not self._stopping.wait(self._interval_seconds):
            content = self._content()
            if content != self._judged and self._has_settled(content):
                self._judge(content)

    def _has_settled(self, content: bytes | str) -> bool:
        """Tell whether the file is written whole: a rewrite in place shows half for a moment."""
        return not self._stopping.wait(_SETTLE_SECONDS) and self._content() == content

    def _judge(self, content: bytes | str) -> None:
        self._judged, before = content, self._error
        try:
            self._value = self._read(content)
        except Exception as error:  # a fault of ours must not end the watch
            internal = InputError(f"internal error: {error!r}")
            self._error = found = error if isinstance(error, WebhookError) else internal
            if str(found) != str(before or ""):
                self._on_error(found)
        else:
            self._error = None
            self._on_reload(self._value)

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
