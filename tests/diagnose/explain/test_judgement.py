"""Which networks must be read to judge a pod, and what is answered of those that were not."""

from __future__ import annotations

import pytest

from tests.diagnose.scenes import SPACE, Scene
from webhook.core import names
from webhook.core.errors import Unavailable
from webhook.core.model import NetworkDefinition, Object
from webhook.diagnose.explain.snapshot import networks_to_read
from webhook.diagnose.snapshot import Unread


def pod(networks: str = "", **annotations: str) -> Object:
    told = {names.NETWORKS: networks, **annotations}
    return {"metadata": {"namespace": SPACE, "annotations": told}}


def test_reads_the_networks_of_annotations_and_profiles_once() -> None:
    pods = (
        pod("a, ml/b@net5"),
        pod("a"),
        pod("[no list"),
        pod(**{names.DEFAULT_NETWORK: "flat"}),
    )
    labels = {names.PROFILE: "shared"}
    assert networks_to_read(pods, {SPACE: labels}, Scene(0).profiles) == [
        ("research", "a"),
        ("ml", "b"),
        ("default", "rdma-net"),
        ("kube-system", "flat"),
    ]
    assert networks_to_read((), {}, None) == []


def test_what_was_not_read_is_unknown_and_not_absent() -> None:
    scene = Scene(0)
    world = scene.snapshot.world
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
    assert scene.snapshot.world.network("default", "other") == NetworkDefinition(
        "default", "other", has_ipam=True
    )
    with pytest.raises(Unavailable, match="network a/b was not read"):
        scene.snapshot.world.network("a", "b")
    scene.changes = {"labels": None}
    assert scene.snapshot.judge_today(scene.master) is None
