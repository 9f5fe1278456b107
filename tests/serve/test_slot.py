"""One process at a time."""

import pytest

from webhook.serve.slot import Slot


def test_says_that_the_one_before_does_not_end() -> None:
    slot = Slot()
    with slot.held(10), pytest.raises(TimeoutError), slot.held(0.1):
        pass
    with slot.held(0):
        pass
