"""Writes are handed out fairly and once at a time; a namespace whose writes fail or last rests."""

from collections import Counter

import pytest

from webhook.control.queue import (
    FIRST_AT_ONCE,
    MOST_AT_ONCE,
    MOST_FAILING,
    MOST_REST_SECONDS,
    MOST_SLOW,
    SLOW_SECONDS,
    FairQueue,
)
from webhook.core.reconcile import Unit

NEVER = float("inf")


class Bench:
    """A queue whose clock only the test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.queue = FairQueue(lambda: self.now, lambda _least, most: most)

    def add(self, namespace: str, *names: str, job: str = "j") -> None:
        self.queue.add(Unit(namespace, job, name) for name in names)

    def take(self) -> list[Unit]:
        """Take all that is to be had now."""
        found = []
        while self.queue.next_namespace()[0] is not None:
            taken = self.queue.get()
            assert taken is not None
            found.append(taken[0])
        return found

    def write(self, namespace: str, *, failed: bool | None = False, seconds: float = 0.0) -> float:
        """Carry out one write of a namespace; return for how long it rests then."""
        self.add(namespace, "0")
        [unit] = self.take()
        self.queue.done(unit, failed=failed, seconds=seconds)
        self.add(namespace, "0")
        rest = self.queue.next_namespace()[1]
        self.queue.clear()
        return rest


@pytest.fixture
def bench() -> Bench:
    return Bench()


def names(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def test_namespaces_take_turns_and_so_do_jobs_within_one(bench: Bench) -> None:
    bench.add("big", *names(3), job="a")
    bench.add("big", *names(2), job="b")
    bench.add("small", "0", job="c")
    order = []
    while len(bench.queue):
        taken = bench.queue.get()
        assert taken is not None
        bench.queue.done(taken[0])
        order.append("".join(taken[0][1:]))
    assert order == ["a0", "c0", "b0", "a1", "b1", "a2"]


def test_a_unit_is_held_once_and_comes_again_if_added_while_it_is_worked_on(bench: Bench) -> None:
    bench.add("a", "0", "0", "0")
    assert len(bench.queue) == 1
    [unit] = bench.take()
    bench.queue.add([unit], since=-5.0)
    bench.queue.add([unit])
    assert len(bench.queue) == 0
    bench.queue.done(unit)
    assert bench.queue.get() == (unit, -5.0)
    bench.queue.done(unit)
    assert len(bench.queue) == 0


def test_a_pause_holds_all(bench: Bench) -> None:
    bench.add("a", "0")
    bench.queue.pause(7.0)
    bench.queue.pause(3.0)
    assert bench.queue.next_namespace() == (None, 7.0)
    bench.now = 7.0
    assert len(bench.take()) == 1


def test_clear_drops_what_waits_but_not_what_is_worked_on(bench: Bench) -> None:
    bench.add("a", "0", "1", "2")
    taken = bench.take()
    bench.queue.clear()
    assert len(bench.queue) == 0
    bench.queue.done(taken[0])
    bench.add("b", "0")
    assert bench.take() == [Unit("b", "j", "0")]


def test_a_namespace_begins_with_little_and_gets_more_while_its_writes_go_well(
    bench: Bench,
) -> None:
    bench.add("ml", *names(99))
    under_way = bench.take()
    assert len(under_way) == FIRST_AT_ONCE
    for _ in range(20):
        bench.queue.done(under_way.pop(0), failed=False)
        under_way += bench.take()
    assert len(under_way) == MOST_AT_ONCE
    bench.add("other", *names(20))
    assert [unit.namespace for unit in bench.take()] == ["other"] * FIRST_AT_ONCE


def test_a_namespace_rests_ever_longer_while_its_writes_fail_and_holds_up_no_other(
    bench: Bench,
) -> None:
    rests = []
    for _ in range(7):
        rests.append(bench.write("bad", failed=True))
        bench.now += rests[-1]
    assert rests == sorted(rests)
    assert (rests[0], rests[-1]) == (0.5, MOST_REST_SECONDS)
    bench.add("bad", *names(9))
    bench.add("good", "0")
    assert Counter(unit.namespace for unit in bench.take()) == {"bad": 1, "good": 1}


def test_who_fails_at_every_other_write_rests_ever_longer_too(bench: Bench) -> None:
    rests = []
    for _ in range(12):
        rests.append(bench.write("bad", failed=True))
        bench.now += rests[-1]
        bench.write("bad")
    assert rests[-1] == MOST_REST_SECONDS


def test_all_that_fail_have_few_together(bench: Bench) -> None:
    for number in range(20):
        bench.write(f"bad-{number}", failed=True)
    bench.now = 100.0
    for number in range(20):
        bench.add(f"bad-{number}", *names(3))
    failing = bench.take()
    assert len(failing) == MOST_FAILING
    assert bench.queue.next_namespace() == (None, NEVER)
    bench.add("good", *names(3))
    assert len(bench.take()) == FIRST_AT_ONCE
    bench.queue.done(failing[0], failed=True)
    assert len(bench.take()) == 1


def test_many_namespaces_of_slow_writes_hold_up_no_quick_one(bench: Bench) -> None:
    for number in range(20):
        bench.write(f"slow-{number}", seconds=2 * SLOW_SECONDS)
    bench.now = 60.0
    for number in range(20):
        bench.add(f"slow-{number}", *names(2))
    bench.add("quick", *names(FIRST_AT_ONCE + 1))
    taken = Counter(unit.namespace.partition("-")[0] for unit in bench.take())
    assert taken == {"slow": MOST_SLOW, "quick": FIRST_AT_ONCE}
    bench.queue.done(Unit("quick", "j", "0"), failed=False)
    assert {unit.namespace for unit in bench.take()[:1]} == {"quick"}


def test_remembers_no_namespace_whose_writes_go_well(bench: Bench) -> None:
    for number in range(100):
        bench.write(f"n-{number}", failed=number == 7)
    assert bench.queue._shares.keys() == {"n-7"}
