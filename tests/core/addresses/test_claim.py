"""Addresses that drivers tell in the status of ResourceClaims: whose they are, which of several counts, and what is none."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import pods
from tests.profiles import profiles
from tests.tables import grouped_file
from tests.worlds import namespace
from webhook.core import names, podspec
from webhook.core.addresses import claim as module
from webhook.core.addresses.claim import (
    ANY,
    MOST_DEVICES,
    parse_wanted,
    read_claim,
    secondary,
    tell,
)
from webhook.core.model import Object
from webhook.core.networks.status import MAX_NAME, Secondary, Wanted
from webhook.core.reconcile import Fate, beside_claims, read_member
from webhook.core.reconcile.complaint import about_status
from webhook.core.reconcile.jobs import publication
from webhook.core.review import Verdict, decide
from webhook.world.objects import ObjectsWorld


def device(number: int, written: str | Object) -> Object:
    """Return a device as a driver tells it: a row's ``ADDRESS,… INTERFACE``, or a map with more."""
    if isinstance(written, str):
        addresses, _, interface = written.partition(" ")
        written = {"ips": [*filter(None, addresses.split(","))], "interface": interface}
    more = {"ips": [], "interface": "net1" if "ips" in written else "", **written}
    ips, interface = more.pop("ips"), more.pop("interface")
    data = {"networkData": {"interfaceName": interface, "ips": ips}} if ips or interface else {}
    return {"driver": "dra.net", "pool": "node-1", "device": f"card-{number}", **data, **more}


def resource_claim(written: Object | list[Any]) -> Object:
    """Return a claim as claims.yaml writes it."""
    row: Object = written if isinstance(written, dict) else {"devices": written}
    devices = [device(number, one) for number, one in enumerate(row["devices"])]
    requests = row.get("requests", ["nic"])
    of = row.get("of", [requests[0]] * len(devices))
    results = [
        {key: each[key] for key in ("driver", "pool", "device")}
        | {"request": of[number], **row.get("result", {})}
        for number, each in enumerate(devices[: row.get("allocated")])
    ]
    name = row.get("name", "rails")
    annotations = {module.POD_CLAIM_NAME: name} if name else {}
    own = row.get("own", f"bert-{name}-x7k2p")
    users = [{"resource": "pods", "name": "m", "uid": uid} for uid in row.get("users", ["u-1"])]
    return {
        "metadata": {"name": own, "namespace": "train", "annotations": annotations},
        "spec": {"devices": {"requests": [{"name": request} for request in requests]}},
        "status": {
            "allocation": {"devices": {"results": results}},
            "reservedFor": users,
            "devices": devices,
        },
    }


def found(*claims: Any, wanted: str = f"{ANY}@/any") -> Secondary:
    parsed = parse_wanted(wanted)
    assert parsed is not None
    return secondary(tell([read_claim(resource_claim(claim)) for claim in claims]), parsed)


def rows() -> list[Any]:
    return [
        pytest.param({**group, **row}, id=name)
        for name, group, row in grouped_file(__file__, "claims.yaml")
    ]


@pytest.mark.parametrize("row", rows())
def test_a_row_of_claims_is_as_it_says(row: Object) -> None:
    told = found(*row["claims"], wanted=row.get("wanted", f"{ANY}@/any"))
    assert told.address == row.get("is", "")
    assert row.get("problem", "") in told.problem
    assert bool(told.problem) <= ("problem" in row)
    assert len(told.problem) <= 500


def test_nothing_is_told_before_a_driver_has_written() -> None:
    assert tell([read_claim(resource_claim([" net1"]))]) == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rails",
        "rails/any",
        "@net1/any",
        "rails@net1",
        "rails@net1/",
        "rails@net1/ipv4",
        "x" * 500 + "@/any",
    ],
)
def test_what_says_no_claim_and_family_is_not_understood(text: str) -> None:
    assert parse_wanted(text) is None


def test_keeps_no_more_than_can_count() -> None:
    flood = {"devices": [{"ips": ["x" * 9000] * 900}] * 400, "name": "n" * 9000}
    kept = read_claim(resource_claim(flood))
    assert len(kept.devices) == MOST_DEVICES
    assert len(tell([kept])) < 100_000
    assert len(found(flood).problem) <= 500


@given(st.text(max_size=40))
def test_reads_no_annotation_that_is_not_as_it_is_written(text: str) -> None:
    parsed = parse_wanted(text)
    assert parsed is None or text == f"{parsed.name}@{parsed.interface}/{parsed.family}"


def test_reads_no_annotation_that_is_longer_than_any_of_ours() -> None:
    ending = "@net1/IPv4"
    longest = "n" * (MAX_NAME - len(ending)) + ending
    assert parse_wanted(longest) == Wanted("", longest.removesuffix(ending), "net1", "IPv4")
    assert parse_wanted("n" + longest) is None


