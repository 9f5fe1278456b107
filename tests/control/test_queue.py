"""Work is handed out fairly, once at a time, and not before the server may be asked again."""

import threading
from collections import Counter

from webhook.control.queue import FairQueue
from webhook.control.shares import MOST_SLOW
from webhook.core.reconcile import Unit


def unit(namespace: str, job: str, name: str) -> Unit:
    return Unit(namespace, job, name)


def drain(queue: FairQueue, count: int) -> list[Unit]:
    found = []
    for _ in range(count):
        taken = queue.get()
        assert taken is not None
        found.append(taken[0])
        queue.done(taken[0])
    return found


def test_namespaces_take_turns_and_so_do_jobs_within_one() -> None:
    queue = FairQueue()
    queue.add(unit("big", "a", str(number)) for number in range(3))
    queue.add(unit("big", "b", str(number)) for number in range(2))
    queue.add([unit("small", "c", "0")])
    order = [(one.namespace, one.job, one.name) for one in drain(queue, 6)]
    assert order[:2] == [("big", "a", "0"), ("small", "c", "0")]
    assert order[2:] == [("big", "b", "0"), ("big", "a", "1"), ("big", "b", "1"), ("big", "a", "2")]


def test_many_namespaces_of_slow_writes_hold_up_no_quick_one_and_else_nobody_rests() -> None:
    now = 0.0
    queue = FairQueue(lambda: now)
    slow = [unit(f"slow-{number}", "j", "0") for number in range(20)]

    def take(count: int) -> list[Unit]:
        taken = [queue.get() for _ in range(count)]
        return [one[0] for one in taken if one is not None]

    queue.add(slow)
    for one in take(20):
        queue.done(one, seconds=2.0, failed=False)
    now = 60.0
    queue.add(slow)
    queue.add(unit("quick", "j", str(number)) for number in range(3))
    assert Counter(one.namespace.partition("-")[0] for one in take(MOST_SLOW + 2)) == {
        "slow": MOST_SLOW,
        "quick": 2,
    }
    queue.done(unit("quick", "j", "0"), failed=False)
    assert take(1) == [unit("quick", "j", "2")]
    assert len(take(20 - MOST_SLOW)) == 20 - MOST_SLOW, "nobody who is quick waits"


def test_a_unit_is_held_once() -> None:
    queue = FairQueue()
    queue.add([unit("a", "j", "0")] * 5)
    assert len(queue) == 1


def test_what_is_added_while_it_is_worked_on_comes_again_afterwards() -> None:
    queue = FairQueue()
    one = unit("a", "j", "0")
    queue.add([one])
    assert queue.get() is not None
    queue.add([one, one])
    assert len(queue) == 0
    queue.done(one)
    assert drain(queue, 1) == [one]
    assert len(queue) == 0


def test_what_failed_comes_later_and_a_pause_holds_all() -> None:
    now = [0.0]
    queue = FairQueue(lambda: now[0])
    queue.add_later(unit("a", "j", "0"), 5.0, since=-1.0)
    queue.add([unit("a", "j", "1")])
    assert drain(queue, 1) == [unit("a", "j", "1")]
    queue.pause(7.0)
    now[0] = 6.0
    assert queue._seconds_to_wait(6.0) == 0.0
    now[0] = 7.0
    assert queue.get() == (unit("a", "j", "0"), -1.0)


def test_what_failed_waits_once_however_often_it_is_put_off() -> None:
    now = [0.0]
    queue = FairQueue(lambda: now[0])
    one = unit("a", "j", "0")
    for seconds in (5.0, 9.0, 7.0):
        queue.add_later(one, seconds, since=-1.0)
    assert len(queue) == 1
    now[0] = 6.9
    queue.add([unit("a", "j", "1")])
    assert drain(queue, 1) == [unit("a", "j", "1")]
    now[0] = 7.0
    assert drain(queue, 1) == [one]
    now[0] = 9.0
    queue.add([unit("a", "j", "1")])
    assert drain(queue, 1) == [unit("a", "j", "1")]
    assert len(queue) == 0


def test_what_is_added_again_does_not_come_a_second_time_for_having_failed_before() -> None:
    now = [0.0]
    queue = FairQueue(lambda: now[0])
    one = unit("a", "j", "0")
    queue.add_later(one, 5.0, since=-1.0)
    queue.add([one])
    assert queue.get() == (one, -1.0)
    queue.done(one)
    assert len(queue) == 0
    now[0] = 5.0
    queue.add([unit("b", "j", "0")])
    assert drain(queue, 1) == [unit("b", "j", "0")]
    assert len(queue) == 0


def test_stop_ends_those_that_wait() -> None:
    queue = FairQueue()
    results: list[object] = []
    threads = [threading.Thread(target=lambda: results.append(queue.get())) for _ in range(4)]
    for thread in threads:
        thread.start()
    queue.stop()
    for thread in threads:
        thread.join(10)
    assert results == [None] * 4


def test_clear_drops_what_waits_but_not_what_is_worked_on() -> None:
    queue = FairQueue()
    queue.add([unit("a", "j", "0"), unit("a", "j", "1")])
    taken = queue.get()
    queue.add_later(unit("a", "j", "2"), 1.0, 0.0)
    queue.clear()
    assert taken is not None
    assert len(queue) == 0
    queue.done(taken[0])
    queue.add([unit("b", "j", "0")])
    assert drain(queue, 1) == [unit("b", "j", "0")]
