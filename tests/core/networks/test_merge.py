"""A profile's networks joined to a pod's own, and the name of every interface."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.builders import profile
from tests.tables import cases
from webhook.core.errors import Denied
from webhook.core.model import Reason
from webhook.core.networks import NetworkElement, parse_networks
from webhook.core.networks.merge import Merged, merge_networks
from webhook.core.profiles import NetworkName, ProfileNetwork
from webhook.core.profiles.grammar import ResourceNames

NAMESPACE = "research"


def networks(text: str) -> tuple[ProfileNetwork, ...]:
    """Read ``rails/rail-0@x`` as entries of a profile, each with a resource of its own."""
    return tuple(
        ProfileNetwork(NetworkName(item), ResourceNames((f"rdma/{number}",)))
        for number, item in enumerate(text.split())
    )


def merge(value: str, wanted: str, default_networks: int = 0, cluster: str = "eth0") -> Merged:
    reserved = [cluster, *(f"net{number}" for number in range(1, default_networks + 1))]
    own = parse_networks(value, NAMESPACE).elements
    return merge_networks(own, profile(networks=networks(wanted)), NAMESPACE, reserved, "train-0")


@pytest.mark.parametrize(
    ("value", "wanted", "added", "interfaces"),
    cases("""
nothing |  |  |  |
all of the profile |  | rails/a rails/b | rails/a,rails/b | net1 net2
a network of the pod's namespace |  | a | research/a | net1
nothing to the pod's own | a |  |  | net1
after the pod's own | x | a | research/a | net1 net2
present without its namespace | a | research/a |  | net1
another namespace is another network | rails/a | a | research/a | net1 net2
present under an interface of its own | a@x | a |  | x
a multiset | a | a a a | research/a,research/a | net1 net2 net3
more than the profile | a,a,a | a |  | net1 net2 net3
present with that interface | a@x | a@x |  | x
another interface is wanted | a@x | a@y | research/a@y | x y
present under the name that it gets | a | a@net1 |  | net1
a named one is not spent on one without a name | a,a@x | a a@x |  | net1 x
the named one is served first | a@x | a a@x | research/a | x net2
a named one uses up its number | y@rdma0,b | a | research/a | rdma0 net2 net3
the lowest free name | y@net2 | a | research/a@net1 | net2 net1
own names do not clash | y@net2,z@net1 | a b | research/a,research/b | net2 net1 net3 net4
only the one that clashes | y@net2 | a b | research/a@net1,research/b | net2 net1 net3
both clash | y@net3,z@net4 | a b | research/a@net1,research/b@net2 | net3 net4 net1 net2
a free name between | y,z@net3 | a | research/a@net2 | net1 net3 net2
a used-up number is free | y,z,x@net4 | a | research/a@net3 | net1 net2 net4 net3
a name that the profile gives later |  | a b@net1 | research/a@net3,research/b@net1 | net3 net1
a name that the profile gives before |  | a@net2 b | research/a@net2,research/b@net3 | net2 net3
numbers of others |  | a@net2 b c | research/a@net2,research/b@net4,research/c | net2 net4 net3
"""),
)
def test_appends_what_is_missing(value: str, wanted: str, added: str, interfaces: str) -> None:
    found, kept = merge(value, wanted), len(parse_networks(value, NAMESPACE).elements)
    assert tuple(found.elements[kept:]) == parse_networks(added, "x").elements
    assert found.interfaces == interfaces.split()


@pytest.mark.parametrize(
    ("value", "wanted", "default_networks", "interfaces"),
    [
        pytest.param("", "a b", 1, "net2 net3", id="one default network"),
        pytest.param("x@y", "a", 2, "y net4", id="two default networks"),
        pytest.param("x@net4", "a", 2, "net4 net3", id="never the name of a default network"),
    ],
)
def test_counts_the_default_networks_of_multus(
    value: str, wanted: str, default_networks: int, interfaces: str
) -> None:
    assert merge(value, wanted, default_networks).interfaces == interfaces.split()


@pytest.mark.parametrize(
    ("value", "wanted", "default_networks", "cluster", "owner"),
    cases("""