@given(st.lists(st.text(max_size=30), max_size=4), st.text(max_size=20))
def test_any_text_is_read(ips: list[str], interface: str) -> None:
    told = found([{"ips": ips, "interface": interface}])
    assert not told.address or ":" in told.address or told.address.replace(".", "").isdigit()


KNOWN = profiles(
    """
any: {rendezvous: {addressSource: claim}}
named: {rendezvous: {addressSource: claim, network: rails@net1}}
other: {rendezvous: {addressSource: claim, network: gpus}}
"""
)


def verdict_of(
    profile: str, who: str = "bert-master-0", claims: Any = ("rails",), **spec: Any
) -> Verdict:
    pod = pods.load(f"live/pytorchjob/{who}.review.json")
    pod["spec"] |= spec
    if claims:
        pod["spec"]["resourceClaims"] = [
            {"name": name, "resourceClaimTemplateName": "t"} for name in claims
        ]
    world = ObjectsWorld([namespace("train", profile)])
    verdict = decide(pod, "train", KNOWN, world)
    assert verdict.allowed, verdict.message
    again = decide(verdict.pod, "train", KNOWN, world)
    assert again.operations == []
    return verdict


OF_THE_PROFILE = profiles("""
cards:
  claims: [{name: card, requests: [{name: card, deviceClassName: cards}]}]
  rendezvous: {addressSource: claim, network: card@net1}
""")


def test_ranks_wait_for_no_claim_where_the_cluster_serves_none() -> None:
    unserved = replace(OF_THE_PROFILE, claims_problem="the cluster serves none")
    pod = pods.load("live/pytorchjob/bert-master-0.review.json")
    verdict = decide(pod, "train", unserved, ObjectsWorld([namespace("train", "cards")]))
    assert "resourceClaims" not in verdict.pod["spec"]
    assert names.RENDEZVOUS_NETWORK not in podspec.annotations(verdict.pod)


def member_of(profile: str = "any", **annotations: str) -> Any:
    pod = verdict_of(profile).pod
    pod["metadata"] |= {"uid": "u-1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    pod["metadata"]["annotations"] |= annotations
    read = read_member({"metadata": pod["metadata"]})
    assert read is not None
    return read


def test_what_is_published_follows_the_claims() -> None:
    member = member_of()
    assert (member.wanted, member.reported, member.secondary) == ("any claim", False, Secondary())
    assert beside_claims(member, "") == member, "a claim that is not allocated yet"
    told = tell([read_claim(resource_claim(["10.1.0.7/24 net1"]))])
    late = beside_claims(member, told)
    assert (late.secondary.address, late.reported) == ("10.1.0.7", True)
    written = publication(late, late.secondary.address)
    assert written is not None
    assert (
        written.annotations[names.MASTER_ADDR]
        == written.annotations[names.LOCAL_ADDR]
        == "10.1.0.7"
    )
    published = member_of(**written.annotations)
    assert publication(published, "") is None, (
        "deallocated: what is published stays until there is another"
    )
    again = beside_claims(
        published,
        tell([read_claim(resource_claim([{"device": "card-3", "ips": ["10.1.0.8/24"]}]))]),
    )
    rewritten = publication(again, again.secondary.address)
    assert rewritten is not None
    assert rewritten.annotations[names.MASTER_ADDR] == "10.1.0.8"


@pytest.mark.parametrize(
    "published", [(names.LOCAL_ADDR, names.MASTER_ADDR), (names.LOCAL_ADDR,), (names.MASTER_ADDR,)]
)
def test_an_address_that_is_published_stays_while_it_is_one_of_the_pods(
    published: tuple[str, ...],
) -> None:
    member = member_of(**dict.fromkeys(published, "10.1.0.2"))
    both = resource_claim(["10.1.0.1 net1", "10.1.0.2 net2"])
    assert beside_claims(member, tell([read_claim(both)])).secondary.address == "10.1.0.2"
    one = resource_claim(["10.1.0.1 net1"])
    assert beside_claims(member, tell([read_claim(one)])).secondary.address == "10.1.0.1"


def test_a_fault_is_told_in_the_words_of_claims() -> None:
    member = beside_claims(member_of(), tell([read_claim(resource_claim(["localhost net1"]))]))
    complaint = about_status(member)
    assert complaint is not None
    assert complaint.message.startswith(
        "status.devices of its ResourceClaims: any claim: holds 'localhost', which is not"
    )
    assert "Multus" not in complaint.message
    assert publication(member, "", Fate("why")) is not None


def test_no_annotation_tells_an_address_of_a_claim() -> None:
    told = json.dumps([["c", "rails", [["p", "u-1"]], [["d", True, "net1", ["10.9.9.9"]]]]])
    member = member_of(**{names.NETWORK_STATUS: told, "fabric-injector.io/claims": told})
    assert (member.reported, member.secondary) == (False, Secondary())
