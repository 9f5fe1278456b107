"""The profiles that FabricProfile objects describe, as these come, change, break and go."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.fake_apiserver import FABRIC_PROFILES, NOT_INSTALLED, FakeApiServer, status, text
from tests.waiting import wait_until
from webhook.core.errors import InputError, ProfilesError, WebhookError
from webhook.core.profiles import Profile, parse_profiles
from webhook.core.profiles.load import read_profile
from webhook.kube import informer
from webhook.world import profile_objects
from webhook.world.profile_objects import ProfileObjects


@dataclass
class Told:
    """What was read at once and reported, and which profiles namespaces name; contents with *poison* end who reads them."""

    poison: str = "poison"
    reads: list[list[str]] = field(default_factory=list)
    reloads: list[Mapping[str, Profile]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    installed: list[bool] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    may_read: threading.Event = field(default_factory=threading.Event)

    def parse(self, contents: Mapping[str, bytes]) -> Mapping[str, Profile | ProfilesError]:
        self.may_read.wait(30)
        self.reads.append(list(contents))
        if any(self.poison in spec.decode() for spec in contents.values()):
            raise InputError("the process that reads the profiles has ended")
        return {name: self.read(name, json.loads(spec)) for name, spec in contents.items()}

    def read(self, name: str, spec: Any) -> Profile | ProfilesError:
        try:
            return read_profile(name, spec)
        except ProfilesError as error:
            return error

    def on_error(self, error: WebhookError) -> None:
        self.errors.append(str(error))


@pytest.fixture
def told() -> Told:
    told = Told()
    told.may_read.set()
    return told


@pytest.fixture
def follow(server: FakeApiServer, told: Told) -> Iterator[Callable[[], ProfileObjects]]:
    """Follow the server's objects."""
    started: list[ProfileObjects] = []

    def begin() -> ProfileObjects:
        objects = ProfileObjects(
            server.connection(),
            parse=told.parse,
            is_in_use=told.used.__contains__,
            on_reload=told.reloads.append,
            on_error=told.on_error,
            on_installed=told.installed.append,
        )
        objects.start()
        started.append(objects)
        return objects

    yield begin
    told.may_read.set()
    for objects in started:
        objects.stop()


@pytest.fixture
def start(follow: Callable[[], ProfileObjects]) -> Callable[[], ProfileObjects]:
    """Follow the server's objects, once what is there has been read."""

    def begin() -> ProfileObjects:
        objects = follow()
        wait_until(lambda: is_known(objects), "the objects to be read")
        return objects

    return begin


def is_known(objects: ProfileObjects) -> bool:
    return not any(objects.checks().values())


def put(server: FakeApiServer, name: str, **spec: Any) -> None:
    server.put(FABRIC_PROFILES, name, spec=spec)


def networks(objects: ProfileObjects) -> dict[str, list[str]]:
    return {
        name: [str(net) for net in profile.networks] for name, profile in objects.current().items()
    }


def test_the_objects_are_the_profiles_that_a_file_holds(
    server: FakeApiServer, start: Callable[[], ProfileObjects], told: Told
) -> None:
    put(server, "b", networks=[{"network": "default/rdma-net"}], env={"NCCL_IB_HCA": "mlx5"})
    put(server, "a", podLabels={"x": "y"})
    objects = start()
    wanted = parse_profiles(
        "profiles: {a: {podLabels: {x: 'y'}}, b: {networks: [{network: default/rdma-net}], env: {NCCL_IB_HCA: mlx5}}}"
    )
    assert objects.current() == wanted.profiles
    assert list(objects.current()) == ["a", "b"]
    assert told.reloads == [wanted.profiles]
    assert told.reads == [["a", "b"]], "all at once"


