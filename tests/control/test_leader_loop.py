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
    turns: list[int] = []
    failures: list[Exception] = [
        RequestFailed("GET answered 403: no", 403),
        RequestFailed("GET answered 403: no", 403),
        ValueError("odd"),
    ]

    class Loop(LeaderLoop):
        fault = "it is not done"
        most_pause_seconds = 0.01
        is_lost = False

        def turn(self) -> float:
            turns.append(self.failures)
            if failures:
                raise failures.pop(0)
            return 60.0

        def lost(self) -> None:
            self.is_lost = True

    loop = Loop(lambda: leads)
    loop.start()
    wait_until(lambda: loop.is_lost, "the loop to see that it does not lead")
    assert turns == []
    leads = True
    wait_until(lambda: turns == [0, 1, 2, 3], "the turn that goes well")
    wait_until(lambda: loop.failures == 0, "its end")
    loop.wake()
    wait_until(lambda: turns == [0, 1, 2, 3, 0], "the turn that it was woken for")
    loop.stop()
    assert not loop._thread.is_alive()
    assert not loop.may_write()
    assert [record.message for record in caplog.records] == [
        "it is not done: GET answered 403: no; trying again",
        "it is not done: internal error: ValueError('odd'); trying again",
    ]
