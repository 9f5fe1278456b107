"""Live look-ups: once for all who wait, for seconds, by few at a time."""

import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.tables import table
from tests.waiting import wait_until
from webhook.core.errors import Unavailable
from webhook.kube.resource import Key
from webhook.world.lookup import Lookup

KEY = ("ml", "rail-0")


class Bench:
    """A look-up over a dictionary, with a clock and an API server of the test's own."""

    def __init__(self, ask: Callable[[Key], str | None], slots: int = 4) -> None:
        self.now = 100.0
        self.held: dict[Key, str] = {}
        self.asked: list[Key] = []
        self.slots = slots
        self._ask = ask
        self.lookup = Lookup(
            self.held, self._asked, self.slots, wait_seconds=5, monotonic=lambda: self.now
        )

    def _asked(self, key: Key) -> str | None:
        self.asked.append(key)
        return self._ask(key)


def fail(key: Key) -> str | None:
    raise Unavailable("silent")


def in_threads(count: int, call: Callable[[], object]) -> list[object]:
    answers: list[object] = []

    def run() -> None:
        try:
            answers.append(call())
        except Unavailable as error:
            answers.append(str(error))

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    return answers


@table(
    "answer, seconds",
    {
        "an object": (lambda key: "live", 5),
        "that there is none": (lambda key: None, 1),
        "a failure": (fail, 0.5),
    },
)
def test_asks_for_what_is_not_held_and_keeps_the_answer_for_seconds(
    answer: Callable[[Key], str | None], seconds: float
) -> None:
    bench = Bench(answer)
    for count in (1, 1, 1, 2):
        bench.now += seconds if count == 2 else 0
        with suppress(Unavailable):
            bench.lookup.get(KEY)
        assert len(bench.asked) == count


def test_refuses_a_fifth_question_while_four_are_under_way() -> None:
    go = threading.Event()

    def slow(key: Key) -> str:
        go.wait(5)
        return key[1]

    bench = Bench(slow)
    names = iter("abcd")
    asking = threading.Thread(
        target=in_threads, args=(4, lambda: bench.lookup.get(("", next(names))))
    )
    asking.start()
    wait_until(lambda: len(bench.asked) == 4, "four questions")
    with pytest.raises(
        Unavailable, match=r"^ml/rail-0: too many look-ups at the API server under way$"
    ):
        bench.lookup.get(KEY)
    go.set()
    asking.join()
    assert bench.lookup.get(KEY) == "rail-0"


def test_does_not_wait_for_ever_for_another_thread() -> None:
    go = threading.Event()
    bench = Bench(lambda key: str(go.wait(5)))
    lookup = Lookup(bench.held, bench._asked, bench.slots, wait_seconds=0.05)
    first = threading.Thread(target=lookup.get, args=(KEY,))
    first.start()
    wait_until(lambda: bench.asked, "the question")
    with pytest.raises(Unavailable, match="ml/rail-0: the API server has not answered in time"):
        lookup.get(KEY)
    go.set()
    first.join()


def test_answers_afresh_whatever_is_held_and_then_uses_that_answer() -> None:
    bench = Bench(lambda key: "fresh")
    bench.held[KEY] = "stale"
    assert bench.lookup.get(KEY) == "stale"
    assert bench.lookup.fresh(KEY) == "fresh"
    assert bench.lookup.get(KEY) == "fresh"
    assert len(bench.asked) == 1
    bench.now += 5
    assert bench.lookup.get(KEY) == "stale"


def test_never_answers_afresh_with_what_was_asked_before_the_call() -> None:
    bench = Bench(lambda key: str(len(bench.asked)))
    assert bench.lookup.fresh(KEY) == "1"
    bench.now += 0.001
    assert bench.lookup.fresh(KEY) == "2"


def test_shares_a_fresh_answer_only_with_those_who_came_before_it_was_asked() -> None:
    first, rest = threading.Event(), threading.Event()

    def slow(key: Key) -> str:
        (rest if len(bench.asked) > 1 else first).wait(5)
        return str(len(bench.asked))

    bench = Bench(slow)
    answers: list[object] = []
    early = threading.Thread(target=lambda: answers.append(bench.lookup.fresh(KEY)))
    early.start()
    wait_until(lambda: bench.asked, "the first question")
    bench.now += 1
    later = threading.Thread(
        target=lambda: answers.extend(in_threads(10, lambda: bench.lookup.fresh(KEY)))
    )
    later.start()
    threading.Timer(0.1, first.set).start()
    threading.Timer(0.2, rest.set).start()
    early.join(10)
    later.join(10)
    assert answers[0] == "1"
    assert answers[1:] == ["2"] * 10


def test_does_not_keep_an_answer_that_the_watch_has_overtaken() -> None:
    def overtaken(key: Key) -> str:
        bench.held[KEY] = "newer"
        return "older"

    bench = Bench(overtaken)
    bench.lookup.get(KEY)
    assert bench.lookup.get(KEY) == "newer"


def test_keeps_a_limited_number_of_answers() -> None:
    bench = Bench(lambda key: None)
    for number in range(1500):
        bench.lookup.get(("ml", str(number)))
    assert len(bench.lookup._answers) == 500
