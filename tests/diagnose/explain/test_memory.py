"""What `explain` finds of memory that may not be locked, and of /dev/shm."""

from __future__ import annotations

import pytest

from tests.diagnose.explain.explanations import findings, one
from tests.diagnose.scenes import PROFILES, Scene
from webhook.core import names
from webhook.core.model import Object
from webhook.core.profiles import parse_profiles


def test_a_container_that_may_not_lock_memory() -> None:
    scene = Scene(0)
    scene.master["spec"]["containers"][0]["securityContext"] = {}
    [found] = findings(scene, "memlock")
    assert found.message.startswith(
        "container pytorch has no IPC_LOCK; RDMA can then register little memory"
    )
    scene.labels[names.POD_SECURITY_ENFORCE] = "baseline"
    [found] = findings(scene, "memlock")
    assert (
        "label pod-security.kubernetes.io/enforce: baseline of namespace research refuses it"
        in found.message
    )


def test_memory_that_is_not_locked_by_choice() -> None:
    scene = Scene(0)
    scene.profiles = parse_profiles(PROFILES + "    ipcLock: false")
    scene.pods = {"bert-master-0": scene.admitted(scene.created(0))}
    assert findings(scene, "memlock") == []


def test_a_user_namespace() -> None:
    scene = Scene(0)
    scene.master["spec"]["hostUsers"] = False
    assert "the pod has hostUsers: false, where IPC_LOCK is inert" in one(scene, "memlock")


@pytest.mark.parametrize(
    "of_the_user",
    [{"persistentVolumeClaim": {"claimName": "fast"}}, {"emptyDir": {"medium": "Memory"}}, None],
    ids=str,
)
def test_a_shared_memory_of_the_users_own_is_no_fault(of_the_user: Object | None) -> None:
    def bring(pod: Object) -> None:
        if of_the_user is None:
            pod["spec"]["hostIPC"] = True
        else:
            pod["spec"]["volumes"] = [{"name": "shm", **of_the_user}]
            pod["spec"]["containers"][0]["volumeMounts"] = [
                {"name": "shm", "mountPath": "/dev/shm"}
            ]

    assert findings(Scene(0, before=bring), "shared-memory") == []


@pytest.mark.parametrize(
    ("volume", "told"),
    [
        (
            {"name": "fabric-injector-shm", "emptyDir": {}},
            "/dev/shm is volume fabric-injector-shm on the node's disk, not in memory",
        ),
        (None, "container pytorch has the runtime's own /dev/shm of 64 MiB"),
    ],
    ids=["disk", "runtime"],
)
def test_a_small_or_slow_shared_memory(volume: Object | None, told: str) -> None:
    scene = Scene(0)
    spec = scene.master["spec"]
    spec["volumes"] = [each for each in spec["volumes"] if each["name"] != names.SHM_VOLUME] + (
        [volume] if volume else []
    )
    if volume is None:
        for container in spec["containers"]:
            container["volumeMounts"] = [
                each for each in container["volumeMounts"] if each["name"] != names.SHM_VOLUME
            ]
    assert told in one(scene, "shared-memory")
