"""One process beside the webhook at a time."""

from __future__ import annotations

import pytest

from webhook.serve.slot import Slot


def test_ends_whoever_has_it() -> None:
    slot = Slot()
    assert slot.take(slot.leave)
    with slot.evicting(10):
        assert not slot.take(lambda: None)
    assert slot.take(lambda: None)


def test_says_that_the_one_before_does_not_end() -> None:
    slot = Slot()
    assert slot.take(lambda: None)
    with pytest.raises(TimeoutError), slot.evicting(0.1):
        pass
