"""The profiles that FabricProfile objects describe, as these come, change, break and go."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.fake_apiserver import FABRIC_PROFILES, NOT_INSTALLED, FakeApiServer, text
from tests.profiles import profiles
from tests.waiting import wait_until
from webhook.kube import informer
from webhook.world.active_profiles import ActiveProfiles
from webhook.world.profile_objects import ProfileObjects


class Told:
    """What was logged, and which profiles namespaces name."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog, self.used = caplog, set[str]()

    @property
    def errors(self) -> list[str]:
        return self._of("profiles not reloaded: ")

    @property
    def reloads(self) -> list[str]:
        return self._of("profiles in force: ")

    def _of(self, prefix: str) -> list[str]:
        found = [each for each in self._caplog.messages if each.startswith(prefix)]
        return [each.removeprefix(prefix) for each in found]


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Told:
    caplog.set_level(logging.INFO)
    return Told(caplog)


@pytest.fixture
def follow(server: FakeApiServer, told: Told) -> Iterator[Callable[[], ProfileObjects]]:
    """Follow the server's objects."""
    started: list[ProfileObjects] = []

    def begin() -> ProfileObjects:
        active = ActiveProfiles()
        objects = ProfileObjects(server.connection(), active, told.used.__contains__)
        objects.start()
        started.append(objects)
        return objects

    yield begin
    for objects in started:
        objects.stop()


@pytest.fixture
def start(follow: Callable[[], ProfileObjects], told: Told) -> Callable[[], ProfileObjects]:
    """Follow the server's objects, once what is there is in force."""

    def begin() -> ProfileObjects:
        objects = follow()
        wait_until(lambda: told.reloads, "the objects to be in force")
        return objects

    return begin


def put(server: FakeApiServer, name: str, **spec: Any) -> None:
    server.put(FABRIC_PROFILES, name, spec=spec)


def networks(objects: ProfileObjects) -> dict[str, list[str]]:
    return {
        name: [str(net) for net in profile.networks] for name, profile in objects.current().items()
    }


def test_the_objects_are_the_profiles_that_a_file_holds(
    server: FakeApiServer, start: Callable[[], ProfileObjects], told: Told
) -> None:
    put(server, "b", networks=[{"network": "default/rdma-net"}], accelerators=8)
    put(server, "a", podLabels={"x": "y"})
    objects = start()
    wanted = profiles(
        "{a: {podLabels: {x: 'y'}}, b: {networks: [{network: default/rdma-net}], accelerators: 8}}"
    )
    assert objects.current() == wanted.profiles
    assert list(objects.current()) == ["a", "b"]
    assert told.reloads == ["a, b"]


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
    wait_until(lambda: objects.faulty() == 0, "the definition, and the same profile")
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
    put(server, "a", networks=[{"network": "N/one"}])
    put(server, "new", pods="some")
    wait_until(lambda: len(told.errors) == 2, "both to be told")
    assert networks(objects) == {"a": ["n/one"]}
    first, second = sorted(told.errors)
    fault = 'FabricProfile a: spec.networks[0].network: found "N/one"; write [namespace/]name'
    assert first.startswith(fault)
    assert first.endswith("; its last good content stays")
    assert second.endswith("; it is not in use")
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
        "FabricProfile a: was deleted, though namespaces name it; "
        "it serves on until restart: create it again"
    ]
    put(server, "a", networks=[{"network": "n/two"}])
    wait_until(lambda: networks(objects) == {"a": ["n/two"]}, "the new one")
    assert objects.faulty() == 0


def test_a_new_status_is_no_new_profile(
    server: FakeApiServer, start: Callable[[], ProfileObjects], told: Told
) -> None:
    put(server, "a")
    start()
    server.put(FABRIC_PROFILES, "a", spec={}, status={"namespaces": 3}, labels={"x": "y"})
    put(server, "b")
    wait_until(lambda: len(told.reloads) == 2, "what came later")
    assert told.reloads == ["a", "a, b"]
