"""One leader at a time, in simulated time: clocks differ, requests get lost, processes stop."""

import logging
import random
from datetime import datetime
from typing import Any

import pytest

from tests.kube.lease_world import BEGAN, PATH, Clock, Delays, Process, Store, kill, overlaps
from tests.tables import table
from webhook.kube.connection import WRITE_SECONDS

OTHER = {
    "holderIdentity": "other",
    "leaseDurationSeconds": 6,
    "acquireTime": "2026-11-21T11:00:00.000000Z",
    "renewTime": "2026-11-21T11:00:00.000000Z",
    "leaseTransitions": 7,
}


def held(**fields: Any) -> dict[str, Any]:
    """Give the spec of a Lease that another holds."""
    return OTHER | fields


def begun(seconds: float = 0, store: Store | None = None) -> tuple[Store, Clock, Process]:
    """Let one process come to a new Lease, or to that of *store*, and run it for so long."""
    store, clock = store or Store(), Clock()
    process = Process(clock, store, "me")
    if seconds:
        clock.run_until(seconds)
    return store, clock, process


def alone(store: Store, seconds: float) -> Process:
    """Run one process for so long."""
    return begun(seconds, store)[2]


def test_creates_the_lease_as_client_go_does() -> None:
    store = Store()
    process = alone(store, 1)
    assert process.leads()
    assert process.changes == [(True, 0.04)]
    assert store.spec == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 6,
        "acquireTime": "2026-11-21T12:00:00.020000Z",
        "renewTime": "2026-11-21T12:00:00.020000Z",
        "leaseTransitions": 0,
    }


def test_renews_every_second_by_one_request() -> None:
    store = Store()
    process = alone(store, 61)
    assert [method for method, _ in process.link.sent] == ["GET", "POST", *["PUT"] * 60]
    assert store.spec["acquireTime"] == "2026-11-21T12:00:00.020000Z"
    assert store.spec["renewTime"] > "2026-11-21T12:00:58"
    assert (process.changes, store.spec["leaseTransitions"]) == ([(True, 0.04)], 0)


@table(
    "spec, since, until, transitions",
    {
        "held, by a clock of the past": (
            {**OTHER, "renewTime": "2001-01-01T00:00:00.000000Z"},
            6,
            6.1,
            8,
        ),
        "for no shorter than its own": (held(leaseDurationSeconds=1), 6, 7.1, 8),
        "for as long as another version writes": (
            {**OTHER, "leaseDurationSeconds": 15},
            15,
            16.1,
            8,
        ),
        "for no longer than a minute": (held(leaseDurationSeconds=2**31 - 1), 60, 61.1, 8),
        "for no time": (held(leaseDurationSeconds=None), 6, 7.1, 8),
        "empty": ({}, 0, 0.1, 1),
        "of other types": ({"holderIdentity": 5, "leaseTransitions": "x"}, 0, 0.1, 1),
        "as many transitions as fit": ({"leaseTransitions": 2**31 - 1}, 0, 0.1, 0),
        "negative transitions": ({"leaseTransitions": -5}, 0, 0.1, 0),
    },
)
def test_takes_a_lease(spec: Any, since: float, until: float, transitions: int) -> None:
    store = Store()
    store.put(spec)
    process = alone(store, 62)
    assert process.leads()
    assert since <= process.changes[0][1] <= until
    assert (store.spec["holderIdentity"], store.spec["leaseTransitions"]) == ("me", transitions)
    taken = datetime.fromisoformat(store.spec["acquireTime"])
    assert since <= (taken - BEGAN).total_seconds() <= until


def test_takes_nothing_from_a_holder_who_renews() -> None:
    store = Store(**OTHER)
    clock = Clock()
    process = Process(clock, store, "me", offset=1000.0)
    for number in range(1, 24):
        clock.run_until(number * 5)
        store.put({**OTHER, "renewTime": f"2001-01-01T00:00:{number:02d}.000000Z"})
    assert process.changes == []
    assert {method for method, _ in process.link.sent} == {"GET"}


def test_gives_the_lease_back_for_another_to_take_at_once() -> None:
    store, clock = Store(), Clock()
    first = Process(clock, store, "first")
    clock.run_until(1)
    second = Process(clock, store, "second")
    clock.run_until(9.5)
    first.stop()
    clock.run_until(12.01)
    assert not first.leads()
    while store.spec["holderIdentity"] == "first":
        clock.run_until(clock.time + 0.01)
    assert first.changes[-1][0] is False
    assert first.changes[-1][1] == pytest.approx(clock.time, abs=0.1)
    assert store.spec["holderIdentity"] == ""
    assert (store.spec["leaseDurationSeconds"], store.spec["leaseTransitions"]) == (1, 0)
    given_back = clock.time
    clock.run_until(given_back + 1.3)
    assert second.leads()
    assert store.spec["leaseTransitions"] == 1
    assert first.ended
    assert overlaps([first, second]) == []