asked for | y@rdma0 | a@rdma0 | 0 | eth0 | element 1 (research/y) of annotation
automatic | z,rails/y | a@net2 | 0 | eth0 | element 2 (rails/y) of annotation
twice in the profile |  | a@x b@x | 0 | eth0 | its network a has
twice among others in the profile |  | z@y a@x b@x | 0 | eth0 | its network a has
default network |  | a@net1 | 1 | eth0 | another network that Multus attaches by itself
renamed cluster network |  | a@x | 0 | x | another network that Multus attaches by itself
"""),
)
def test_denies_an_interface_that_the_profile_names_and_another_has(
    value: str, wanted: str, default_networks: str, cluster: str, owner: str
) -> None:
    with pytest.raises(Denied) as denial:
        merge(value, wanted, int(default_networks), cluster)
    assert (denial.value.step, denial.value.reason) == ("networks", Reason.INTERFACE_CONFLICT)
    message = denial.value.message
    assert message.startswith("pod train-0: profile rdma attaches network research/")
    assert f", but {owner}" in message
    assert message.endswith("; name another interface in one of the two")


@pytest.mark.parametrize(
    ("value", "wanted", "places"),
    [
        pytest.param("", "a b", {0: 0, 1: 1}, id="all added"),
        pytest.param("b,a", "a b", {0: 1, 1: 0}, id="in the pod's order"),
        pytest.param("x,a", "a a", {0: 1, 1: 2}, id="k-th occurrence, k-th entry"),
        pytest.param("a,a,a", "a a", {0: 0, 1: 1}, id="surplus"),
        pytest.param("a@x", "a a@x", {0: 1, 1: 0}, id="by interface first"),
    ],
)
def test_tells_which_element_serves_a_network(
    value: str, wanted: str, places: dict[int, int]
) -> None:
    assert merge(value, wanted).places == places


NAMES = st.sampled_from(["a", "b", "rails/a"])
INTERFACES = st.sampled_from([None, None, None, "net1", "net2", "net3", "net5", "x", "y"])
OWN = st.lists(st.tuples(NAMES, INTERFACES), max_size=5)


def written(items: list[tuple[str, str | None]], joint: str) -> str:
    return joint.join(f"{name}@{interface}" if interface else name for name, interface in items)


def keys(elements: list[NetworkElement]) -> Counter[tuple[str, str]]:
    return Counter((element.namespace, element.name) for element in elements)


@settings(deadline=None)
@given(OWN, st.lists(st.tuples(NAMES, INTERFACES), max_size=4), st.integers(0, 2))
def test_holds_all_and_changes_nothing_the_second_time(
    own: list[tuple[str, str | None]], wanted: list[tuple[str, str | None]], default_networks: int
) -> None:
    before = parse_networks(written(own, ","), NAMESPACE)
    entries = networks(written(wanted, " "))
    try:
        first = merge(before.text, written(wanted, " "), default_networks)
    except Denied as denial:
        assert denial.reason is Reason.INTERFACE_CONFLICT  # noqa: PT017  # the other way out
        return
    kept = len(before.elements)
    assert tuple(first.elements[:kept]) == before.elements
    assert not Counter((entry.namespace or NAMESPACE, entry.name) for entry in entries) - keys(
        first.elements
    )
    own_interfaces = [
        one.interface or f"net{n}" for n, one in enumerate(before.elements, 1 + default_networks)
    ]
    assert first.interfaces[:kept] == own_interfaces
    added = first.interfaces[kept:]
    assert len({*added, *own_interfaces}) == len(added) + len(set(own_interfaces))
    for number, entry in enumerate(entries):
        assert entry.interface in (None, first.interfaces[first.places[number]])

    missing = first.elements[kept:]
    again = before.with_added(missing) if missing else before.text
    second = merge(again, written(wanted, " "), default_networks)
    assert tuple(second.elements) == tuple(first.elements)
    assert second.interfaces == first.interfaces
