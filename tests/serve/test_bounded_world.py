"""What validation asks of the cluster: live where it matters, and within its time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.worlds import namespace
from webhook.core.errors import ProfilesError, Unavailable
from webhook.core.model import Namespace, Object
from webhook.serve.bounded_world import FEW, SECONDS, BoundedWorld
from webhook.serve.slot import Slot
from webhook.world.objects import ObjectsWorld


class RelabelledWorld(ObjectsWorld):
    """Hold namespaces of which some were given another profile a moment ago, and count who asks live."""

    def __init__(self, count: int, *relabelled: str) -> None:
        super().__init__(namespace(f"train-{number}") for number in range(count))
        self.relabelled, self.asked, self.silent, self.doubt, self.ending = relabelled, 0, False, "", ""

    def fresh_namespace(self, name: str) -> Namespace | None:
        self.asked += 1
        if self.silent:
            raise Unavailable("silent")
        held = None if name in self.relabelled else self.namespace(name)
        return replace(held, is_ending=True) if held and name == self.ending else held

    def checks(self) -> dict[str, str]:
        return {"namespaces": self.doubt}


def test_asks_for_few_namespaces_live() -> None:
    world = RelabelledWorld(FEW, "train-1")
    assert BoundedWorld(world, Slot()).namespaces_naming("shared") == ["train-0", "train-2", "train-3", "train-4"]
    assert BoundedWorld(world, Slot()).namespaces_naming("rails") == []
    assert world.asked == FEW
    many = RelabelledWorld(FEW + 1, "train-1")
    assert len(BoundedWorld(many, Slot()).namespaces_naming("shared")) == FEW + 1
    assert many.asked == 0


def test_a_namespace_that_is_being_deleted_needs_no_profile() -> None:
    for count in (1, FEW + 1):
        spaces = [namespace(f"train-{number}") for number in range(count)]
        for space in spaces:
            space["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        assert not BoundedWorld(ObjectsWorld(spaces), Slot()).namespaces_naming("shared")
    world = RelabelledWorld(2)
    world.ending = "train-1"
    assert BoundedWorld(world, Slot()).namespaces_naming("shared") == ["train-0"], "asked live"


def test_no_namespace_needs_an_object_where_the_profiles_are_a_files() -> None:
    assert not BoundedWorld(RelabelledWorld(2), Slot(), of_objects=False).namespaces_naming("shared")


def test_what_was_known_last_counts_where_nobody_answers() -> None:
    world = RelabelledWorld(2, "train-1")
    world.silent = True
    assert BoundedWorld(world, Slot()).namespaces_naming("shared") == ["train-0", "train-1"]


def test_namespaces_that_are_not_known_are_not_counted() -> None:
    world = RelabelledWorld(2)
    world.doubt = "not listed yet"
    with pytest.raises(Unavailable, match="namespaces: not listed yet"):
        BoundedWorld(world, Slot()).namespaces_naming("shared")


def test_a_profile_that_is_not_in_force_is_looked_for_where_profiles_are_objects() -> None:
    class MadeNow(ObjectsWorld):
        def profile_spec(self, name: str, seconds: float) -> Object | None:
            assert 0 < seconds <= SECONDS
            return {"allowedNamespaces": ["here"]} if name == "new" else None

    world = MadeNow(())
    found = BoundedWorld(world, Slot(), monotonic=lambda: 0.0).new_profile("new")
    assert found is not None
    assert found.allowed_namespaces == frozenset({"here"})
    assert BoundedWorld(world, Slot()).new_profile("other") is None
    assert BoundedWorld(world, Slot(), of_objects=False).new_profile("new") is None


def test_asks_nothing_when_its_time_is_over() -> None:
    now = [0.0]
    world = BoundedWorld(RelabelledWorld(1, "train-0"), Slot(), monotonic=lambda: now[0])
    assert world.network("default", "rdma-net") is None
    now[0] = SECONDS
    with pytest.raises(Unavailable, match=r"took longer than 1\.4 s"):
        world.network("default", "rdma-net")
    with pytest.raises(Unavailable):
        world.read_profile("a", {})
    with pytest.raises(Unavailable):
        world.new_profile("a")
    assert world.namespaces_naming("shared") == ["train-0"]


def test_a_process_that_fails_is_no_fault_of_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(Unavailable, match="cannot be started"):
        BoundedWorld(ObjectsWorld(()), Slot()).read_profile("a", {})


def test_checks_the_content_of_a_configuration() -> None:
    head = "apiVersion: config.fabric-injector.io/v1alpha1\nkind: Configuration\n"
    world = BoundedWorld(ObjectsWorld(()), Slot(), monotonic=lambda: 0.0)
    world.check_configuration(head)
    with pytest.raises(ProfilesError, match="defaultNetworks"):
        world.check_configuration(f"{head}multus: {{defaultNetworks: two}}\n")
    taken = Slot()
    with taken.held(0), pytest.raises(Unavailable, match="another process of ours"):
        BoundedWorld(ObjectsWorld(()), taken).check_configuration(head)
