"""How much of the publishing a namespace gets, after writes that went well, took long, or failed."""

from webhook.control.shares import (
    FIRST_AT_ONCE,
    MOST_AT_ONCE,
    MOST_FAILING,
    MOST_REST_SECONDS,
    SLOW_SECONDS,
    Shares,
)

NEVER = float("inf")


def shares() -> Shares:
    return Shares(lambda _least, most: most)


def begun(found: Shares, namespace: str, now: float = 0.0) -> int:
    """Begin as many requests as the namespace may have; return how many that are."""
    count = 0
    while not found.rest_seconds(namespace, now):
        found.begin(namespace, now)
        count += 1
    return count


def turn(
    found: Shares, namespace: str, now: float, *, failed: bool | None = None, seconds: float = 0.0
) -> None:
    found.begin(namespace, now)
    found.end(namespace, now, failed=failed, seconds=seconds)


def test_a_namespace_begins_with_little_and_gets_more_while_its_writes_go_well() -> None:
    found = shares()
    assert begun(found, "ml") == FIRST_AT_ONCE
    for _ in range(FIRST_AT_ONCE):
        found.end("ml", 0.0, failed=False)
    for _ in range(20):
        turn(found, "ml", 0.0, failed=False)
    assert begun(found, "ml") == MOST_AT_ONCE
    assert begun(found, "other") == FIRST_AT_ONCE


def test_a_namespace_of_slow_writes_has_little_while_quick_ones_wait_and_else_its_share() -> None:
    found = shares()
    for _ in range(20):
        turn(found, "ml", 0.0, failed=False)
    turn(found, "ml", 0.0, failed=False, seconds=SLOW_SECONDS)
    assert found.rest_seconds("ml", SLOW_SECONDS) == SLOW_SECONDS, (
        "it rests twice as long as it wrote"
    )
    assert begun(found, "ml", 2 * SLOW_SECONDS) == 1
    assert found.rest_seconds("ml", 0.0, quick_wait=False) == 0.0
    found.end("ml", 9.0, failed=False)
    assert begun(found, "ml", 9.0) == MOST_AT_ONCE, "the last write was quick again"


def test_a_namespace_rests_ever_longer_while_its_writes_fail_and_has_one_at_a_time_then() -> None:
    found, now, rests = shares(), 0.0, []
    for _ in range(7):
        turn(found, "bad", now, failed=True)
        rests.append(found.rest_seconds("bad", now))
        now += rests[-1]
    assert rests == sorted(rests)
    assert (rests[0], rests[-1]) == (0.5, MOST_REST_SECONDS)
    assert begun(found, "bad", now) == 1
    assert found.rest_seconds("other", now) == 0.0


def test_who_fails_at_every_other_write_rests_ever_longer_too() -> None:
    found, now, rests = shares(), 0.0, []
    for _ in range(12):
        turn(found, "bad", now, failed=True)
        rests.append(found.rest_seconds("bad", now))
        now += rests[-1]
        turn(found, "bad", now, failed=False)
    assert rests[-1] == MOST_REST_SECONDS


def test_all_that_fail_have_few_together_and_a_namespace_that_does_not_has_its_share() -> None:
    found = shares()
    for number in range(20):
        turn(found, f"bad-{number}", 0.0, failed=True)
    assert sum(begun(found, f"bad-{number}", 100.0) for number in range(20)) == MOST_FAILING
    assert found.rest_seconds("bad-19", 100.0) == NEVER
    assert begun(found, "good", 100.0) == FIRST_AT_ONCE
    found.end("bad-0", 100.0, failed=True)
    assert begun(found, "bad-19", 100.0) == 1


def test_remembers_a_bounded_number_of_namespaces() -> None:
    found = shares()
    for number in range(5000):
        turn(found, f"n-{number}", float(number), failed=number % 2 == 0)
    assert len(found._shares) <= 1000
