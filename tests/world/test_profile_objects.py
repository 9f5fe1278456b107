"""The profiles that FabricProfile objects describe, as these come, change, break and go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.fake_apiserver import FABRIC_PROFILES, NOT_INSTALLED, FakeApiServer, text
from tests.waiting import wait_until
from webhook.core.errors import WebhookError
from webhook.core.profiles import Multus, Profiles, parse_profiles
from webhook.kube.connection import Connection
from webhook.kube.credentials import Credentials
from webhook.world.profile_objects import ProfileObjects


@dataclass
class Told:
    """What was reported, and which profiles namespaces name."""

    reloads: list[Profiles] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def on_error(self, error: WebhookError) -> None:
        self.errors.append(str(error))


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def start(server: FakeApiServer, told: Told) -> Iterator[Callable[[], ProfileObjects]]:
    """Follow the server's objects, once what is there has been listed."""
    started: list[ProfileObjects] = []

    def begin() -> ProfileObjects:
        objects = ProfileObjects(
            Connection(Credentials("test", server.url)),
            multus=Multus(default_networks=1),
            own_image="example.com/fabric-injector:1",
            is_in_use=told.used.__contains__,
            on_reload=told.reloads.append,
            on_error=told.on_error,
        )
        objects.start()
        started.append(objects)
        wait_until(lambda: not any(objects.checks().values()), "the objects to be listed")
        return objects

    yield begin
    for objects in started:
        objects.stop()


def put(server: FakeApiServer, name: str, **spec: Any) -> None:
    server.put(FABRIC_PROFILES, name, spec=spec)


def networks(objects: ProfileObjects) -> dict[str, list[str]]:
    return {name: [str(net) for net in profile.networks] for name, profile in objects.current().profiles.items()}


def test_the_objects_are_the_profiles_that_a_file_holds(
    server: FakeApiServer, start: Callable[[], ProfileObjects], told: Told
) -> None:
    put(server, "b", networks=[{"network": "default/rdma-net"}], env={"NCCL_IB_HCA": "mlx5"})
    put(server, "a", podLabels={"x": "y"})
    objects = start()
    wanted = parse_profiles(
        "profiles: {a: {podLabels: {x: 'y'}}, b: {networks: [{network: default/rdma-net}], env: {NCCL_IB_HCA: mlx5}}}"
    )
    assert objects.current().profiles == wanted.profiles
    assert list(objects.current().profiles) == ["a", "b"]
    assert [profile.name for profile in objects.current().chosen_by({"x": "y"})] == ["a"]
    assert objects.current().multus == Multus(default_networks=1)
    assert objects.current().own_image == "example.com/fabric-injector:1"
    assert len(told.reloads) == 1


def test_no_object_and_no_definition_are_answers_too(
    server: FakeApiServer, start: Callable[[], ProfileObjects]
) -> None:
    server.misbehave("list", FABRIC_PROFILES, text(404, NOT_INSTALLED))
    objects = start()
    assert not objects.current().profiles
    assert objects.error() is None


def test_changes_are_in_force_as_they_come(
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
    assert told.errors[0].startswith("FabricProfile a: spec.later: is not a field; ")
    assert 'spec.networks[0].network: found "N/one"; "N" is not the name' in told.errors[0]
    assert told.errors[0].endswith("; its last good content stays")
    assert told.errors[1].endswith("; it is not in use")
    assert str(objects.error()) == "\n".join(told.errors)
    put(server, "a", networks=[{"network": "n/two"}])
    put(server, "new")
    wait_until(lambda: networks(objects) == {"a": ["n/two"], "new": []}, "the mended ones")
    assert objects.error() is None


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
    assert objects.error() is None
