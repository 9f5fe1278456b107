"""Read the profiles file, follow its changes, and keep the last good profiles.

A ConfigMap's mount swaps a symlink, an editor renames or rewrites, and neither gives dependable file events: so the content itself
is read again and again, and compared.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from webhook.core.errors import InputError, WebhookError
from webhook.core.profiles import Profiles

_SETTLE_SECONDS = 0.1


def read_profiles(path: Path) -> Profiles:
    """Read the profiles in the file at *path*.

    Raises ProfilesError with every fault of the content, InputError where the file cannot be read.
    """
    return _parse_here(_content(path))


def _parse_here(content: bytes) -> Profiles:
    from webhook.core.profiles import parse_profiles  # loads pydantic

    return parse_profiles(content)


class ProfilesFile:
    """Hold the profiles of a file; once started, follow its changes in a thread.

    *parse* reads a content, and raises ProfilesError or InputError.
    *on_reload* gets each new set of profiles. *on_error* gets, once for each broken content, a ProfilesError with every fault, or
    an InputError where the file cannot be read; the last good profiles stay. Both are called in the thread, and must not raise.

    Raises ProfilesError or InputError where the file cannot be used at start.
    """

    def __init__(
        self,
        path: Path,
        *,
        parse: Callable[[bytes], Profiles] = _parse_here,
        on_reload: Callable[[Profiles], None] = lambda _: None,
        on_error: Callable[[WebhookError], None] = lambda _: None,
        interval_seconds: float = 1.0,
    ) -> None:
        self._path, self._parse = path, parse
        self._on_reload = on_reload
        self._on_error = on_error
        self._interval_seconds = interval_seconds
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._judged: bytes | str = _content(path)
        self._profiles = self._read(self._judged)
        self._error: WebhookError | None = None

    def current(self) -> Profiles:
        """Return the last good profiles."""
        return self._profiles

    def error(self) -> WebhookError | None:
        """Say why the file as it stands is not in use; None where it is."""
        return self._error

    def faulty(self) -> int:
        """Return 1 where the file as it stands is not in use."""
        return int(self._error is not None)

    def problems(self) -> list[str]:
        """Say that the file as it stands is not in use, and why."""
        return [f"the last good ones are in use: {self._error}"] if self._error else []

    def checks(self) -> Mapping[str, str]:
        """Say what keeps the profiles from being known: nothing, once they were read."""
        return {"profiles": ""}

    def start(self) -> None:
        """Begin to follow the file."""
        self._thread = threading.Thread(target=self._follow, name="profiles-file", daemon=True)
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
            return _content(self._path)
        except InputError as error:
            return str(error)

    def _has_settled(self, seen: bytes | str) -> bool:
        """Tell whether the file is no longer being written: a rewrite in place shows half a file for a moment."""
        return not self._stopping.wait(_SETTLE_SECONDS) and self._look() == seen

    def _judge(self, seen: bytes | str) -> None:
        try:
            profiles = self._read(seen)
        except Exception as error:  # a fault of ours must not end the watch
            self._error = error if isinstance(error, WebhookError) else InputError(f"internal error: {error!r}")
            self._on_error(self._error)
        else:
            self._profiles = profiles
            self._error = None
            self._on_reload(profiles)

    def _read(self, seen: bytes | str) -> Profiles:
        if isinstance(seen, str):
            raise InputError(seen)
        return self._parse(seen)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"profiles file {path}: cannot be read: {error.strerror}") from error
