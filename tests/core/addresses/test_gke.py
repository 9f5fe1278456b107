"""GKE's annotations: which interface's address counts, and what is read of pod-ips, as GKE and broken hands write it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.builders import profile
from tests.pods import minimal_pod
from webhook.core import names
from webhook.core.addresses import gke
from webhook.core.addresses.gke import parse_wanted, secondary
from webhook.core.addresses.source import Choice
from webhook.core.model import Object, Reason
from webhook.core.networks import ResolvedNetworks
from webhook.core.networks.status import Family, Secondary, Wanted
from webhook.core.profiles import NetworkName, RendezvousSettings

ETH0 = {"interfaceName": "eth0", "network": "default"}
RDMA_0 = {"interfaceName": "eth1", "network": "rdma-0"}
RDMA_1 = {"interfaceName": "eth2", "network": "rdma-1"}
WANTED = Wanted("", "rdma-0", "eth1", "any")


def asking(*interfaces: object, default: str | None = "eth0", **spec: Any) -> Object:
    """Return a pod with the annotations by which GKE makes interfaces."""
    annotations = {names.GKE_INTERFACES: json.dumps(interfaces)}
    if default is not None:
        annotations[names.GKE_DEFAULT_INTERFACE] = default
    pod = minimal_pod(metadata={"name": "train-0", "annotations": annotations})
    pod["spec"] |= spec
    return pod


def choose(
    pod: Object, network: str = "", interface: str | None = None, template: Any = None
) -> Choice:
    named = NetworkName(f"{network}@{interface}" if interface else network)
    settings = RendezvousSettings(address_source="gke", network=named or None)
    return gke.choose(pod, profile(rendezvous=settings, pod=template or {}), ResolvedNetworks())


def chosen(choice: Choice) -> str:
    assert choice.network is not None, choice.problem
    return f"{choice.network.key}@{choice.network.interface}"


@pytest.mark.parametrize(
    ("interfaces", "expected"),
    [
        ([ETH0, RDMA_0, RDMA_1], "rdma-0@eth1"),
        ([RDMA_1, ETH0, RDMA_0], "rdma-1@eth2"),
        (
            [{"interfaceName": "eth0", "network": "pod-network"}, RDMA_0],
            "rdma-0@eth1",
        ),  # the default network's former name
        ([ETH0, {"interfaceName": "eth3", "interface": "own"}, RDMA_0], "rdma-0@eth1"),
        ([ETH0, {**RDMA_0, "interface": None, "unknown": 1}], "rdma-0@eth1"),
    ],
)
def test_chooses_the_first_interface_that_is_not_of_the_default_network(
    interfaces: list[Object], expected: str
) -> None:
    assert chosen(choose(asking(*interfaces))) == expected


@pytest.mark.parametrize(
    ("network", "interface", "expected"),
    [("rdma-1", None, "rdma-1@eth2"), ("rdma-1", "eth2", "rdma-1@eth2")],
)
def test_chooses_the_network_that_the_profile_names(
    network: str, interface: str | None, expected: str
) -> None:
    assert chosen(choose(asking(ETH0, RDMA_0, RDMA_1), network, interface)) == expected


@pytest.mark.parametrize(
    ("network", "interface"), [("rdma-7", None), ("rdma-1", "eth1"), ("default", None)]
)
def test_a_named_network_that_is_not_asked_for_is_told(network: str, interface: str | None) -> None:
    choice = choose(asking(ETH0, RDMA_0, RDMA_1), network, interface)
    assert choice.network is None
    assert "which annotation networking.gke.io/interfaces does not ask for" in choice.problem
    assert choice.interfaces == ("eth1", "eth2")


def test_the_profiles_annotations_count_where_the_pod_has_none_of_its_own() -> None:
    given = {names.GKE_INTERFACES: json.dumps([ETH0, RDMA_0]), names.GKE_DEFAULT_INTERFACE: "eth0"}
    of_profile = {"metadata": {"annotations": given}}
    assert chosen(choose(minimal_pod(), template=of_profile)) == "rdma-0@eth1"
    assert chosen(choose(asking(ETH0, RDMA_1, default=None), template=of_profile)) == "rdma-1@eth2"


@pytest.mark.parametrize(
    ("pod", "problem"),
    [
        (
            minimal_pod(),
            "neither the pod nor profile rdma has annotation networking.gke.io/interfaces",
        ),
        (asking(ETH0), "asks for no network but the default one"),
        (asking(ETH0, RDMA_0, default=None), "default-interface names none of the interfaces"),
        (asking(ETH0, RDMA_0, default="eth9"), "default-interface names none of the interfaces"),
        (
            asking(ETH0, RDMA_0, {**RDMA_0, "interfaceName": "eth2"}),
            "network rdma-0 is asked for 2 times",
        ),
        (
            asking(ETH0, RDMA_0, {**RDMA_1, "interfaceName": "eth1"}),
            "asks for interface 'eth1', which the pod has already",
        ),
        (
            asking({**RDMA_0, "interfaceName": "eth0"}),
            "asks for interface 'eth0', which the pod has already",
        ),
        (
            asking(ETH0, {**RDMA_0, "interfaceName": "a@b"}),
            "asks for interface 'a@b', which no node can make",
        ),
        (asking(ETH0, {**RDMA_0, "interfaceName": "x" * 16}), "which no node can make"),
        (
            asking(ETH0, {"interfaceName": "eth1", "network": "a/b@c"}),
            "'a/b@c' is not the name of a network",
        ),
        (
            asking(ETH0, {"interfaceName": "eth1", "interface": "own"}),
            "names a NetworkInterface, whose network is not told",
        ),
        (asking(ETH0, {"interfaceName": "eth1"}), "interface 'eth1' names not one network"),
        (asking(ETH0, {**RDMA_0, "interface": "own"}), "interface 'eth1' names not one network"),
        (asking(ETH0, {"network": "rdma-0"}), "an interfaceName is missing"),
        (asking(ETH0, "rdma-0"), "an element is not an object"),
        (
            asking(*[{**RDMA_0, "interfaceName": f"eth{n}"} for n in range(65)]),
            "65 interfaces, and at most 64 are read",
        ),
    ],
)
def test_says_why_no_interface_counts(pod: Object, problem: str) -> None:
    choice = choose(pod)
    assert (choice.network, choice.reason) == (None, Reason.NO_ADDRESS)
    assert problem in choice.problem


@pytest.mark.parametrize(
    "text", ["{", "{}", '"eth1"', "7", "[" * 100_000, "[" + " " * 70_000 + "]"]
)
def test_what_is_no_list_of_interfaces_is_told(text: str) -> None:
    pod = minimal_pod(
        metadata={"annotations": {names.GKE_INTERFACES: text, names.GKE_DEFAULT_INTERFACE: "eth0"}}
    )
    assert "is not a list of interfaces" in choose(pod).problem


def test_a_pod_on_the_nodes_network_gets_no_interface() -> None:
    choice = choose(asking(ETH0, RDMA_0, hostNetwork=True))
    assert (choice.network, choice.reason, choice.interfaces) == (None, Reason.HOST_NETWORK, ())


def found(*entries: object, wanted: Wanted = WANTED) -> Secondary:
    return secondary(json.dumps(entries), wanted)


def ip(address: object, network: object = "rdma-0") -> Object:
    return {"networkName": network, "ip": address}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], Secondary()),
        ([ip("10.1.0.7")], Secondary("10.1.0.7")),
        ([ip("10.2.0.7", "rdma-1"), ip("10.1.0.7")], Secondary("10.1.0.7")),
        ([ip("10.2.0.7", "rdma-1")], Secondary()),
        ([ip("10.1.0.7", "RDMA-0")], Secondary()),
        ([ip("fd00::2"), ip("10.1.0.7")], Secondary("10.1.0.7")),
        ([ip("FD00:0:0::2")], Secondary("fd00::2")),
        ([ip("::ffff:10.1.0.7")], Secondary("10.1.0.7")),
        ([ip("10.1.0.7/24")], Secondary("10.1.0.7")),
        ([ip("10.0.0.9", "default"), ip("10.1.0.7")], Secondary("10.1.0.7")),
        (
            [ip("10.0.0.9", "default"), ip("10.0.0.9"), ip("10.1.0.7")],
            Secondary("10.1.0.7"),
        ),  # the pod's own on eth0
        ([ip("10.0.0.9", "pod-network"), ip("10.1.0.7")], Secondary("10.1.0.7")),
    ],
)
def test_entries(entries: list[Object], expected: Secondary) -> None:
    assert found(*entries) == expected


@pytest.mark.parametrize(
    ("family", "ips", "address", "problem"),
    [
        ("IPv4", ["fd00::2"], "", "has no IPv4 address"),
        ("IPv6", ["10.1.0.7"], "", "has no IPv6 address"),
        ("IPv6", ["10.1.0.7", "fd00::2"], "fd00::2", ""),
        ("any", ["127.0.0.1"], "", "holds 127.0.0.1, at which no other pod can reach this one"),
        (
            "any",
            ["fe80::1%eth1"],
            "",
            "holds fe80::1%eth1, at which no other pod can reach this one",
        ),
        ("any", ["$(reboot)"], "", "holds '$(reboot)', which is not an IP address"),
        (
            "any",
            ["10.1.0.7\n10.1.0.8"],
            "",
            "holds '10.1.0.7\\n10.1.0.8', which is not an IP address",
        ),
        (
            "any",
            [""],
            "",
            "holds no address of its own: a device that GKE hands over without one has none",
        ),
        (
            "any",
            [None],
            "",
            "holds no address of its own: a device that GKE hands over without one has none",
        ),
        ("any", [167772165], "", "holds '167772165', which is not an IP address"),
    ],
)
def test_addresses_that_do_not_count(
    family: Family, ips: list[Any], address: str, problem: str
) -> None:
    assert found(*map(ip, ips), wanted=WANTED._replace(family=family)) == Secondary(
        address, "", problem
    )


def test_the_cluster_network_is_never_the_wanted_one() -> None:
    answer = found(ip("10.0.0.9", "default"), wanted=WANTED._replace(name="default"))
    assert answer == Secondary(problem="default is the cluster network, which is no secondary one")


@pytest.mark.parametrize(
    "text", ["{", "{}", '"text"', "[1]", "[[]]", "[" * 100_000, "[]" + " " * 65_536]
)
def test_what_is_no_list_of_addresses_is_a_problem_with_its_reason(text: str) -> None:
    assert "is not a list of addresses" in secondary(text, WANTED).problem


def test_a_list_that_is_too_long_to_be_remembered_is_read_too() -> None:
    entries = [{"networkName": "rdma-0", "ip": "10.0.0.1"}]
    for text in (json.dumps(entries), json.dumps(entries) + " " * 8_192):
        assert secondary(text, WANTED).address == "10.0.0.1"


def test_an_empty_list_as_go_writes_it_has_no_address_and_no_fault() -> None:
    assert secondary("null", WANTED) == Secondary()


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.sampled_from(["rdma-0", "default", "10.0.0.1"]),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["networkName", "ip", "network"]) | st.text(), inner)
    ),
)


@given(_JSON)
def test_anything_at_all_gives_an_answer(value: object) -> None:
    text = json.dumps(value)
    assert secondary(text, WANTED).address in ("", "10.0.0.1")
    pod = minimal_pod(
        metadata={"annotations": {names.GKE_INTERFACES: text, names.GKE_DEFAULT_INTERFACE: "eth0"}}
    )
    assert choose(pod).problem.isprintable() or choose(pod).network is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rdma-0@eth1/any", WANTED),
        ("rdma-0@eth1/IPv6", WANTED._replace(family="IPv6")),
        *(
            (text, None)
            for text in (
                "",
                "rdma-0",
                "rdma-0@eth1",
                "@eth1/any",
                "rdma-0@eth1/ipv4",
                "a" * 500,
            )
        ),
    ],
)
def test_wanted(text: str, expected: Wanted | None) -> None:
    assert parse_wanted(text) == expected
    if expected is not None:
        assert f"{expected}/{expected.family}" == text
