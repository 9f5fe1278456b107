"""Which networks are read to judge a pod, and what is answered of those that cannot be."""

from __future__ import annotations

import pytest

from tests.diagnose.scenes import SPACE, Scene, cluster_of
from tests.worlds import network
from webhook.core import names
from webhook.core.errors import Unavailable
from webhook.core.model import NetworkDefinition
from webhook.diagnose.explain.job import judge_today
from webhook.diagnose.snapshot import Snapshot
from webhook.kube.catalogue import NETWORKS


def test_each_network_of_annotations_and_profiles_is_read_once() -> None:
    scene = Scene()
    for name in ("a", "ml/b", "kube-system/flat"):
        key = tuple(f"{SPACE}/{name}".split("/")[-2:])
        scene.networks[key[0], key[1]] = network("/".join(key))
    told = scene.workers[0]["metadata"]["annotations"]
    told |= {names.NETWORKS: "a, ml/b@net5", names.DEFAULT_NETWORK: "flat"}
    connection = cluster_of(scene)
    snapshot = Snapshot(connection, SPACE)
    assert all(judge_today(snapshot, pod) for pod in scene.pods.values())
    asked = [each for each in connection.asked if NETWORKS.name in each]
    expected = [("default", "rdma-net"), (SPACE, "a"), ("ml", "b"), ("kube-system", "flat")]
    assert sorted(asked) == sorted(f"GET {NETWORKS.object_path(key)}" for key in expected)


def test_what_was_not_read_is_unknown_and_not_absent() -> None:
    scene = Scene(0)
    connection = cluster_of(scene)
    snapshot = Snapshot(connection, SPACE)
    assert snapshot.world.network("default", "rdma-net") is not None
    assert snapshot.world.network("default", "absent") is None
    with pytest.raises(Unavailable, match="namespace other was not read"):
        snapshot.world.namespace("other")
    connection.spoil = lambda *_: (403, b"{}")
    assumed = NetworkDefinition("default", "other", has_ipam=True)
    assert snapshot.world.network("default", "other") == assumed
    connection.spoil = lambda *_: (500, b"{}")
    with pytest.raises(Unavailable, match="network a/b: cannot be read"):
        snapshot.world.network("a", "b")
    assert {each.what for each in snapshot.unread()} == {"network default/other", "network a/b"}
    scene.refused = {"namespaces"}
    assert judge_today(scene.snapshot, scene.master) is None
