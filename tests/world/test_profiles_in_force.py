"""What admission uses, put together of the parts as each of them comes."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core.model import ProfileOfMaster
from webhook.core.profiles import ClusterSettings, Multus, Profile, Profiles
from webhook.world.held import Master
from webhook.world.profiles_in_force import MOST_PAST, ProfilesInForce


def test_keeps_each_part_until_it_comes_anew() -> None:
    seen: list[Profiles] = []
    in_force = ProfilesInForce(own_image="example.com/fabric-injector:1", on_change=seen.append)
    assert in_force.current() == Profiles(own_image="example.com/fabric-injector:1")
    in_force.put(profiles={"a": Profile("a", pod_labels={"x": "y"})})
    in_force.put(settings=ClusterSettings(Multus(default_networks=1)))
    current = in_force.current()
    assert list(current.profiles) == ["a"]
    assert [profile.name for profile in current.chosen_by({"x": "y"})] == ["a"]
    assert current.multus == Multus(default_networks=1)
    assert current.own_image == "example.com/fabric-injector:1"
    in_force.put(profiles={})
    assert not in_force.current().profiles
    assert in_force.current().multus == Multus(default_networks=1)
    assert [list(each.profiles) for each in seen] == [["a"], ["a"], []]


def versions(*contents: str) -> list[dict[str, Profile]]:
    return [{"a": Profile("a", env={"A": each}, revision=each)} for each in contents]


def master(revision: str) -> Master:
    return Master("ml", "j", "", revision, None, ProfileOfMaster("a", revision, by_namespace=True))


def past(in_force: ProfilesInForce) -> Mapping[tuple[str, str], Profile]:
    return in_force.current().past or {}


def test_keeps_earlier_contents_that_a_rank_zero_has() -> None:
    now = [0.0]
    in_force = ProfilesInForce(monotonic=lambda: now[0])
    one, two, three, four = versions("1", "2", "3", "4")
    for each in (one, two):
        in_force.put(profiles=each)
    assert past(in_force) == {("a", "1"): one["a"]}, "who was admitted by it may not have been seen yet"
    in_force.masters = lambda: [master("1"), master("9")]
    now[0] = 3600.0
    in_force.put(profiles=three)
    assert set(past(in_force)) == {("a", "1"), ("a", "2")}
    in_force.masters = tuple
    now[0] = 3630.0
    in_force.put(profiles=four)
    assert set(past(in_force)) == {("a", "2"), ("a", "3")}
    assert in_force.current().of_revision("a", "2") is two["a"]
    assert in_force.current().of_revision("a", "4") is four["a"]
    assert in_force.current().of_revision("a", "1") is None
    in_force.put(profiles=three)
    assert set(past(in_force)) == {("a", "2"), ("a", "4")}, "what is present is not past"
    in_force.put(settings=ClusterSettings(Multus(default_networks=1)))
    assert set(past(in_force)) == {("a", "2"), ("a", "4")}


def test_keeps_no_more_than_it_may() -> None:
    in_force = ProfilesInForce()
    for each in versions(*map(str, range(MOST_PAST + 10))):
        in_force.put(profiles=each)
    assert len(past(in_force)) == MOST_PAST


def test_what_a_rank_zero_has_outlives_any_number_of_newer_contents() -> None:
    in_force = ProfilesInForce()
    in_force.masters = lambda: [master("0")]
    for each in versions(*map(str, range(MOST_PAST + 10))):
        in_force.put(profiles=each)
    assert ("a", "0") in past(in_force)
    assert len(past(in_force)) == MOST_PAST
