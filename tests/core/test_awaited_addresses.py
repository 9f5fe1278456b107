"""What admission lets a pod wait for is what the controller publishes to it: the two never disagree."""

import json

import pytest

from tests import pods
from tests.profiles import profiles
from tests.worlds import namespace, network, world
from webhook.core import names, podspec
from webhook.core.model import Object
from webhook.core.reconcile import Fate, Jobs, read_member
from webhook.core.review import decide

PROFILES = profiles(
    """
any: {networks: [{network: default/rdma-net}]}
ipv6: {networks: [{network: default/rdma-net}], rendezvous: {ipFamily: IPv6}}
six: {networks: [{network: default/six}]}
name: {networks: [{network: default/rdma-net}], rendezvous: {rankZero: name}}
fails: {networks: [{network: default/rdma-net}], rendezvous: {unreachable: fail}}
devices: {networks: [{network: default/rdma-net}], deviceVariables: [NCCL_IB_HCA, UCX_NET_DEVICES]}
addresses: {networks: [{network: default/rdma-net}], pods: accelerators, addressVariables: [VLLM_HOST_IP]}
"""
)
WORLD = world(
    namespace("train"), network("default/six", ipam={"type": "whereabouts", "range": "fd00::/64"})
)
ADDRESSES = dict.fromkeys(
    ("any", "name", "fails", "devices", "addresses"), ("10.0.0.1", "10.0.0.2")
)
SIX = ("fd00::1", "fd00::2")


def admit(pod: Object, profile: str) -> Object:
    """Return the pod as the API server stores it."""
    admitted: Object = json.loads(
        json.dumps(decide(pod, "train", PROFILES, WORLD, profile=profile).pod)
    )
    metadata = admitted["metadata"]
    metadata.setdefault("name", metadata.get("generateName", "") + "x7k2p")
    metadata |= {"namespace": "train", "uid": "u-1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return admitted


def awaited(pod: Object) -> set[str]:
    """Return the annotations that the wait container and the variables of an admitted pod are made of."""
    waits = [one for one in podspec.init_containers(pod) if one["name"] == names.WAIT_CONTAINER]
    needs = {names.PREFIX + need.partition(":")[0] for one in waits for need in one["command"][4:]}
    for container in podspec.containers(pod):
        for entry in podspec.env(container):
            path = ((entry.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath") or ""
            if path.startswith(f"metadata.annotations['{names.PREFIX}"):
                needs.add(path.partition("'")[2].rstrip("']"))
    return needs


def give_address(pod: Object, address: str) -> None:
    """Write the network-status that Multus writes."""
    annotations = pod["metadata"]["annotations"]
    key, _, rest = annotations[names.RENDEZVOUS_NETWORK].partition("@")
    entry = {"name": key, "interface": rest.partition("/")[0], "ips": [address]}
    annotations[names.NETWORK_STATUS] = json.dumps([entry])


def published(pod: Object, address: str, of_rank_zero: str) -> set[str]:
    """Return the keys of what the controller writes onto an admitted pod of a job whose rank 0 has an address."""
    give_address(pod, address)
    jobs = Jobs()
    labels = pod["metadata"]["labels"]
    if labels[names.RENDEZVOUS] == "worker":
        zero = json.loads(json.dumps(pod))
        zero["metadata"] |= {"name": "zero", "uid": "u-0"}
        zero["metadata"]["labels"][names.RENDEZVOUS] = "master"
        give_address(zero, of_rank_zero)
        jobs.update(("train", "zero"), read_member(zero))
    name = pod["metadata"]["name"]
    jobs.update(("train", name), read_member(pod))
    [lacking] = [
        found for unit in jobs.units() if unit.name == name and (found := jobs.publication(unit))
    ]
    return set(lacking.annotations)


def check(pod: Object, profile: str) -> Object | None:
    admitted = admit(pod, profile)
    if names.JOB not in podspec.labels(admitted):
        return None
    zero, own = ADDRESSES.get(profile, SIX)
    needs = awaited(admitted)
    told = published(admitted, own, zero)
    assert needs <= told
    for own_fact in (names.LOCAL_ADDR, names.NCCL_IB_HCA, names.UCX_NET_DEVICES):
        assert (own_fact in told) == (own_fact in needs), "nobody is told what it does not read"
    return admitted


def of_group(name: str, hostname: str | None) -> Object:
    """Return worker 1 of a group of plain pods, as a user wrote it."""
    pod = pods.plain({"kueue.x-k8s.io/pod-group-name": "grp"}, subdomain="grp")
    pod["metadata"]["name"] = name
    if hostname is not None:
        pod["spec"]["hostname"] = hostname
    return pods.add_env(pods.set_command(pod, "torchrun", "t.py"), "MASTER_ADDR", "grp-0.grp")


@pytest.mark.parametrize("profile", ["any", "ipv6", "six", "name", "devices", "addresses"])
@pytest.mark.parametrize("name", pods.all_names())
def test_every_real_pod_of_any_name_is_told_what_it_waits_for(name: str, profile: str) -> None:
    check(pods.load(name), profile)
    for own, hostname in (("0w-1", None), ("w-1", "0w-1"), ("0w-1", "w-1")):
        pod = pods.load(name)
        pod["metadata"]["name"] = own
        if hostname is not None:
            pod["spec"]["hostname"] = hostname
        check(pod, profile)


def test_a_generated_name_that_starts_with_a_digit_counts_as_one() -> None:
    pod = of_group("", None)
    del pod["metadata"]["name"]
    pod["metadata"]["generateName"] = "0grp-"
    admitted = check(pod, "any")
    assert admitted is not None
    assert names.LOCAL_ADDR in awaited(admitted)


@pytest.mark.parametrize("is_old", [False, True])
def test_members_of_webhooks_of_two_versions_meet_by_the_name_that_one_of_them_wrote(
    is_old: bool,
) -> None:
    jobs, members = Jobs(), {}
    for number in (1, 2):
        pod = admit(of_group(f"grp-{number}", None), "any")
        pod["metadata"]["uid"] = f"u-{number}"
        give_address(pod, f"10.0.0.{number}")
        if number == 2 and is_old:
            for key in (names.MASTER_NAME, names.WAITS_FOR):
                del pod["metadata"]["annotations"][key]
        members[number] = read_member(pod)
        jobs.update(("train", f"grp-{number}"), members[number])
    assert members[2] is not None
    fates = dict.fromkeys(("u-1", "u-2"), Fate(by_name=True))
    units = jobs.settle(("train", members[2].job), None, fates)
    told = [publication.annotations for unit in units if (publication := jobs.publication(unit))]
    assert [one[names.MASTER_ADDR] for one in told] == ["grp-0.grp"] * 2
    assert [one[names.MASTER_HOST] for one in told] == ["grp-0.grp"] * 2
