"""What `explain` finds of networks that Multus was to attach."""

from __future__ import annotations

import json

import pytest

from tests.diagnose.explain.explanations import findings, first, one
from tests.diagnose.explain.test_screens import SANDBOX
from tests.diagnose.scenes import Scene, ago, event
from tests.worlds import network
from webhook.core import names
from webhook.diagnose.explain.explanation import explain


def test_no_status_after_a_minute_but_not_before() -> None:
    scene = Scene(0)
    del scene.master["metadata"]["annotations"][names.NETWORK_STATUS]
    assert "Multus has written no annotation" in one(scene, "networks")
    scene.bind(scene.master, ago(seconds=20))
    assert findings(scene, "networks") == []


def test_a_status_that_is_no_list() -> None:
    scene = Scene(0)
    scene.master["metadata"]["annotations"][names.NETWORK_STATUS] = "[oops"
    assert "annotation k8s.v1.cni.cncf.io/network-status is not a list of networks" in one(
        scene, "networks"
    )


def test_the_clusters_own_network_counts_as_no_second_one_though_nothing_marks_it() -> None:
    """The controller knows it by its interface too."""
    scene = Scene(0)
    entries = json.loads(scene.master["metadata"]["annotations"][names.NETWORK_STATUS])
    del entries[0]["default"]
    scene.master["metadata"]["annotations"][names.NETWORK_STATUS] = json.dumps(entries)
    [row] = explain(scene.reading).rows
    assert [each["interface"] for each in row.details["networks"]] == ["net1"]


def test_a_pod_that_has_begun_without_multus() -> None:
    scene = Scene(1)
    pod = scene.workers[0]
    scene.bind(pod, ago(seconds=5))
    del pod["metadata"]["annotations"][names.NETWORK_STATUS]
    scene.wait(pod, ago(seconds=3))
    assert {each.level for each in explain(scene.reading).findings if each.topic == "networks"} == {
        "ok"
    }
    scene.bind(pod, ago(seconds=25))
    scene.wait(pod, ago(seconds=23))
    scene.events = [
        event("Pod", "bert-worker-0", "NoSecondaryAddress", "of the same", source="fabric-injector")
    ]
    found = [
        each.message
        for each in explain(scene.reading).findings
        if each.topic in ("networks", "events")
    ]
    assert found == [f"has begun, and Multus has written no annotation {names.NETWORK_STATUS}"]


def test_one_who_may_not_read_events_is_not_sent_to_multus() -> None:
    scene = Scene(1)
    pod = scene.workers[0]
    scene.bind(pod)
    del pod["metadata"]["annotations"][names.NETWORK_STATUS]
    assert first(scene).action.startswith("is Multus running on the node")
    scene.changes = {"events": None}
    assert (
        first(scene).action
        == "its Events say why: ask for list of events, or let one who may read them run this"
    )


def test_a_volume_may_take_its_time() -> None:
    scene = Scene(1)
    pod = scene.workers[0]
    scene.bind(pod, ago(seconds=5))
    del pod["metadata"]["annotations"][names.NETWORK_STATUS]
    text = "MountVolume.SetUp failed for volume: failed to sync configmap cache"
    scene.events = [event("Pod", "bert-worker-0", "FailedMount", text)]
    assert {each.level for each in explain(scene.reading).findings} == {"ok"}


def test_an_annotation_that_multus_refuses_is_told_as_admission_says_it() -> None:
    scene = Scene(0)
    scene.master["metadata"]["annotations"][names.NETWORKS] = "default/rdma-net/more"
    assert "has more than one '/'; Multus refuses it: correct or remove it" in one(
        scene, "drift", "networks"
    )


def test_a_pod_that_asks_for_a_network_by_itself() -> None:
    scene = Scene(0)
    pod = scene.created(1)
    pod["metadata"]["labels"][names.PROFILE] = "none"
    pod["metadata"]["annotations"] = {names.NETWORKS: "default/rdma-net"}
    scene.bind(pod)
    scene.attach(pod)
    scene.pods = {"bert-worker-0": pod}
    assert findings(scene, "networks") == [], (
        "where the ranks do not meet on it, it may be without addresses"
    )


def test_a_network_that_is_not_comes_before_the_lack_of_injection() -> None:
    scene = Scene(1)
    scene.labels.clear()
    for number, name in enumerate(scene.pods):
        pod = scene.created(number)
        pod["metadata"]["annotations"] = {names.NETWORKS: "default/rdma-nte"}
        scene.bind(pod)
        scene.pods[name] = pod
    scene.networks["default", "rdma-nte"] = None
    found = [each.message for each in explain(scene.reading).findings]
    assert found[0] == "asks for network default/rdma-nte, which does not exist"
    assert found[1].startswith("not injected: neither the pod")


def test_a_network_whose_plugin_fails() -> None:
    scene = Scene(0)
    scene.bind(scene.master)
    del scene.master["metadata"]["annotations"][names.NETWORK_STATUS]
    said = 'Failed to create pod sandbox: rpc error: code = Unknown desc = plugin "macvlan" failed:\n\tno such device: ens9'
    scene.events = [event("Pod", "bert-master-0", "FailedCreatePodSandBox", said, source="kubelet")]
    [found] = findings(scene, "networks")
    assert (
        found.message
        == 'its network could not be made: plugin "macvlan" failed: no such device: ens9'
    )
    assert found.action.startswith(
        "correct the NetworkAttachmentDefinition, or look at its CNI plugin"
    )


@pytest.mark.parametrize(
    "said",
    [
        "no IP addresses available in range set: 192.168.0.1-192.168.0.254",
        "Could not allocate IP in range: ip: 192.168.0.1 / - 192.168.0.254",
    ],
)
def test_addresses_that_are_all_taken(said: str) -> None:
    scene = Scene()
    for name, pod in scene.pods.items():
        scene.wait(pod, ago(minutes=17))
        pod["metadata"]["annotations"].pop(names.NETWORK_STATUS)
        text = SANDBOX.replace("{pod}", name).partition("no IP")[0] + said
        scene.events.append(event("Pod", name, "FailedCreatePodSandBox", text, source="kubelet"))
    found = first(scene)
    assert said in found.message
    assert found.action.startswith(
        "enlarge the range of the network's IPAM and restart the job, or free the addresses"
    )


def test_a_network_that_was_not_attached() -> None:
    scene = Scene(0)
    scene.networks["default", "more"] = network("default/more")
    scene.master["metadata"]["annotations"][names.NETWORKS] += ",default/more"
    assert (
        "asks for network default/more once, and annotation k8s.v1.cni.cncf.io/network-status lists it 0 times"
        in one(scene, "networks")
    )


@pytest.mark.parametrize(
    ("addresses", "told"),
    [
        ((), "has no address on default/rdma-net@net1"),
        (
            ("fe80::1",),
            "gave no address that can be used: holds fe80::1, at which no other pod can reach this one",
        ),
    ],
    ids=["none", "link-local"],
)
def test_a_network_that_gave_no_address(addresses: tuple[str, ...], told: str) -> None:
    scene = Scene(0)
    scene.attach(scene.master, *addresses)
    assert told in one(scene, "networks")
