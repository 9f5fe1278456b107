"""The process that reads the profiles: the same profiles and the same faults as where they are read at once, and none of its own."""

from __future__ import annotations

import pytest

from tests.serve.test_questions import EVERYTHING
from webhook.core.errors import InputError, ProfilesError
from webhook.core.profiles import parse_profiles
from webhook.serve.profiles_process import parse_profiles_apart
from webhook.serve.slot import Slot

pytestmark = pytest.mark.sockets

FAULTY = (
    b"multus: {defaultNetworks: -1}\nprofiles:\n  two: {pods: some, colour: red}\n  one: {networks: [{network: '!'}]}\n"
)


def test_reads_what_is_read_at_once() -> None:
    assert parse_profiles_apart(EVERYTHING.encode(), Slot()) == parse_profiles(EVERYTHING)


@pytest.mark.parametrize("content", [FAULTY, b"\xff", b"a: [", b""], ids=["faults", "no text", "no YAML", "nothing"])
def test_tells_the_same_faults(content: bytes) -> None:
    with pytest.raises(ProfilesError) as here:
        parse_profiles(content)
    with pytest.raises(ProfilesError) as apart:
        parse_profiles_apart(content, Slot())
    assert apart.value.problems == here.value.problems
    assert str(apart.value) == str(here.value)


def test_says_that_they_need_too_much_memory() -> None:
    content = b"profiles:\n" + b"".join(b"  p%d: {env: {A: b}}\n" % number for number in range(60_000))
    with pytest.raises(InputError, match="the profiles need more than 96 MiB to be read"):
        parse_profiles_apart(content, Slot())


def test_says_that_it_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    slot = Slot()
    with pytest.raises(InputError, match="cannot be started: No such file or directory"):
        parse_profiles_apart(b"profiles: {}", slot)
    assert slot.take(lambda: None)


def test_says_that_it_takes_too_long() -> None:
    with pytest.raises(InputError, match=r"the profiles cannot be read in 0\.01 s"):
        parse_profiles_apart(b"profiles: {}", Slot(), 0.01)


def test_says_that_the_one_before_it_does_not_end() -> None:
    slot = Slot()
    assert slot.take(lambda: None)
    with pytest.raises(InputError, match=r"another process of ours has not ended in 0\.1 s"):
        parse_profiles_apart(b"profiles: {}", slot, 0.1)
