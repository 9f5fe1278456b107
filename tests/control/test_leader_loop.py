"""The loop of every writer: turns while it leads, one complaint a fault, and an end."""

import pytest

from tests.waiting import wait_until
from webhook.control import leader_loop
from webhook.control.leader_loop import LeaderLoop
from webhook.kube.connection import RequestFailed


def test_takes_turns_while_it_leads_and_tells_each_fault_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(leader_loop, "FOLLOWER_SECONDS", 0.01)
    monkeypatch.setattr(leader_loop, "SETTLE_SECONDS", 0.0)
    leads = False
    lost: list[int] = []
    turns: list[int] = []
    failures: list[Exception] = [
        RequestFailed("GET answered 403: no", 403),
        RequestFailed("GET answered 403: no", 403),
        ValueError("odd"),
    ]

    def turn() -> float:
        turns.append(loop.failures)
        if failures:
            raise failures.pop(0)
        return 60.0

    loop = LeaderLoop(
        "test",
        turn,
        lambda: leads,
        fault="it is not done",
        on_lost=lambda: lost.append(1),
        most_pause_seconds=0.01,
    )
    loop.start()
    wait_until(lambda: lost, "the loop to see that it does not lead")
    assert turns == []
    leads = True
    wait_until(lambda: turns == [0, 1, 2, 3], "the turn that goes well")
    wait_until(lambda: loop.failures == 0, "its end")
    loop.wake()
    wait_until(lambda: turns == [0, 1, 2, 3, 0], "the turn that it was woken for")
    assert loop.stop()
    assert not loop.may_write()
    assert [record.message for record in caplog.records] == [
        "it is not done: GET answered 403: no; trying again",
        "it is not done: internal error: ValueError('odd'); trying again",
    ]
