"""What is read from network-status, as Multus of all versions, other CNIs and broken hands write it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import ROOT
from webhook.core.networks.status import Family, Secondary, Wanted, parse_wanted, secondary_address

FIXTURES = ROOT / "tests/fixtures" / "networking" / "network-status"
NET = Wanted("default", "rdma-net", "net1", "any")
CLUSTER = {"name": "cbr0", "interface": "eth0", "ips": ["10.1.0.9"], "default": True, "dns": {}}


def entry(*ips: str, **more: Any) -> dict[str, Any]:
    return {"name": "default/rdma-net", "interface": "net1", "ips": list(ips), "dns": {}, **more}


def found(*entries: object, wanted: Wanted = NET) -> Secondary:
    return secondary_address(json.dumps(entries), wanted)


@pytest.mark.parametrize(
    ("file", "wanted", "address"),
    [
        ("01-default-only-flannel", NET, ""),
        ("02-macvlan-one", Wanted("default", "rdma-net-ipam", "net1", "any"), "192.168.0.12"),
        (
            "05-sriov-device-info-rdma",
            Wanted("default", "sriov-net1", "net1", "IPv4"),
            "10.56.217.2",
        ),
        ("06-ovn-two-rails", Wanted("grout", "net-b-cnfdr26", "net2", "any"), "192.168.2.10"),
        ("08-dual-stack-ipv6-first", Wanted("default", "macvlan-ds", "net1", "any"), "1.1.1.3"),
        ("08-dual-stack-ipv6-first", Wanted("default", "macvlan-ds", "net1", "IPv6"), "2001::1"),
        ("12-same-nad-16x", Wanted("default", "rdma-vf", "net1", "any"), "10.224.1.33"),
        ("12-same-nad-16x", Wanted("default", "rdma-vf", "net2", "any"), "10.224.2.33"),
    ],
)
def test_real_values(file: str, wanted: Wanted, address: str) -> None:
    assert secondary_address((FIXTURES / f"{file}.json").read_text(), wanted) == Secondary(address)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], Secondary()),
        ([CLUSTER], Secondary()),
        ([CLUSTER, entry("192.168.0.5")], Secondary("192.168.0.5")),
        ([CLUSTER, entry("192.168.0.5/16")], Secondary("192.168.0.5")),
        ([entry("192.168.0.5", name="rdma-net")], Secondary("192.168.0.5")),  # Multus before 3.6
        ([entry("192.168.9.9", name="rdma-net"), entry("192.168.0.5")], Secondary("192.168.0.5")),
        ([entry("192.168.0.5", name="other/rdma-net")], Secondary()),
        ([entry("192.168.0.5", default=True)], Secondary()),
        ([entry("192.168.0.5", interface="eth0")], Secondary()),
        (
            [{"name": "default/rdma-net", "ips": ["192.168.0.5"]}],
            Secondary("192.168.0.5"),
        ),  # some SR-IOV: no interface
        ([entry("192.168.0.5", interface="net3")], Secondary("192.168.0.5", "net3")),
        ([entry("192.168.0.6", interface="net2"), entry("192.168.0.5")], Secondary("192.168.0.5")),
        (
            [entry(), entry("192.168.0.7")],
            Secondary("192.168.0.7"),
        ),  # one entry for each interface of a plugin list
        ([{"name": "default/rdma-net", "interface": "net1", "dns": {}}], Secondary()),
        ([entry("fd00::2", "192.168.0.5")], Secondary("192.168.0.5")),
        ([entry("FD00:0:0::2")], Secondary("fd00::2")),
        ([entry("::ffff:192.168.0.5")], Secondary("192.168.0.5")),
        ([entry("fe80::1", "fd00::2")], Secondary("fd00::2")),
    ],
)
def test_entries(entries: list[Any], expected: Secondary) -> None:
    assert found(*entries) == expected


@pytest.mark.parametrize(
    ("family", "ips", "address", "problem"),
    [
        ("IPv4", ["fd00::2"], "", "has no IPv4 address"),
        ("IPv6", ["10.0.0.2"], "", "has no IPv6 address"),
        ("IPv6", ["10.0.0.2", "fd00::2"], "fd00::2", ""),
        ("any", ["127.0.0.1"], "", "holds 127.0.0.1, at which no other pod can reach this one"),
        (
            "any",
            ["fe80::1%net1"],
            "",
            "holds fe80::1%net1, at which no other pod can reach this one",
        ),
        ("any", ["224.0.0.1"], "", "holds 224.0.0.1, at which no other pod can reach this one"),
        ("any", ["0.0.0.0"], "", "holds 0.0.0.0, at which no other pod can reach this one"),
        (
            "any",
            ["127.0.0.1", "x", "x"],
            "",
            "holds 127.0.0.1, at which no other pod can reach this one; holds 'x', which is not an IP address",
        ),
        ("any", ["$(reboot)"], "", "holds '$(reboot)', which is not an IP address"),
        ("any", ["1.2.3.4\n5.6.7.8"], "", "holds '1.2.3.4\\n5.6.7.8', which is not an IP address"),
    ],
)
def test_addresses_that_do_not_count(
    family: Family, ips: list[str], address: str, problem: str
) -> None:
    assert found(entry(*ips), wanted=NET._replace(family=family)) == Secondary(address, "", problem)


@pytest.mark.parametrize(
    "status",
    [
        *("", "{", "{}", '"text"', "null", "[1]", "[[]]", "[" * 100_000, "NaN", '[{"name":1}'),
        pytest.param("[" + " " * 262_144 + "]", id="longer-than-kubernetes-keeps"),
    ],
)
def test_what_is_no_list_of_networks_is_a_problem_with_its_reason(status: str) -> None:
    assert "is not a list of networks" in secondary_address(status, NET).problem


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ('{"ips": []}', "the JSON text is not a list"),
        ("[2]", "an element is not an object"),
        ("[]" + " " * 262_143, "262145 characters"),
    ],
)
def test_says_why_a_value_is_no_list_of_networks(status: str, why: str) -> None:
    assert secondary_address(status, NET) == Secondary(problem=f"is not a list of networks ({why})")


@pytest.mark.parametrize("ips", ["192.168.0.5", {"a": 1}, 5])
def test_ips_of_another_type(ips: object) -> None:
    assert found({**entry(), "ips": ips}) == Secondary(problem="ips is not a list")


@pytest.mark.parametrize("item", [None, 5, 3.5, True, {}, [], 167772165])
def test_items_of_another_type_never_become_an_address(item: object) -> None:
    assert found({**entry(), "ips": [item]}).address == ""


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.sampled_from(["default/rdma-net", "net1", "10.0.0.1"]),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["name", "interface", "ips", "default"]) | st.text(), inner
        )
    ),
)


@given(_JSON)
def test_anything_at_all_gives_an_answer(value: object) -> None:
    answer = secondary_address(json.dumps(value), NET)
    assert answer.address in ("", "10.0.0.1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("default/rdma-net@net1/any", NET),
        ("a/b@net1/IPv6", Wanted("a", "b", "net1", "IPv6")),
        ("a/b@net1", None),
        ("a/b@net1/ipv6", None),
        ("b@net1/any", None),
        ("a/b@/any", None),
        ("/b@net1/any", None),
        ("", None),
    ],
)
def test_parse_wanted(text: str, expected: Wanted | None) -> None:
    assert parse_wanted(text) == expected


def test_an_entry_without_an_interface_comes_before_one_on_another() -> None:
    entries = [
        {"name": "default/rdma-net", "interface": "net9", "ips": ["10.0.0.9"]},
        {"name": "default/rdma-net", "ips": ["10.0.0.2"]},
    ]
    found = secondary_address(json.dumps(entries), Wanted("default", "rdma-net", "net1", "any"))
    assert found == Secondary("10.0.0.2")


def test_an_address_that_holds_on_one_node_alone_is_told() -> None:
    entries = [{"name": "default/rdma-net", "interface": "net1", "ips": ["fd00::1%net1"]}]
    found = secondary_address(json.dumps(entries), Wanted("default", "rdma-net", "net1", "any"))
    assert found.address == ""
    assert found.problem.endswith("at which no other pod can reach this one")


@pytest.mark.parametrize(("others", "address"), [(31, "10.0.0.9"), (32, "")])
def test_few_entries_of_one_network_are_looked_at(others: int, address: str) -> None:
    """A forged value of hundreds, with 32 faults each, would take 15 ms each time that it is changed."""
    assert (
        found(*[entry("x", interface="net7")] * others, entry("10.0.0.9", interface="net8")).address
        == address
    )
    assert (
        found(
            *[entry("x", interface="net7")] * 40, entry("10.0.0.9", interface=NET.interface)
        ).address
        == "10.0.0.9"
    )
