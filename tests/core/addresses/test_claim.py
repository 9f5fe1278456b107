"""Addresses in the status of ResourceClaims: whose, which of several counts, and what is none.

In a row of ``claims.yaml`` *told* are a pod's claims, by the words of `resource_claim`; *wanted* is
the annotation of the webhook. *is* is the address, *problem* is in what is said.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import pods
from tests.profiles import profiles
from tests.tables import read
from tests.worlds import namespace
from webhook.core import names, podspec
from webhook.core.addresses import claim as module
from webhook.core.addresses.claim import ANY, SOURCE, read_claim, secondary, tell
from webhook.core.model import Decision, Object, Reason
from webhook.core.networks import ResolvedNetworks
from webhook.core.networks.status import MAX_NAME, Secondary, parse_wanted
from webhook.core.reconcile import Fate, beside_claims, read_member
from webhook.core.reconcile.complaint import about_status
from webhook.core.reconcile.jobs import publication
from webhook.core.review import Verdict, decide
from webhook.world.objects import ObjectsWorld

ROWS = read(__file__, "claims.yaml")
CLAIMS = ROWS["which"]


def device(told: Any, number: int, share: str | None) -> Object:
    """Return the status of a device: its interface and addresses, as words or as *networkData*."""
    if isinstance(told, str):
        interface, *ips = told.split(" ")
        told = {"interface": interface, "ips": ips}
    data = {"interfaceName": told["interface"], "ips": told["ips"]}
    card = {"driver": "dra.net", "pool": "node-1", "device": f"card-{number}"}
    shared = {"device": "card", "shareID": share} if share else {}
    return card | shared | ({"networkData": data} if any(data.values()) else {})


def resource_claim(
    devices: list[Any],
    name: str = "bert-rails-x7k2p",
    in_pod: str = "rails",
    users: Sequence[str] = ("u-1",),
    requests: Sequence[str] = ("nic",),
    of: Sequence[str] = (),
    shares: Sequence[str] = (),
    allocated: Sequence[int] | None = None,
    result: Object | None = None,
) -> Object:
    """Make a claim: device *i* is of request *of[i]*; *allocated*: which are, None for all."""
    told = [
        device(each, number, shares[number] if shares else None)
        for number, each in enumerate(devices)
    ]
    keys = ("driver", "pool", "device", "shareID")
    results = [
        {key: told[number][key] for key in keys if key in told[number]}
        | {"request": of[number] if of else requests[0], **(result or {})}
        for number in (range(len(told)) if allocated is None else allocated)
    ]
    reserved = [{"resource": "pods", "name": "bert-master-0", "uid": uid} for uid in users]
    annotations = {module.POD_CLAIM_NAME: in_pod} if in_pod else {}
    return {
        "metadata": {"name": name, "namespace": "train", "annotations": annotations},
        "spec": {"devices": {"requests": [{"name": request} for request in requests]}},
        "status": {
            "allocation": {"devices": {"results": results}},
            "reservedFor": reserved,
            "devices": told,
        },
    }


def claimed(*devices: Any, **fields: Any) -> str:
    """Return what a claim with these devices tells."""
    return tell([read_claim(resource_claim([*devices], **fields))])


def found(told: str, wanted: str = f"{ANY}@/any") -> Secondary:
    parsed = parse_wanted(wanted)
    assert parsed is not None
    return secondary(told, parsed)


@pytest.mark.parametrize("row", CLAIMS.values(), ids=CLAIMS)
def test_which_address_counts(row: Object) -> None:
    written = [each if isinstance(each, dict) else {"devices": each} for each in row["told"]]
    told = found(
        tell(read_claim(resource_claim(**each)) for each in written),
        row.get("wanted", f"{ANY}@/any"),
    )
    assert told.address == row.get("is", "")
    assert row.get("problem", "") in told.problem
    assert bool(told.problem) is ("problem" in row)
    assert len(told.problem) <= 500


def test_a_device_of_another_pool_is_another_one() -> None:
    claim = resource_claim(["net1 10.1.0.1/24", "net2 10.1.0.2/24"], allocated=[1])
    first, second = claim["status"]["devices"]
    second["device"], second["pool"] = first["device"], "node-2"
    claim["status"]["allocation"]["devices"]["results"] = [
        {key: second[key] for key in ("driver", "pool", "device")} | {"request": "nic"}
    ]
    claim["status"]["devices"] = [second, first]
    assert found(tell([read_claim(claim)])).address == "10.1.0.2"


def test_tells_nothing_without_an_address() -> None:
    assert claimed("net1") == ""


@given(st.text(max_size=40))
@example("rails")
@example("rails/any")
@example("@net1/any")
@example("rails@net1/ipv4")
@example("n" * MAX_NAME + "@/any")
def test_reads_no_annotation_that_is_not_as_it_is_written(text: str) -> None:
    parsed = parse_wanted(text)
    if parsed is not None:
        key = "/".join(filter(None, (parsed.namespace, parsed.name)))
        assert text.removeprefix("/") == f"{key}@{parsed.interface}/{parsed.family}"


def test_reads_no_annotation_that_is_longer_than_any_of_ours() -> None:
    longest = "n" * (MAX_NAME - len("@net1/IPv4")) + "@net1/IPv4"
    assert parse_wanted(longest) is not None
    assert parse_wanted("n" + longest) is None


@given(st.lists(st.text(max_size=30), max_size=4), st.text(max_size=20))
def test_any_text_is_read(ips: list[str], interface: str) -> None:
    told = found(claimed({"interface": interface, "ips": ips}))
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


@pytest.mark.parametrize("who", ["bert-master-0", "bert-worker-0"])
def test_ranks_meet_at_the_claim_that_the_profile_gives(who: str) -> None:
    """The pod has none yet as it is looked at: the same admission adds it."""
    known, world = OF_THE_PROFILE, ObjectsWorld([namespace("train", "cards")])
    verdict = decide(pods.load(f"live/pytorchjob/{who}.review.json"), "train", known, world)
    assert [each["name"] for each in verdict.pod["spec"]["resourceClaims"]] == ["fabric-card"]
    assert podspec.annotations(verdict.pod)[names.RENDEZVOUS_NETWORK] == "fabric-card@net1/any"
    assert decide(verdict.pod, "train", known, world).operations == []


def test_ranks_wait_for_no_claim_that_the_profile_does_not_give_them() -> None:
    """As where the cluster serves none, or the pod asks for a card: they meet as they would."""
    world = ObjectsWorld([namespace("train", "cards")])
    known = OF_THE_PROFILE
    unserved = replace(known, claims_problem="the cluster serves none")
    pod, own, on_host = (pods.load("live/pytorchjob/bert-master-0.review.json") for _ in range(3))
    own["spec"]["containers"][0]["resources"]["limits"]["rdma/hca"] = "1"
    on_host["spec"]["hostNetwork"] = True
    for each, in_force in ((pod, unserved), (own, known), (on_host, known)):
        verdict = decide(each, "train", in_force, world)
        assert "resourceClaims" not in verdict.pod["spec"]
        assert names.RENDEZVOUS_NETWORK not in podspec.annotations(verdict.pod)
        assert not podspec.has_env(verdict.pod["spec"]["containers"][0], "NCCL_SOCKET_IFNAME")


def decision(verdict: Verdict, step: str) -> Decision:
    return next(each for each in verdict.decisions if each.step == step)


def test_a_job_meets_at_whatever_address_its_claims_tell() -> None:
    verdict = verdict_of("any")
    told = podspec.annotations(verdict.pod)
    assert told[names.ADDRESS_SOURCE] == "claim"
    assert told[names.RENDEZVOUS_NETWORK] == "any claim@/any"
    ends = "address on any claim: MASTER_ADDR, PET_MASTER_ADDR, PET_LOCAL_ADDR"
    assert decision(verdict, "rendezvous").message.endswith(ends)
    ends = "rendezvous: {network: CLAIM@INTERFACE}"
    assert decision(verdict, "environment").message.endswith(ends)
    every = podspec.init_containers(verdict.pod)
    [waiting] = [each for each in every if each["name"] == names.WAIT_CONTAINER]
    look = "at status.devices of its ResourceClaims, and at the fabric-injector controller"
    assert look in waiting["command"][2]


def test_a_job_meets_on_the_interface_that_the_profile_names() -> None:
    verdict = verdict_of("named")
    assert podspec.annotations(verdict.pod)[names.RENDEZVOUS_NETWORK] == "rails@net1/any"
    [container] = podspec.containers(verdict.pod)
    assert podspec.env_value(container, "NCCL_SOCKET_IFNAME") == "=net1"
    assert podspec.annotations(verdict_of("named", claims=("fabric-rails",)).pod)[
        names.RENDEZVOUS_NETWORK
    ] == ("fabric-rails@net1/any")
    own = verdict_of(
        "named", claims=(), resourceClaims=[{"name": "rails", "resourceClaimName": "mine"}]
    )
    assert podspec.annotations(own.pod)[names.RENDEZVOUS_NETWORK] == "mine@net1/any"


@pytest.mark.parametrize("row", ROWS["none"].values(), ids=ROWS["none"])
def test_a_pod_without_such_a_claim_meets_as_it_would(row: Object) -> None:
    verdict = verdict_of(row["profile"], claims=row["claims"], **row.get("spec", {}))
    said = decision(verdict, "rendezvous")
    assert said.reason in (Reason.NO_ADDRESS, Reason.HOST_NETWORK)
    assert row["why"] in said.message
    assert names.JOB not in podspec.labels(verdict.pod)


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
    told = claimed("net1 10.1.0.7/24")
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
    again = beside_claims(published, claimed("net1 10.1.0.8/24"))
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
    both = claimed("net1 10.1.0.1", "net2 10.1.0.2")
    assert beside_claims(member, both).secondary.address == "10.1.0.2"
    assert beside_claims(member, claimed("net1 10.1.0.1")).secondary.address == "10.1.0.1"


def test_a_fault_is_told_in_the_words_of_claims() -> None:
    member = beside_claims(member_of(), claimed("net1 localhost"))
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


def test_keeps_of_a_claim_who_uses_it_and_whose_devices_it_has() -> None:
    kept = read_claim(resource_claim(["net1 10.1.0.1", ""], users=("u-1", "u-2")))
    assert kept.users == (("bert-master-0", "u-1"), ("bert-master-0", "u-2"))
    assert [each.driver for each in kept.devices] == ["dra.net", "dra.net"]


def test_chooses_the_claim_that_the_profile_names() -> None:
    pod = {"spec": {"resourceClaims": [{"name": "rails"}]}}
    choices = {}
    for name in ("rails", "rails@net1"):
        known = profiles(f"p: {{rendezvous: {{addressSource: claim, network: {name}}}}}")
        choice = SOURCE.choose(pod, known.profiles["p"], ResolvedNetworks())
        assert choice.network is not None
        choices[choice.network.key, choice.network.interface] = choice.interfaces
    assert choices == {("rails", ""): (), ("rails", "net1"): ("net1",)}
    choice = SOURCE.choose({}, known.profiles["p"], ResolvedNetworks())
    assert choice.problem == "the pod has no resource claim, whose status could tell an address"
