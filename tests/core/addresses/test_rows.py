"""Which address counts: the rows of ``told.yaml``, and of ``gke.yaml`` which interface does.

In ``told.yaml`` a row's *told* is what is written on a pod, network-status or with *source* ``gke``
pod-ips, as a list or a text; *wanted* the annotation of the webhook. *is* is the address, *on* the
interface where it is not the promised one, *problem* what is said of it.

In ``gke.yaml`` *asked* are the interfaces that a pod asks for, as a list or a text, of which
*default* is the one with the default route; *network* is the profile's, and *spec* the pod's.
*chosen* is the network and its interface, *interfaces* are those that Istio leaves alone.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import ROOT
from tests.pods import minimal_pod
from tests.profiles import read_profile
from tests.tables import read
from webhook.core import names
from webhook.core.addresses import source_named
from webhook.core.addresses.source import Choice
from webhook.core.model import Object
from webhook.core.networks import ResolvedNetworks
from webhook.core.networks.status import Secondary, Wanted, parse_wanted

FOLDER = Path(__file__).parent
STATUSES = ROOT / "tests/fixtures" / "networking" / "network-status"
TOLD = read(__file__, "told.yaml")
GKE = read(__file__, "gke.yaml")
WANTED = {"multus": "default/rdma-net@net1/any", "gke": "rdma-0@eth1/any"}


def text_of(told: Any) -> str:
    return told if isinstance(told, str) else json.dumps(told)


def found(row: Object) -> Secondary:
    source = row.get("source", "multus")
    wanted = parse_wanted(row.get("wanted", WANTED[source]))
    assert wanted is not None
    told = row["told"]
    if "file" in row:
        told = (STATUSES / f"{row['file']}.json").read_text()
    return source_named(source).secondary(text_of(told), wanted)


@pytest.mark.parametrize("row", TOLD.values(), ids=TOLD)
def test_a_row_of_told_is_as_it_says(row: Object) -> None:
    expected = Secondary(row.get("is", ""), row.get("on", ""), row.get("problem", ""))
    assert found(row) == expected


def choose(row: Object) -> Choice:
    written = {names.GKE_DEFAULT_INTERFACE: row.get("default", "eth0")}
    if "asked" in row:
        written[names.GKE_INTERFACES] = text_of(row["asked"])
    annotations = {key: text for key, text in written.items() if text}
    pod = minimal_pod(metadata={"name": "train-0", "annotations": annotations})
    pod["spec"] |= row.get("spec", {})
    network = {"network": row["network"]} if "network" in row else {}
    rendezvous = {"addressSource": "gke", **network}
    profile = read_profile("rdma", {"rendezvous": rendezvous, "pod": row.get("profile", {})})
    return source_named("gke").choose(pod, profile, ResolvedNetworks())


def shown(choice: Choice) -> Object:
    chosen = choice.network.place if choice.network else None
    problem = "" if choice.network else f"{choice.reason}: {choice.problem}"
    told = {"chosen": chosen, "interfaces": [*choice.interfaces], "problem": problem}
    return {key: value for key, value in told.items() if value}


@pytest.mark.parametrize("row", GKE.values(), ids=GKE)
def test_a_row_of_gke_is_as_it_says(row: Object) -> None:
    keys = ("chosen", "interfaces", "problem")
    assert shown(choose(row)) == {key: row[key] for key in keys if key in row}


NO_LISTS = ("", "{", "{}", '"text"', "[1]", "[[]]", "[" * 100_000, "[]" + " " * 65_536)


@pytest.mark.parametrize("text", NO_LISTS)
@pytest.mark.parametrize("source", WANTED)
def test_what_is_no_list_is_a_problem_with_its_reason(source: str, text: str) -> None:
    assert " is not a list of " in f" {found({'source': source, 'told': text}).problem}"
    if text:
        assert "is not a list of interfaces" in choose({"asked": text}).problem


def test_few_interfaces_are_read() -> None:
    asked = [{"interfaceName": f"eth{number}", "network": "rdma-0"} for number in range(65)]
    assert "65 interfaces, and at most 64 are read" in choose({"asked": asked}).problem


@pytest.mark.parametrize(("others", "address"), [(31, "10.0.0.9"), (32, "")])
def test_few_entries_of_one_network_are_looked_at(others: int, address: str) -> None:
    """A forged value of hundreds, with 32 faults each, would take 15 ms at each change."""
    forged = {"name": "default/rdma-net", "interface": "net7", "ips": ["x"]}
    last = {**forged, "interface": "net8", "ips": ["10.0.0.9"]}
    assert found({"told": [*[forged] * others, last]}).address == address
    assert found({"told": [*[forged] * 40, {**last, "interface": "net1"}]}).address == "10.0.0.9"


KNOWN = st.sampled_from(["default/rdma-net", "net1", "rdma-0", "default", "10.0.0.1"])
KEYS = st.sampled_from(["name", "interface", "ips", "default", "networkName", "ip", "network"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | KNOWN,
    lambda inner: st.lists(inner) | st.dictionaries(KEYS | st.text(), inner),
)


@given(JSON, st.sampled_from([*WANTED]))
def test_anything_at_all_gives_an_answer(value: object, source: str) -> None:
    text = json.dumps(value)
    assert found({"source": source, "told": text}).address in ("", "10.0.0.1")
    choice = choose({"asked": text})
    assert choice.problem.isprintable() or choice.network is not None


UNREAD = {
    "multus": ("a/b@net1", "a/b@net1/ipv6", "", "a" * 500),
    "gke": ("", "rdma-0", "rdma-0@eth1", "@eth1/any", "a" * 500, "rdma-0@eth1/ipv4"),
}


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("multus", "a/b@net1/IPv6", Wanted("a", "b", "net1", "IPv6")),
        ("gke", "rdma-0@eth1/any", Wanted("", "rdma-0", "eth1", "any")),
        *((source, text, None) for source, texts in UNREAD.items() for text in texts),
    ],
)
def test_reads_what_is_wanted(source: str, text: str, expected: Wanted | None) -> None:
    assert parse_wanted(text) == expected
    if expected is not None:
        assert f"{expected}/{expected.family}" == text
