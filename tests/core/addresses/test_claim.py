"""Addresses in the status of ResourceClaims: whose, which of several counts, and what is none."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import pods
from tests.profiles import profiles
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
from webhook.core.model import Decision, Object, Reason
from webhook.core.networks.status import MAX_NAME, Secondary, Wanted
from webhook.core.reconcile import Fate, beside_claims, read_member
from webhook.core.reconcile.complaint import about_status
from webhook.core.reconcile.jobs import publication
from webhook.core.review import Verdict, decide
from webhook.world.objects import ObjectsWorld


def device(
    number: int, *ips: Any, interface: Any = "net1", driver: str = "dra.net", **more: Any
) -> Object:
    data = (
        {"networkData": {"interfaceName": interface, "ips": list(ips)}} if ips or interface else {}
    )
    return {"driver": driver, "pool": "node-1", "device": f"card-{number}", **data, **more}


def resource_claim(
    *devices: Object,
    name: str = "bert-rails-x7k2p",
    name_in_pod: str = "rails",
    users: tuple[str, ...] = ("u-1",),
    requests: tuple[str, ...] = ("nic",),
    of: tuple[str, ...] = (),
    allocated: int | None = None,
    **result: Any,
) -> Object:
    """Make a claim: device *i* is of request *of[i]*; *allocated*: how many are, None for all."""
    results = [
        {key: each[key] for key in ("driver", "pool", "device")}
        | {"request": of[number] if of else requests[0], **result}
        for number, each in enumerate(devices[:allocated])
    ]
    return {
        "metadata": {
            "name": name,
            "namespace": "train",
            "annotations": {module.POD_CLAIM_NAME: name_in_pod} if name_in_pod else {},
        },
        "spec": {"devices": {"requests": [{"name": request} for request in requests]}},
        "status": {
            "allocation": {"devices": {"results": results}},
            "reservedFor": [
                {"resource": "pods", "name": "bert-master-0", "uid": uid} for uid in users
            ],
            "devices": list(devices),
        },
    }


def found(*claims: Object, wanted: str = f"{ANY}@/any") -> Secondary:
    parsed = parse_wanted(wanted)
    assert parsed is not None
    return secondary(tell(map(read_claim, claims)), parsed)


def test_takes_the_address_without_its_prefix() -> None:
    assert found(resource_claim(device(0, "10.1.0.7/24"))) == Secondary("10.1.0.7")


def test_nothing_is_told_before_a_driver_has_written() -> None:
    assert found() == Secondary()
    assert found(resource_claim()) == Secondary()
    assert found(resource_claim(device(0, interface=""))) == Secondary()
    assert found(resource_claim(device(0))) == Secondary(), (
        "an interface without an address, as of RDMA alone"
    )
    assert tell([read_claim(resource_claim(device(0)))]) == ""


def test_of_several_devices_the_first_with_an_address_counts_by_the_order_of_requests() -> None:
    devices = (
        device(0, "10.1.0.1/24"),
        device(1, interface="net2"),
        device(2, "10.1.0.3/24", interface="net3"),
    )
    assert found(resource_claim(*devices)).address == "10.1.0.1"
    ordered = resource_claim(*devices, requests=("b", "a"), of=("a", "b", "b/small"))
    assert found(ordered).address == "10.1.0.3"


def test_of_a_shared_device_the_share_that_is_the_claims_counts() -> None:
    shared = resource_claim(
        device(0, "10.1.0.8", shareID="b"), device(0, "10.1.0.7", shareID="a"), allocated=1
    )
    shared["status"]["allocation"]["devices"]["results"][0]["shareID"] = "a"
    assert found(shared).address == "10.1.0.7"
    shared["status"]["devices"].reverse()
    assert found(shared).address == "10.1.0.7"


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


def test_of_several_claims_the_first_by_its_name_in_the_pod_counts() -> None:
    one = resource_claim(device(0, "10.1.0.1/24"), name="z", name_in_pod="rail-0")
    two = resource_claim(device(0, "10.1.0.2/24", interface="net2"), name="a", name_in_pod="rail-1")
    gpu = resource_claim(
        device(0, interface="", driver="gpu.nvidia.com"), name="g", name_in_pod="gpu"
    )
    assert found(two, gpu, one).address == "10.1.0.1"
    assert found(one, two, wanted="rail-1@/any").address == "10.1.0.2"
    assert found(one, two, wanted="rail-2@/any") == Secondary()
    assert found(one, two, wanted=f"{ANY}@net2/any").address == "10.1.0.2"


def test_a_claim_that_the_user_made_counts_by_its_own_name() -> None:
    mine = resource_claim(device(0, "10.1.0.9"), name="mine", name_in_pod="")
    assert found(mine, wanted="mine@/any").address == "10.1.0.9"


def test_an_interface_chooses_the_device() -> None:
    devices = device(0, "10.1.0.1/24"), device(1, "10.1.0.2/24", interface="net2")
    assert found(resource_claim(*devices), wanted="rails@net2/any").address == "10.1.0.2"
    nameless = resource_claim(device(0, "10.1.0.3", interface=""))
    assert found(nameless, wanted="rails@net2/any").address == "10.1.0.3", (
        "it is taken to be the promised one"
    )
    assert (
        "is interface net9: there is net1, net2"
        in found(resource_claim(*devices), wanted="rails@net9/any").problem
    )
    late = resource_claim(devices[0], device(1, interface=""))
    assert found(late, wanted="rails@net9/any") == Secondary(), "the other driver may still tell it"


@pytest.mark.parametrize(
    ("family", "address"), [("any", "10.1.0.1"), ("IPv4", "10.1.0.1"), ("IPv6", "fd00::1")]
)
def test_the_family_is_chosen_as_for_multus(family: str, address: str) -> None:
    both = resource_claim(device(0, "fd00::1/64", "10.1.0.1/24"))
    assert found(both, wanted=f"{ANY}@/{family}").address == address


@pytest.mark.parametrize(
    ("ips", "problem"),
    [
        (("$(reboot)",), "which is not an IP address"),
        (("10.1.0.1; rm -rf /",), "which is not an IP address"),
        (("127.0.0.1/8",), "at which no other pod can reach this one"),
        (("fe80::1%eth0",), "at which no other pod can reach this one"),
        (("0.0.0.0",), "at which no other pod can reach this one"),
        (("x" * 100_000,), "which is not an IP address"),
        (("10.1.0.1\n10.2.0.1",), "which is not an IP address"),
    ],
)
def test_only_what_can_be_an_address_counts(ips: tuple[str, ...], problem: str) -> None:
    told = found(resource_claim(device(0, *ips)))
    assert told.address == ""
    assert problem in told.problem
    assert len(told.problem) <= 500
    assert found(resource_claim(device(0, *ips), device(1, "10.1.0.9"))).address == "10.1.0.9"


@pytest.mark.parametrize("interface", ["eth0", "lo"])
def test_the_pod_network_is_no_claims(interface: str) -> None:
    assert found(resource_claim(device(0, "10.244.0.7", interface=interface))).address == ""


def test_what_is_told_of_a_device_that_is_no_longer_allocated_does_not_count() -> None:
    assert found(resource_claim(device(0, "10.1.0.1"), allocated=0)) == Secondary()
    moved = resource_claim(device(1, "10.1.0.2"), device(0, "10.1.0.1"), allocated=1)
    assert found(moved).address == "10.1.0.2"
    assert found(resource_claim(device(0, "10.1.0.1"), adminAccess=True)) == Secondary()


def test_a_claim_of_several_pods_gives_none_of_them_an_address() -> None:
    told = found(resource_claim(device(0, "10.1.0.1"), users=("u-1", "u-2")))
    assert told.address == ""
    assert "is reserved for 2 pods" in told.problem
    assert found(resource_claim(device(0, "10.1.0.1"), users=("u-1", "u-1"))).address == "10.1.0.1"


def test_keeps_no_more_than_can_count() -> None:
    flood = resource_claim(
        *(device(number, *["x" * 9000] * 900) for number in range(400)), name_in_pod="n" * 9000
    )
    kept = read_claim(flood)
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
    told = found(resource_claim(device(0, *ips, interface=interface)))
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
    pod = pods.load("live/pytorchjob/bert-master-0.review.json")
    own = pods.load("live/pytorchjob/bert-master-0.review.json")
    own["spec"]["containers"][0]["resources"]["limits"]["rdma/hca"] = "1"
    on_host = pods.load("live/pytorchjob/bert-master-0.review.json")
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
    assert (told[names.ADDRESS_SOURCE], told[names.RENDEZVOUS_NETWORK]) == (
        "claim",
        "any claim@/any",
    )
    assert decision(verdict, "rendezvous").message.endswith(
        "come from any claim once the driver of its claim has given them"
    )
    assert decision(verdict, "environment").message.endswith(
        "rendezvous: {network: CLAIM@INTERFACE}"
    )
    [waiting] = [
        each
        for each in podspec.init_containers(verdict.pod)
        if each["name"] == names.WAIT_CONTAINER
    ]
    assert (
        "at status.devices of its ResourceClaims, and at the fabric-injector controller"
        in waiting["command"][2]
    )


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


@pytest.mark.parametrize(
    ("profile", "claims", "spec", "why"),
    [
        ("any", (), {}, "the pod has no resource claim"),
        (
            "any",
            ("imex-channel", "compute-domain-channel"),
            {},
            "no resource claim but of a ComputeDomain's channel",
        ),
        ("other", ("rails",), {}, "meets on claim gpus, which the pod does not have"),
        ("any", ("rails",), {"hostNetwork": True}, "the pod uses the node's network"),
    ],
)
def test_a_pod_without_such_a_claim_meets_as_it_would(
    profile: str, claims: tuple[str, ...], spec: Object, why: str
) -> None:
    verdict = verdict_of(profile, claims=claims, **spec)
    said = decision(verdict, "rendezvous")
    assert said.reason in (Reason.NO_ADDRESS, Reason.HOST_NETWORK)
    assert why in said.message
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
    told = tell([read_claim(resource_claim(device(0, "10.1.0.7/24")))])
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
    again = beside_claims(published, tell([read_claim(resource_claim(device(3, "10.1.0.8/24")))]))
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
    both = resource_claim(device(0, "10.1.0.1"), device(1, "10.1.0.2", interface="net2"))
    assert beside_claims(member, tell([read_claim(both)])).secondary.address == "10.1.0.2"
    one = resource_claim(device(0, "10.1.0.1"))
    assert beside_claims(member, tell([read_claim(one)])).secondary.address == "10.1.0.1"


def test_a_fault_is_told_in_the_words_of_claims() -> None:
    member = beside_claims(member_of(), tell([read_claim(resource_claim(device(0, "localhost")))]))
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