def test_what_has_not_been_listed_or_read_is_not_known(
    server: FakeApiServer, follow: Callable[[], ProfileObjects], told: Told
) -> None:
    told.may_read.clear()
    put(server, "a")
    server.refusal = status(403, "forbidden")
    objects = follow()
    wait_until(lambda: "403" in objects.checks()["profiles"], "the refusal")
    assert objects.checks()["profiles"].startswith("not listed yet (")
    server.refusal = None
    wait_until(lambda: objects.checks()["profiles"] == "not read yet", "the list")
    told.may_read.set()
    wait_until(lambda: is_known(objects), "the content")


def test_no_object_and_no_definition_are_answers_too(
    server: FakeApiServer,
    start: Callable[[], ProfileObjects],
    told: Told,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(informer, "NOT_INSTALLED_SECONDS", 0.1)
    server.misbehave("list", FABRIC_PROFILES, *[text(404, NOT_INSTALLED)] * 3)
    objects = start()
    assert not objects.current()
    assert told.installed == [False]
    assert objects.faulty() == 0
    put(server, "a")
    wait_until(lambda: networks(objects) == {"a": []}, "the definition and a profile")
    assert told.installed == [False, True]


def test_a_definition_that_is_gone_leaves_what_was_known(
    server: FakeApiServer,
    start: Callable[[], ProfileObjects],
    told: Told,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An API server that starts anew may not know its custom resources for a moment."""
    monkeypatch.setattr(informer, "NOT_INSTALLED_SECONDS", 0.1)
    put(server, "a", networks=[{"network": "n/one"}])
    objects = start()
    for kind in ("watch", "list"):
        server.misbehave(kind, FABRIC_PROFILES, text(404, NOT_INSTALLED))
    server.end_watches()
    wait_until(lambda: told.errors, "the end to be told")
    assert networks(objects) == {"a": ["n/one"]}
    wait_until(
        lambda: told.installed == [False, True] and objects.faulty() == 0,
        "the definition, and the same profile",
    )
    assert networks(objects) == {"a": ["n/one"]}


def test_follows_changes(
    server: FakeApiServer, start: Callable[[], ProfileObjects], told: Told
) -> None:
    put(server, "a", networks=[{"network": "n/one"}])
    objects = start()
    put(server, "a", networks=[{"network": "n/two"}])
    wait_until(lambda: networks(objects) == {"a": ["n/two"]}, "the change")
    put(server, "b")
    wait_until(lambda: networks(objects) == {"a": ["n/two"], "b": []}, "another")
    server.delete(FABRIC_PROFILES, "a")
    wait_until(lambda: networks(objects) == {"b": []}, "the end of the first")
    assert told.errors == []


def test_what_cannot_be_used_leaves_the_last_good_content(
    server: FakeApiServer, start: Callable[[], ProfileObjects], told: Told
) -> None:
    put(server, "a", networks=[{"network": "n/one"}])
    objects = start()
    put(server, "a", networks=[{"network": "N/one"}], later=True)
    put(server, "new", pods="some")
    wait_until(lambda: len(told.errors) == 2, "both to be told")
    assert networks(objects) == {"a": ["n/one"]}
    told.errors.sort()
    assert told.errors[0].startswith("FabricProfile a: spec.later: is not a field; ")
    assert 'spec.networks[0].network: found "N/one"; "N" is not the name' in told.errors[0]
    assert told.errors[0].endswith("; its last good content stays")
    assert told.errors[1].endswith("; it is not in use")
    assert objects.faulty() == 2
    put(server, "a", networks=[{"network": "n/two"}])
    put(server, "new")
    wait_until(lambda: networks(objects) == {"a": ["n/two"], "new": []}, "the mended ones")
    assert objects.faulty() == 0


def test_what_is_deleted_in_use_serves_until_it_is_there_again(
    server: FakeApiServer, start: Callable[[], ProfileObjects], told: Told
) -> None:
    put(server, "a", networks=[{"network": "n/one"}])
    objects = start()
    told.used.add("a")
    server.delete(FABRIC_PROFILES, "a")
    wait_until(lambda: told.errors, "the deletion")
    assert networks(objects) == {"a": ["n/one"]}
    assert told.errors == [
        "FabricProfile a: was deleted, though namespaces name it; it serves on until restart: create it again"
    ]
    put(server, "a", networks=[{"network": "n/two"}])
    wait_until(lambda: networks(objects) == {"a": ["n/two"]}, "the new one")
    assert objects.faulty() == 0


def test_what_changes_at_once_is_read_at_once(
    server: FakeApiServer,
    start: Callable[[], ProfileObjects],
    told: Told,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    objects = start()
    told.may_read.clear()
    put(server, "first")
    wait_until(lambda: not objects._changed.is_set(), "the first to be read")
    for number in range(20):
        put(server, f"p-{number}")
    wait_until(lambda: len(objects._informer.items) == 21, "all to be seen")
    told.may_read.set()
    wait_until(lambda: len(objects.current()) == 21, "all to be in force")
    assert len(told.reads) <= 2
    monkeypatch.setattr(profile_objects, "MOST_BYTES", 1)
    put(server, "p-1", pods="all")
    put(server, "p-2", pods="all")
    wait_until(
        lambda: objects.current()["p-2"].pods == objects.current()["p-1"].pods == "all",
        "the changes",
    )
    assert max(len(names) for names in told.reads[-2:]) == 1, "no more than there is room for"


def test_ignores_status(
    server: FakeApiServer, start: Callable[[], ProfileObjects], told: Told
) -> None:
    put(server, "a")
    objects = start()
    server.put(FABRIC_PROFILES, "a", spec={}, status={"namespaces": 3}, labels={"x": "y"})
    put(server, "b")
    wait_until(lambda: len(objects.current()) == 2, "what came later")
    assert told.reads == [["a"], ["b"]]


def test_what_nobody_can_read_keeps_no_other_from_being_read(
    server: FakeApiServer,
    start: Callable[[], ProfileObjects],
    told: Told,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is found by trying fewer at once, and tried again."""
    monkeypatch.setattr(profile_objects, "LEAST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(profile_objects, "MOST_PAUSE_SECONDS", 0.02)
    for number in range(9):
        put(server, f"p-{number}", env={"A": "poison"} if number == 4 else {})
    objects = start()
    assert len(objects.current()) == 8
    assert objects.faulty() == 1
    assert (
        "FabricProfile p-4: the process that reads the profiles has ended; it is tried again"
        in told.errors
    )
    told.poison = "nothing"
    wait_until(lambda: len(objects.current()) == 9, "the last one")
    assert objects.faulty() == 0


def test_is_not_known_while_nothing_can_be_read(
    server: FakeApiServer,
    follow: Callable[[], ProfileObjects],
    told: Told,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(profile_objects, "LEAST_PAUSE_SECONDS", 0.01)
    told.poison = ""
    put(server, "a")
    put(server, "b")
    objects = follow()
    wait_until(lambda: len(told.reads) > 5, "some tries")
    assert objects.checks()["profiles"].startswith("not read yet (FabricProfile ")
    assert len(told.errors) <= 3, "each told once"
    told.poison = "poison"
    wait_until(lambda: list(objects.current()) == ["a", "b"], "a better time")


def test_tells_of_two_for_the_same_pods(
    server: FakeApiServer, start: Callable[[], ProfileObjects], told: Told
) -> None:
    put(server, "a", podLabels={"x": "y"})
    put(server, "b", podLabels={"x": "y"})
    objects = start()
    problem = "FabricProfile b: spec.podLabels: a has the same, and pods that carry them take that one; change one of the two"
    wait_until(lambda: told.errors == [problem], "it to be told")
    assert objects.faulty() == 1
    assert list(objects.current()) == ["a", "b"]
    server.delete(FABRIC_PROFILES, "a")
    wait_until(lambda: objects.faulty() == 0, "the end of the doubt")
