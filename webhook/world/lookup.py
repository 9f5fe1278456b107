"""Answer from what a watch holds, and ask the API server for what is missing: once, and briefly."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from webhook.core.errors import Unavailable
from webhook.core.model import World
from webhook.kube.resource import Key, key_text

T = TypeVar("T")

FOUND_SECONDS = 5.0
"""How long an answer stands while the watch has not brought the object."""
ABSENT_SECONDS = 1.0
FAILED_SECONDS = 0.5
MOST_ANSWERS = 1000
IN_TIME_SECONDS = 3.0
"""How long the cluster may be asked for a review: the API server gives up after 5 s itself."""


class NotCached(Exception):
    """Say that the answer would have to be asked for, and may take long."""


class InTime:
    """Answer as *world* does for IN_TIME_SECONDS after *begun*; then raise Unavailable.

    A pod may name many networks, and a slow API server would be asked for each. *begun*: as
    ``time.perf_counter()`` gives it.
    """

    def __init__(self, world: World, begun: float) -> None:
        self._world, self._until = world, begun + IN_TIME_SECONDS

    def __getattr__(self, name: str) -> Any:
        """Return the method of this name, unless it is too late."""
        if time.perf_counter() > self._until:
            found = f"what is asked of the cluster takes longer than {IN_TIME_SECONDS:g} s"
            raise Unavailable(f"{found}: ask again")
        return getattr(self._world, name)


@dataclass(frozen=True, slots=True)
class _Answer(Generic[T]):
    value: T | None
    problem: str
    asked: float
    expires: float


class Lookup(Generic[T]):
    """Look values up in *held*, what a watch keeps, or else with *ask*, which raises Unavailable.

    *ask* runs once for all threads that want the same key at the same time, *most* times at once.
    It must return within *wait_seconds*; the others wait for it. Answers stand for seconds, so
    that a burst of requests costs one.
    """

    def __init__(
        self,
        held: Mapping[Key, T],
        ask: Callable[[Key], T | None],
        most: int,
        *,
        wait_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._held, self._ask, self._most = held, ask, most
        self._wait_seconds, self._monotonic = wait_seconds, monotonic
        self._answers: dict[Key, _Answer[T]] = {}
        self._asking: set[Key] = set()
        self._changed = threading.Condition()

    def get(self, key: Key) -> T | None:
        """Give the value, None where it does not exist; raise Unavailable where that is unknown."""
        try:
            return self.cached(key)
        except NotCached:
            return self._live(key, since=None)

    def cached(self, key: Key) -> T | None:
        """Give what is known as `get` does, or raise NotCached."""
        answer = self._answers.get(key)
        if answer is not None and not answer.problem and answer.expires > self._monotonic():
            return answer.value
        value = self._held.get(key)
        if value is None:
            raise NotCached
        return value

    def fresh(self, key: Key) -> T | None:
        """Give the value as it is at the time of this call or later; raise as `get` does."""
        return self._live(key, since=self._monotonic())

    def forget(self, key: Key) -> None:
        """Drop the answer for *key*, because the watch has brought news of it."""
        with self._changed:
            self._answers.pop(key, None)

    def _live(self, key: Key, since: float | None) -> T | None:
        """Ask, or share an answer that was asked for after *since* (None: that still stands)."""
        deadline = self._monotonic() + self._wait_seconds
        with self._changed:
            while key in self._asking:
                if not self._changed.wait(deadline - self._monotonic()):
                    raise Unavailable(f"{key_text(key)}: the API server has not answered in time")
            answer = self._answers.get(key)
            if answer is not None and self._stands(answer, since):
                return _value(answer)
            if len(self._asking) >= self._most:
                raise Unavailable(f"{key_text(key)}: too many look-ups at the API server under way")
            self._asking.add(key)
        try:
            return _value(self._asked(key))
        finally:
            with self._changed:
                self._asking.discard(key)
                self._changed.notify_all()

    def _stands(self, answer: _Answer[T], since: float | None) -> bool:
        if answer.problem or since is None:
            return answer.expires > self._monotonic()
        return answer.asked >= since

    def _asked(self, key: Key) -> _Answer[T]:
        asked, before = self._monotonic(), self._held.get(key)
        value, problem = None, ""
        try:
            value = self._ask(key)
        except Unavailable as error:
            problem = str(error)
        seconds = FAILED_SECONDS if problem else ABSENT_SECONDS if value is None else FOUND_SECONDS
        answer = _Answer(value, problem, asked, self._monotonic() + seconds)
        with self._changed:
            if self._held.get(key) is before:  # else the watch has brought something newer
                if len(self._answers) >= MOST_ANSWERS:
                    self._answers.clear()
                self._answers[key] = answer
        return answer


def _value(answer: _Answer[T]) -> T | None:
    if answer.problem:
        raise Unavailable(answer.problem)
    return answer.value
