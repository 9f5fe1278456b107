"""The attachment on which the ranks of a job meet."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.builders import attachment, profile
from webhook.core.networks.resolve import choose_rendezvous_network
from webhook.core.profiles import NetworkName, ProfileNetwork, RendezvousSettings

ATTACHED = (
    attachment("rails/layer-2", "net1", has_ipam=False),
    attachment("rails/six", "net2", ipv6_only=True),
    attachment("rails/rail-0", "net3"),
    attachment("research/rail-0", "net4"),
    attachment("rails/rail-0", "rdma0"),
)


def choose(places: tuple[int, ...], named: str | None = None, **tweaks: Any) -> tuple[str, str]:
    """Return the chosen interface and the reason why there is none; *named* as ``rails/rail-0@net3``."""
    network = None if named is None else NetworkName(named)
    keys = [ATTACHED[place].key for place in places]
    networks = tuple(ProfileNetwork(NetworkName(key)) for key in keys)
    a_profile = profile(networks=networks, rendezvous=RendezvousSettings(network=network, **tweaks))
    found, why = choose_rendezvous_network(
        a_profile, "research", ATTACHED, [ATTACHED[place] for place in places]
    )
    return (found.interface if found else ""), why


@pytest.mark.parametrize(
    ("places", "named", "interface"),
    [
        pytest.param((), None, "net2", id="no networks in the profile: the first with IPAM"),
        pytest.param((3, 2), None, "net4", id="the profile's first"),
        pytest.param((0, 2), None, "net3", id="the profile's first with IPAM"),
        pytest.param((3,), "rails/rail-0", "net3", id="the profile's rendezvous network"),
        pytest.param((2,), "rail-0", "net4", id="of the pod's own namespace"),
        pytest.param((2,), "rails/rail-0@rdma0", "rdma0", id="by its interface"),
    ],
)
def test_chooses(places: tuple[int, ...], named: str | None, interface: str) -> None:
    assert choose(places, named) == (interface, "")


def test_passes_over_a_network_of_another_family() -> None:
    assert choose((), ip_family="IPv4") == ("net3", "")
    assert choose((1, 3), ip_family="IPv4") == ("net4", "")
    assert choose((1, 3), ip_family="IPv6") == ("net2", "")


@pytest.mark.parametrize(
    ("places", "named", "family", "why"),
    [
        pytest.param(
            (2,),
            "rails/layer-2",
            "any",
            "network rails/layer-2 has no IPAM, so its interface gets no address",
            id="named, no IPAM",
        ),
        pytest.param(
            (0, 0),
            None,
            "any",
            "network rails/layer-2 has no IPAM, so its interface gets no address",
            id="no IPAM",
        ),
        pytest.param(
            (0, 1),
            None,
            "IPv4",
            "network rails/layer-2 has no IPAM, so its interface gets no address; "
            "network rails/six gives IPv6 addresses only, and profile rdma meets on IPv4",
            id="each for a reason",
        ),
        pytest.param(
            (2,),
            "rails/rail-9",
            "any",
            "profile rdma meets on network rails/rail-9, which is not attached to the pod",
            id="not attached",
        ),
        pytest.param(
            (2,),
            "rails/rail-0@rail0",
            "any",
            "profile rdma meets on network rails/rail-0@rail0, which is not attached to the pod",
            id="not attached under that name",
        ),
    ],
)
def test_says_why_there_is_none(
    places: tuple[int, ...], named: str | None, family: str, why: str
) -> None:
    assert choose(places, named, ip_family=family) == ("", why)


def test_says_that_nothing_is_attached() -> None:
    assert choose_rendezvous_network(profile(), "research", (), ()) == (
        None,
        "no secondary network is attached to the pod",
    )
