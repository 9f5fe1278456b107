"""Look at files again and again, and take what changed: mounted volumes give no dependable file events."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from certs.serving import CertificateError
from webhook.errors import InputError, ProfilesError
from webhook.profiles import Profiles, parse_profiles

INTERVAL_SECONDS = 1.0

log = logging.getLogger(__name__)


class ProfilesFile:
    """Hold the profiles of a file: :attr:`current` is the last content that could be used."""

    def __init__(self, path: Path) -> None:
        """Read the file. Raises ProfilesError with all its faults, InputError where it cannot be read."""
        self._path = path
        self._seen = self._read()
        self.current: Profiles = parse_profiles(self._seen)

    def poll(self) -> bool:
        """Take the file's content if it has changed; tell whether it was. Raises as the constructor does: the old stays."""
        found = self._read()
        if found == self._seen:
            return False
        self.current = parse_profiles(found)
        self._seen = found
        return True

    def _read(self) -> str:
        try:
            return self._path.read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(f"{self._path}: {error.strerror or error}; give a readable profiles file") from None
        except UnicodeDecodeError as error:
            raise InputError(f"{self._path}: byte {error.start} is not UTF-8; write the file as UTF-8") from None


@dataclass(frozen=True, slots=True)
class Watched:
    """Name something to poll: *poll* tells whether it changed, or raises and keeps the old; *count* gets the result."""

    name: str
    poll: Callable[[], bool]
    count: Callable[[str], None]


class Watcher:
    """Poll in a thread of its own, until it is stopped. A fault is told once, not at each look."""

    def __init__(self, watched: Sequence[Watched]) -> None:
        self._watched = watched
        self._faults: dict[str, str] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch-files", daemon=True)

    def start(self) -> None:
        """Begin to poll."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(INTERVAL_SECONDS):
            for each in self._watched:
                self._look(each)

    def _look(self, watched: Watched) -> None:
        try:
            changed = watched.poll()
        except (CertificateError, InputError, ProfilesError) as error:
            self._tell(watched, str(error), None)
        except Exception as error:  # the next look may go well, and nobody else would ever look again
            self._tell(watched, repr(error), error)
        else:
            self._faults.pop(watched.name, None)
            if changed:
                watched.count("success")
                log.info("%s reloaded", watched.name)

    def _tell(self, watched: Watched, fault: str, traceback: Exception | None) -> None:
        if self._faults.get(watched.name) == fault:
            return
        self._faults[watched.name] = fault
        watched.count("error")
        log.error("%s not reloaded, the last good ones stay: %s", watched.name, fault, exc_info=traceback)
