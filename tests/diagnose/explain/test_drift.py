"""What `explain` finds of profiles that have changed since a pod was created."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.diagnose.explain.explanations import findings, one
from tests.diagnose.scenes import PROFILES, Scene
from webhook import __version__
from webhook.core import names
from webhook.core.model import Object
from webhook.core.profiles import parse_profiles
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.explanation import explain
from webhook.diagnose.listing import Unread


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            PROFILES.replace("shared:", "other:"),
            "denied: namespace research: label fabric-injector.io/profile: no profile is named 'shared'",
        ),
        (
            PROFILES + "    ipcLock: false",
            "without ipc-lock, which was injected: profile shared has ipcLock: false",
        ),
        (
            PROFILES + "    env: {NCCL_SOCKET_IFNAME: eth9}",
            "NCCL_SOCKET_IFNAME=eth9 in place of =net1",
        ),
        (
            PROFILES + "    env: {NCCL_IB_HCA: mlx5}",
            "environment: container pytorch gets NCCL_IB_HCA",
        ),
        (
            PROFILES + "    rendezvous: {timeout: 5m}",
            "rendezvous: another timeout of the wait step",
        ),
        (
            PROFILES + "    rendezvous: {enabled: false}",
            "no address would be published to it: profile shared says rendezvous: {enabled: false}",
        ),
        (
            PROFILES + "    rendezvous: {ipFamily: IPv4}",
            "the ranks would meet on default/rdma-net@net1/IPv4 in place of default/rdma-net@net1/any",
        ),
        (
            PROFILES + "    resources: {example.com/nic: 2}",
            "devices: container pytorch asks for example.com/nic: 2",
        ),
        (PROFILES.replace("{sizeLimit: 16Gi}", "{}"), "/dev/shm of no size in place of 16Gi"),
    ],
    ids=[
        "unknown",
        "ipc-lock",
        "another-value",
        "new-variable",
        "timeout",
        "no-rendezvous",
        "family",
        "resources",
        "shm",
    ],
)
def test_what_changed_since(text: str, told: str) -> None:
    scene = Scene(0)
    scene.profiles = parse_profiles(text)
    assert f"would get another result today: {told}" in one(scene, "drift")


def test_names_members_with_another_revision_than_rank_zero() -> None:
    """They were created after the profile was changed."""
    scene = Scene(2)
    status = json.loads(scene.workers[1]["metadata"]["annotations"][names.STATUS])
    had, status["revision"] = status["revision"], "0" * 12
    scene.workers[1]["metadata"]["annotations"][names.STATUS] = json.dumps(status)
    assert one(scene, "drift") == (
        "warn pod bert-worker-1: has profile shared in revision 000000000000, and rank 0, pod bert-master-0, has profile shared in "
        f"revision {had}"
    )


@pytest.mark.parametrize("chosen_by", ["namespace", "pod"])
def test_members_that_choose_another_profile_by_their_own_label_may_differ(chosen_by: str) -> None:
    scene = Scene(1)
    status = json.loads(scene.workers[0]["metadata"]["annotations"][names.STATUS])
    status |= {"profile": "other", "revision": "0" * 12, "chosenBy": chosen_by}
    scene.workers[0]["metadata"]["annotations"][names.STATUS] = json.dumps(status)
    master = json.loads(scene.master["metadata"]["annotations"][names.STATUS]) | {
        "chosenBy": "namespace"
    }
    scene.master["metadata"]["annotations"][names.STATUS] = json.dumps(master)
    told = [each for each in explain(scene.reading).findings if each.code is Code.REVISIONS_DIFFER]
    assert len(told) == (chosen_by == "namespace")


def test_names_the_generation_of_a_profile_that_is_an_object() -> None:
    scene = Scene(0)
    scene.profiles = parse_profiles(PROFILES + "    ipcLock: false")
    scene.changes = {"generations": {"shared": 7}}
    assert (
        "would get another result today (profile shared is at generation 7): without ipc-lock"
        in one(scene, "drift")
    )


def test_what_a_profile_with_a_fault_would_give_today_is_unknown() -> None:
    scene = Scene(0)
    scene.profiles = parse_profiles("profiles: {}")
    assert "no profile is named 'shared'" in one(scene, "drift")
    scene.changes = {"unusable": frozenset({"shared"})}
    assert findings(scene, "drift") == []


def test_what_a_network_gives_today_is_unknown_to_one_who_may_not_read_it() -> None:
    scene = Scene(0)
    scene.profiles = parse_profiles(PROFILES + "    ipcLock: false")
    scene.changes = {
        "unread": (Unread("network default/rdma-net", "cannot be read: GET /x answered 403: no"),)
    }
    assert findings(scene, "drift") == []


def test_another_profile_since() -> None:
    scene = Scene(0)
    scene.profiles = parse_profiles(
        PROFILES
        + "  other: {networks: [{network: default/rdma-net, resource: rdma/hca}], sharedMemory: {sizeLimit: 16Gi}}"
    )
    scene.labels[names.PROFILE] = "other"
    assert one(scene, "drift").endswith(
        "would get another result today: profile other in place of shared"
    )
    scene.labels.clear()
    assert "nothing would be injected: neither the pod" in one(scene, "drift")
    scene.labels |= {names.PROFILE: "shared", names.MODE: "observe"}
    assert one(scene, "drift").endswith(
        "label fabric-injector.io/mode of its namespace says to observe only"
    )


def test_another_wait_script_since_the_webhook_was_upgraded_is_no_matter() -> None:
    scene = Scene(0)
    scene.master["spec"]["initContainers"][0]["command"][2] += "\n# of an earlier version"
    assert one(scene, "drift").endswith("today: rendezvous: other variables or another wait step")
    annotations = scene.master["metadata"]["annotations"]
    annotations[names.STATUS] = annotations[names.STATUS].replace(
        f'"version":"{__version__}"', '"version":"0.0.1"'
    )
    assert findings(scene, "drift") == []


def lacks_ipc_lock(pod: Object) -> None:
    del pod["spec"]["containers"][0]["securityContext"]


def lacks_a_setting(pod: Object) -> None:
    container = pod["spec"]["containers"][0]
    container["env"] = [each for each in container["env"] if each["name"] != "GLOO_SOCKET_IFNAME"]


def lacks_shared_memory(pod: Object) -> None:
    pod["spec"]["containers"][0]["volumeMounts"] = []
    pod["spec"]["volumes"] = [
        each for each in pod["spec"]["volumes"] if each["name"] != names.SHM_VOLUME
    ]


@pytest.mark.parametrize(
    ("lacks", "step", "told"),
    [
        (lacks_ipc_lock, "ipc-lock", "container pytorch"),
        (lacks_a_setting, "environment", "GLOO_SOCKET_IFNAME"),
        (lacks_shared_memory, "shared-memory", names.SHM_MOUNT_PATH),
    ],
)
def test_what_a_pod_from_before_an_upgrade_would_get_besides(
    lacks: Callable[[Object], None], step: str, told: str
) -> None:
    """The version that injected it did not have the step: its status does not tell of it either."""
    scene = Scene(0)
    lacks(scene.master)
    annotations = scene.master["metadata"]["annotations"]
    status = json.loads(annotations[names.STATUS])
    injected = [each for each in status["injected"] if each != step]
    annotations[names.STATUS] = json.dumps({**status, "version": "0.0.1", "injected": injected})
    found = one(scene, "drift")
    assert f"would get another result today: {step}: " in found
    assert told in found
    assert all(row.details["today"] for row in explain(scene.reading).rows)


def test_more_devices_in_the_profile_are_no_shortage_of_the_pod() -> None:
    scene = Scene(1)
    scene.profiles = parse_profiles(
        "profiles: {shared: {networks: [{network: default/rdma-net, resource: rdma/hca, count: 2}], sharedMemory: {sizeLimit: 16Gi}}}"
    )
    found = [each for each in explain(scene.reading).findings if each.level == "warn"]
    assert [each.topic for each in found] == ["drift"]


def test_a_job_whose_address_nobody_would_publish_today() -> None:
    """What holds rank 0's name was taken out of the pod, so that the address cannot be taken back."""
    scene = Scene(0)
    container = scene.master["spec"]["containers"][0]
    container["env"] = [entry for entry in container["env"] if entry["name"] == "MASTER_ADDR"]
    container["command"] = ["torchrun", "--rdzv_endpoint=$(MASTER_ADDR):1", "t.py"]
    scene.profiles = parse_profiles(PROFILES + "    rendezvous: {addressSource: none}\n")
    assert "no address would be published to it: " in one(scene, "drift")
