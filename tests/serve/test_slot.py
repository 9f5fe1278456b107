"""One process beside the webhook at a time, and who comes first."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.waiting import wait_until
from webhook.serve.slot import Slot


def test_says_that_the_one_before_does_not_end() -> None:
    slot = Slot()
    with slot.held(10):
        for yields in (False, True):
            with pytest.raises(TimeoutError), slot.held(0.1, yields=yields):
                pass
    with slot.held(0):
        pass


def test_who_yields_comes_last() -> None:
    """A change of the profiles is read though somebody has profiles validated without end."""
    slot, order = Slot(), list[str]()
    begun, enough = threading.Event(), threading.Event()

    def validate() -> None:
        while not enough.is_set():
            with slot.held(10, yields=True):
                order.append("validation")
                begun.set()

    def reload() -> None:
        with slot.held(10):
            order.append("reload")

    with ThreadPoolExecutor() as threads:
        validations = [threads.submit(validate) for _ in range(3)]
        try:
            assert begun.wait(10)
            with slot.held(10):
                reloads = [threads.submit(reload) for _ in range(3)]
                wait_until(lambda: slot._waiting == 3, "the reloads to wait")
                order.clear()
            for each in reloads:
                each.result()
            assert order[:3] == ["reload"] * 3
        finally:
            enough.set()
        for each in validations:
            each.result()
