"""Settings of all tests: what marks the core, how patient property tests are, and what tests of many files are given."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests import ROOT
from tests.fake_apiserver import FakeApiServer

settings.register_profile(
    "any-machine",
    suppress_health_check=[HealthCheck.too_slow],
    deadline=None,
    max_examples=50,
)
settings.load_profile("any-machine")

# SIGINT is ignored where a shell runs this in the background, and then by all that tests start;
# SIGTERM shall end the tests as Ctrl-C does, so that what they started is stopped
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.default_int_handler)

TIERS = ("sockets", "page", "apiserver", "image", "node", "operators", "broken", "dra")
"""Markers of the tests that need more than Python."""
LONG = ("test_recipes", "test_simulation", "test_hostile", "test_memory", "test_promises")
"""Modules of tests that take seconds each."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as core what is of no other tier; the folders' own hooks have run by now.

    The longest begin first, or one worker would still be at them when the others have ended.
    """
    items.sort(key=lambda item: item.path.stem not in LONG)
    for item in items:
        if not any(item.get_closest_marker(tier) for tier in TIERS):
            if (folder := item.path.relative_to(ROOT / "tests").parts[0]) in TIERS:
                raise pytest.UsageError(
                    f"{item.nodeid}: is not of tier {folder}; `make core` does not look into tests/{folder}"
                )
            item.add_marker(pytest.mark.core)


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        yield server