def test_may_not_write_three_seconds_after_it_sent_the_last_renewal_and_takes_it_again() -> None:
    _store, clock, process = begun(1)
    process.link.delays = lambda: (0.01, None)  # each renewal arrives, but no answer says so
    clock.run_until(3.01)
    assert process.leads()
    clock.run_until(3.03)
    assert not process.leads()
    clock.run_until(5)
    assert [held for held, _ in process.changes] == [True, False]
    process.link.delays = lambda: (0.01, 0.01)
    clock.run_until(10)
    assert process.leads()


def test_a_pause_that_the_server_asks_for_does_not_cost_the_lease_unnoticed() -> None:
    _store, clock, process = begun(0.5)
    process.link.refusals = [(429, 3600.0)]
    clock.run_until(3.03)
    assert not process.leads()
    clock.run_until(4)
    assert process.leads()
    assert [method for method, _ in process.link.sent] == ["GET", "POST", "PUT", "GET", "PUT"]


def test_a_process_that_stood_still_may_not_write_until_it_has_looked() -> None:
    store, clock, process = begun(0.5)
    process.stall_seconds = 30.0
    clock.run_until(5)
    assert not process.leads()
    store.put(OTHER)
    process.stall_seconds = 0.0
    clock.run_until(33)
    assert not process.leads()
    assert process.changes[-1][0] is False
    assert store.spec == OTHER


def test_a_deleted_lease_is_made_again() -> None:
    store, clock, process = begun(1)
    store.lease = None
    clock.run_until(4)
    assert process.leads()
    assert store.spec["leaseTransitions"] == 0


def test_a_lease_that_is_taken_by_force_is_lost_at_once(caplog: pytest.LogCaptureFixture) -> None:
    store, clock, process = begun(1)
    store.put(OTHER)
    clock.run_until(2.2)
    assert not process.leads()
    assert process.changes[-1][0] is False
    assert store.spec == OTHER
    assert "Lease fabric-injector/fabric-injector: lost by me: other has taken it" in caplog.text


def test_keeps_what_others_wrote_into_the_lease() -> None:
    store = Store()
    store.put(
        {"strategy": "OldestEmulationVersion", "preferredHolder": "x"}, labels={"team": "net"}
    )
    process = alone(store, 5)
    assert process.leads()
    process.leader.stop()
    process.clock.run_until(9)
    assert store.spec["holderIdentity"] == ""
    assert store.lease
    assert store.lease["metadata"]["labels"] == {"team": "net"}
    assert (store.spec["strategy"], store.spec["preferredHolder"]) == (
        "OldestEmulationVersion",
        "x",
    )


def test_takes_nothing_once_it_is_stopped() -> None:
    store, clock, process = begun()
    process.link.delays = lambda: (1.0, 1.0)
    clock.run_until(0.5)
    process.leader.stop()
    clock.run_until(30)
    assert store.lease is None
    assert process.ended


def test_logs_a_refusal_once_and_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    _store, clock, process = begun()
    process.link.refusals = [(403, 0.0)] * 3
    clock.run_until(10)
    assert process.leads()
    warnings = [
        record.getMessage() for record in caplog.records if record.levelno == logging.WARNING
    ]
    assert warnings == [
        f"Lease fabric-injector/fabric-injector: GET {PATH} answered 403: no role; trying again"
    ]


@pytest.mark.parametrize("seed", range(8))
def test_two_never_write_at_one_time_and_somebody_does(seed: int) -> None:
    chance = random.Random(seed)
    store, clock = Store(), Clock()
    every: list[Process] = []

    def delays() -> Delays:
        if chance.random() < fault:
            return chance.choice(
                [
                    (None, None),
                    (0.01, None),
                    (chance.uniform(0, 12), 0.01),
                    (0.01, chance.uniform(0, 4)),
                ]
            )
        return (chance.uniform(0.001, 0.05), chance.uniform(0.001, 0.05))

    def begin() -> Process:
        process = Process(
            clock,
            store,
            f"p{len(every)}",
            rate=chance.uniform(0.97, 1.03),
            offset=chance.uniform(0, 1e6),
            write_seconds=lambda: chance.uniform(0.0, WRITE_SECONDS),
        )
        process.link.delays = delays
        every.append(process)
        return process

    fault = 0.0
    running = [begin() for _ in range(3)]
    for _ in range(20):
        clock.run_until(clock.time + chance.uniform(1, 30))
        fault = chance.choice([0.0, 0.2, 0.6, 0.95])
        victim = chance.choice(running)
        match chance.choice(["kill", "stop", "stall", "nothing"]):
            case "kill":
                kill(victim)
            case "stop":
                victim.stop()
            case "stall":
                victim.stall_seconds = chance.choice([5.0, 12.0, 40.0])
        running = [
            process for process in running if not process.ended and process.stall_seconds < 1e9
        ]
        running += [begin() for _ in range(3 - len(running))]
        for process in running:
            process.stall_seconds = chance.choice([0.0, process.stall_seconds])
    fault = 0.0
    for process in running:
        process.stall_seconds = 0.0
    clock.run_until(clock.time + 60)
    running = [process for process in running if not process.ended]
    running += [begin() for _ in range(3 - len(running))]
    clock.run_until(clock.time + 60)
    assert overlaps(every) == []
    assert [process.leads() for process in running].count(True) == 1
    assert sum(len(process.writes) for process in every) > 100
