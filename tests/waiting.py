"""Wait for what another thread or process does."""

import time
from collections.abc import Callable


class Clock:
    """A monotonic clock that stands until a test sets it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class NotReady(AssertionError):
    """What was waited for did not come in time; the message says what, and how long it was waited for."""


def wait_until(
    condition: Callable[[], object], what: str, seconds: float = 60, interval: float = 0.1
) -> None:
    """Wait until *condition* gives something true; raise NotReady, which names *what*, where it does not in *seconds*.

    The pauses grow with the time, from 5 ms to *interval*: most waits are short, and a long one shall not load the machine.
    """
    begun = time.monotonic()
    while not condition():
        waited = time.monotonic() - begun
        if waited > seconds:
            raise NotReady(f"waited {seconds:g} s for {what}")
        time.sleep(min(max(0.005, waited / 20), interval))
