"""What admission uses, put together of the parts as each of them comes."""

from webhook.core.profiles import ClusterSettings, Multus, Profile, Profiles
from webhook.world.active_profiles import ActiveProfiles


def test_keeps_each_part_until_it_comes_anew() -> None:
    in_force = ActiveProfiles(own_image="example.com/fabric-injector:1")
    assert in_force.current() == Profiles(own_image="example.com/fabric-injector:1")
    in_force.put(profiles={"a": Profile(name="a", pod_labels={"x": "y"})})
    in_force.put(settings=ClusterSettings(Multus(default_networks=1)))
    current = in_force.current()
    assert list(current.profiles) == ["a"]
    assert [profile.name for profile in current.chosen_by({"x": "y"})] == ["a"]
    assert current.multus == Multus(default_networks=1)
    assert current.own_image == "example.com/fabric-injector:1"
    in_force.put(profiles={})
    assert not in_force.current().profiles
    assert in_force.current().multus == Multus(default_networks=1)
