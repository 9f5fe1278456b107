"""Which networks must be read to judge a pod, and what is answered of those that were not."""

from __future__ import annotations

import pytest

from tests.diagnose.explain.explanations import findings
from tests.diagnose.scenes import Scene
from tests.pods import all_names, load
from webhook.core import names
from webhook.core.errors import Unavailable
from webhook.core.model import NetworkDefinition, Object
from webhook.core.profiles import parse_profiles
from webhook.diagnose.explain.drift import differences
from webhook.diagnose.explain.judgement import ReadWorld, judge_today, networks_to_read
from webhook.diagnose.explain.part import read_part
from webhook.diagnose.listing import Unread


def pod(networks: str = "", **annotations: str) -> Object:
    return {"metadata": {"annotations": {names.NETWORKS: networks, **annotations}}}


def test_reads_the_networks_of_annotations_and_profiles_once() -> None:
    pods = (
        pod("a, ml/b@net5"),
        pod("a"),
        pod("not/a/name"),
        pod(**{names.DEFAULT_NETWORK: "flat"}),
    )
    labels = {names.PROFILE: "shared"}
    assert networks_to_read(pods, "research", labels, Scene(0).profiles) == [
        ("research", "a"),
        ("ml", "b"),
        ("kube-system", "flat"),
        ("default", "rdma-net"),
    ]
    assert networks_to_read((), "research", {}, None) == []


def test_what_was_not_read_is_unknown_and_not_absent() -> None:
    scene = Scene(0)
    world = ReadWorld(scene.reading)
    assert world.network("default", "rdma-net") is not None
    with pytest.raises(Unavailable, match="network default/other was not read"):
        world.network("default", "other")
    with pytest.raises(Unavailable, match="namespace other was not read"):
        world.namespace("other")
    unread = (
        Unread("network default/other", "cannot be read: GET /x answered 403: no"),
        Unread("network a/b", "500"),
    )
    scene.changes = {"unread": unread}
    assert ReadWorld(scene.reading).network("default", "other") == NetworkDefinition(
        "default", "other", has_ipam=True
    )
    with pytest.raises(Unavailable, match="network a/b was not read"):
        ReadWorld(scene.reading).network("a", "b")
    scene.changes = {"labels": None}
    assert judge_today(scene.master, scene.profiles, ReadWorld(scene.reading)) is None


@pytest.mark.parametrize("unknown", ["labels", "events", "nodes", "lease", "profiles"])
def test_explains_without_a_part_that_could_not_be_read(unknown: str) -> None:
    scene = Scene(2)
    scene.tell(scene.pods["bert-worker-1"], "10.66.6.6")
    scene.changes = {unknown: None}
    assert [each.topic for each in findings(scene)] == ["controller", "addresses"]


def test_explains_without_the_networks() -> None:
    scene = Scene(2)
    scene.changes = {"networks": {}}
    assert findings(scene) == []


def test_reads_the_networks_of_a_profile_that_a_pod_chooses_by_its_labels() -> None:
    text = "profiles: {a: {podLabels: {team: vision}, networks: [{network: rails/rail-0}]}, b: {networks: [{network: x/y}]}}"
    member: Object = {"metadata": {"labels": {"team": "vision"}}}
    assert networks_to_read((member,), "research", {names.PROFILE: "b"}, parse_profiles(text)) == [
        ("rails", "rail-0")
    ]
    unknown: Object = {"metadata": {"labels": {names.PROFILE: "c"}}}
    assert networks_to_read((unknown,), "research", {}, parse_profiles(text)) == []


EVERYTHING = """
profiles:
  plain: {networks: [{network: default/rdma-net, resource: rdma/hca}], sharedMemory: {sizeLimit: 16Gi}}
  adding: {pods: all, existingDevices: add, networks: [{network: default/rdma-net, resource: rdma/hca}]}
  rich:
    pods: all
    networks: [{network: default/rdma-net, resource: rdma/hca, count: 2}]
    resources: {example.com/nic: 2}
    env: {NCCL_IB_HCA: mlx5}
    nodeSelector: {rail: fast}
    rendezvous: {ipFamily: IPv6, timeout: 5m}
"""


@pytest.mark.parametrize("profile", ["plain", "adding", "rich"])
@pytest.mark.parametrize("fixture", all_names())
def test_what_was_admitted_would_get_nothing_else_today(fixture: str, profile: str) -> None:
    pod = load(fixture)
    space = pod["metadata"].setdefault("namespace", "train")
    pod["metadata"].setdefault("name", "member-1")
    scene = Scene(0)
    profiles = parse_profiles(EVERYTHING)
    scene.changes = {"namespace": space, "labels": {names.PROFILE: profile}, "profiles": profiles}
    world = ReadWorld(scene.reading)
    admitted = judge_today(pod, profiles, world)
    assert admitted is not None
    again = judge_today(admitted.pod, profiles, world)
    part = read_part(admitted.pod, again)
    assert list(differences(part, profiles.profiles[profile])) == [] or not part.is_injected
