"""Volumes: the profile's, where the Configuration and PodSecurity let the pod have them; what the user has stays."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.builders import carry_out, message, outcomes, plan, profile
from tests.pods import minimal_container, minimal_pod
from webhook.core import names
from webhook.core.draft import Draft
from webhook.core.errors import Denied
from webhook.core.injection.volumes import inject
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.profiles import (
    Allowed,
    ConfigMapSource,
    EmptyDirSource,
    HostPathSource,
    ProfileMount,
    ProfileSidecar,
    ProfileVolume,
)

ADDED, KEPT = (Outcome.INJECTED, Reason.ADDED), (Outcome.KEPT, Reason.ALREADY_THERE)
SYS = ProfileVolume("sys", host_path=HostPathSource("/sys"))
TOPOLOGY = ProfileVolume("topology", config_map=ConfigMapSource("nccl-topology", optional=True))
SCRATCH = ProfileVolume("scratch", empty_dir=EmptyDirSource("Memory", "1Gi"))
OF_SYS = ProfileMount("sys", "/hostsysfs")
EVERYTHING = Allowed(host_paths=("/",))


def run(
    pod: Object, *volumes: ProfileVolume, mounts: tuple[ProfileMount, ...] = (), **tweaks: Any
) -> tuple[Object, list[Decision]]:
    fields = {key: tweaks.pop(key) for key in ("pod_security", "sidecars") if key in tweaks}
    given = profile(volumes=volumes, mounts=mounts, **fields)
    return carry_out(inject, pod, plan(pod, profile=given, **{"allowed": EVERYTHING, **tweaks}))


def test_gives_the_pod_the_volumes_and_the_training_container_the_mounts() -> None:
    pod = minimal_pod(minimal_container("side"), minimal_container("trainer"))
    mounts = (
        OF_SYS,
        ProfileMount("topology", "/opt/topology.xml", read_only=True, sub_path="topology.xml"),
    )
    result, decisions = run(pod, SYS, TOPOLOGY, SCRATCH, mounts=mounts, container=1)
    assert result["spec"]["volumes"] == [
        {"name": "sys", "hostPath": {"path": "/sys"}},
        {"name": "topology", "configMap": {"name": "nccl-topology", "optional": True}},
        {"name": "scratch", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
    ]
    assert "volumeMounts" not in result["spec"]["containers"][0]
    assert result["spec"]["containers"][1]["volumeMounts"] == [
        {"name": "sys", "mountPath": "/hostsysfs"},
        {
            "name": "topology",
            "mountPath": "/opt/topology.xml",
            "readOnly": True,
            "subPath": "topology.xml",
        },
    ]
    assert outcomes(decisions) == [ADDED]
    assert (
        decisions[0].message
        == "container trainer mounts sys at /hostsysfs, topology at /opt/topology.xml"
    )


@pytest.mark.parametrize("path", ["/hostsysfs", "/hostsysfs/", "//hostsysfs", "/./hostsysfs"])
def test_a_mount_of_the_users_own_at_the_path_stays_and_nothing_is_added_for_ours(
    path: str,
) -> None:
    container = minimal_container("trainer", volumeMounts=[{"name": "mine", "mountPath": path}])
    pod = minimal_pod(container, volumes=[{"name": "mine", "emptyDir": {}}])
    result, decisions = run(pod, SYS, mounts=(OF_SYS,), allowed=Allowed())
    assert result == pod
    assert outcomes(decisions) == [KEPT]


@pytest.mark.parametrize("path", ["/hostsysfs", "/hostsysfs/", "//hostsysfs"])
def test_a_mount_is_left_out_where_the_user_has_a_block_device(path: str) -> None:
    """Kubernetes refuses a container with both at one path."""
    container = minimal_container("trainer", volumeDevices=[{"name": "disk", "devicePath": path}])
    claim = {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}
    pod = minimal_pod(container, volumes=[claim])
    result, decisions = run(pod, SYS, mounts=(OF_SYS,), allowed=Allowed())
    assert result == pod
    assert outcomes(decisions) == [(Outcome.WARNED, Reason.USER_VALUE)]
    assert decisions[0].message == (
        "pod train-0: container trainer has a volumeDevice at /hostsysfs, where profile rdma mounts sys; Kubernetes takes one of the "
        "two, and the mount is left out: give the device another devicePath"
    )
    result, decisions = run(pod, SYS, SCRATCH, mounts=(OF_SYS, ProfileMount("scratch", "/scratch")))
    assert [volume["name"] for volume in result["spec"]["volumes"]] == ["disk", "scratch"]
    assert outcomes(decisions) == [ADDED, (Outcome.WARNED, Reason.USER_VALUE)]


@pytest.mark.parametrize(
    ("volume", "existing"),
    [
        (SYS, {"hostPath": {"path": "/sys", "type": ""}}),
        (SYS, {"hostPath": {"path": "//sys/"}}),
        (TOPOLOGY, {"configMap": {"name": "nccl-topology", "optional": True, "defaultMode": 420}}),
        (SCRATCH, {"emptyDir": {"medium": "Memory", "sizeLimit": "1024Mi"}}),
        (ProfileVolume("plain", empty_dir=EmptyDirSource()), {"emptyDir": {}}),
    ],
)
def test_takes_a_volume_that_is_the_same_but_for_defaults(
    volume: ProfileVolume, existing: Object
) -> None:
    pod = minimal_pod(volumes=[{"name": volume.name, **existing}])
    result, _ = run(pod, volume, mounts=(ProfileMount(volume.name, "/here"),), allowed=Allowed())
    assert result["spec"]["volumes"] == pod["spec"]["volumes"]
    assert result["spec"]["containers"][0]["volumeMounts"][-1] == {
        "name": volume.name,
        "mountPath": "/here",
    }


@pytest.mark.parametrize(
    "existing",
    [
        {"hostPath": {"path": "/sys/class"}},
        {"hostPath": {"path": "/sys", "type": "Directory"}},
        {"hostPath": None, "emptyDir": {}},
        {"hostPath": {}},
        {"hostPath": ["odd"]},
        {"persistentVolumeClaim": {"claimName": "data"}},
        {"configMap": ["odd"]},
    ],
)
def test_a_volume_of_the_users_own_keeps_its_name(existing: Object) -> None:
    pod = minimal_pod(volumes=[{"name": "sys", **existing}, {"name": "sys-2", "emptyDir": {}}])
    result, _ = run(pod, SYS, mounts=(OF_SYS,))
    assert result["spec"]["volumes"] == [
        *pod["spec"]["volumes"],
        {"name": "sys-3", "hostPath": {"path": "/sys"}},
    ]
    assert result["spec"]["containers"][0]["volumeMounts"] == [
        {"name": "sys-3", "mountPath": "/hostsysfs"}
    ]


@pytest.mark.parametrize(
    "tweaks",
    [
        {"defaultMode": 256},
        {"optional": False},
        {"name": "other"},
        {"items": [{"key": "a", "path": "a"}]},
    ],
)
def test_a_config_map_that_the_user_mounts_in_another_way_is_not_the_profiles(
    tweaks: Object,
) -> None:
    theirs = {
        "name": "topology",
        "configMap": {"name": "nccl-topology", "optional": True, **tweaks},
    }
    pod = minimal_pod(volumes=[theirs])
    result, _ = run(pod, TOPOLOGY, mounts=(ProfileMount("topology", "/here"),))
    ours = {"name": "topology-2", "configMap": {"name": "nccl-topology", "optional": True}}
    assert result["spec"]["volumes"] == [theirs, ours]


def test_a_numbered_name_is_as_long_as_names_may_be() -> None:
    name = "v" * 63
    pod = minimal_pod(volumes=[{"name": name, "emptyDir": {}}])
    result, _ = run(pod, ProfileVolume(name, host_path=HostPathSource("/sys")))
    assert result["spec"]["volumes"][1]["name"] == "v" * 61 + "-2"


def test_two_volumes_of_the_profile_get_two_names() -> None:
    pod = minimal_pod(minimal_container("trainer"), volumes=[{"name": "sys", "emptyDir": {}}])
    second = ProfileVolume("sys-2", empty_dir=EmptyDirSource())
    mounts = (OF_SYS, ProfileMount("sys-2", "/scratch"))
    result, _ = run(pod, SYS, second, mounts=mounts)
    assert [volume["name"] for volume in result["spec"]["volumes"]] == ["sys", "sys-2", "sys-2-2"]
    assert [mount["name"] for mount in result["spec"]["containers"][0]["volumeMounts"]] == [
        "sys-2",
        "sys-2-2",
    ]


def test_mounts_a_volume_that_the_user_brings() -> None:
    pod = minimal_pod(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
    result, decisions = run(pod, mounts=(ProfileMount("data", "/data"),))
    assert result["spec"]["volumes"] == pod["spec"]["volumes"]
    assert result["spec"]["containers"][0]["volumeMounts"] == [
        {"name": "data", "mountPath": "/data"}
    ]
    assert outcomes(decisions) == [ADDED]


def test_does_not_mount_a_volume_that_nobody_has() -> None:
    pod = minimal_pod()
    result, decisions = run(
        pod, mounts=(ProfileMount("data", "/data"), ProfileMount("data", "/more"))
    )
    assert result == pod
    assert outcomes(decisions) == [(Outcome.WARNED, Reason.NO_VOLUME)]
    assert (
        "volume data, which profile rdma mounts, is neither the profile's nor the pod's"
        in decisions[0].message
    )


def test_volumes_of_sidecars_come_with_them_and_others_for_whom_the_user_mounts_them() -> None:
    pod = minimal_pod()
    sidecar = ProfileSidecar("daemon", "example.com/daemon", mounts=(OF_SYS,))
    result, decisions = run(pod, SYS, SCRATCH, sidecars=(sidecar,))
    assert [volume["name"] for volume in result["spec"]["volumes"]] == ["scratch"]
    assert decisions[0].message == "the pod has volumes scratch"
    result, decisions = run(pod, SYS, sidecars=(sidecar,))
    assert (result, outcomes(decisions)) == (pod, [(Outcome.SKIPPED, Reason.NOT_ASKED)])
    assert decisions[0].message == "the pod needs no volume of the profile"


def test_writes_what_must_be_there_on_the_node() -> None:
    result, _ = run(
        minimal_pod(), ProfileVolume("sys", host_path=HostPathSource("/sys", "Directory"))
    )
    assert result["spec"]["volumes"] == [
        {"name": "sys", "hostPath": {"path": "/sys", "type": "Directory"}}
    ]


@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_is_denied_where_pod_security_would_refuse_a_path_of_the_node(level: str) -> None:
    pod = minimal_pod()
    with pytest.raises(Denied) as raised:
        run(pod, SYS, TOPOLOGY, mounts=(OF_SYS,), labels={names.POD_SECURITY_ENFORCE: level})
    assert raised.value.reason is Reason.POD_SECURITY
    assert raised.value.message == (
        "pod train-0: profile rdma gives volume sys (hostPath /sys), which label pod-security.kubernetes.io/enforce: "
        f"{level} of namespace research refuses; label the namespace privileged, or set podSecurity: skip or ignore in profile rdma"
    )


def test_skips_the_path_with_its_mounts_or_ignores_the_level() -> None:
    pod, labels = minimal_pod(), {names.POD_SECURITY_ENFORCE: "baseline"}
    mounts = (OF_SYS, ProfileMount("topology", "/t"))
    result, decisions = run(pod, SYS, TOPOLOGY, mounts=mounts, labels=labels, pod_security="skip")
    assert [volume["name"] for volume in result["spec"]["volumes"]] == ["topology"]
    assert [mount["name"] for mount in result["spec"]["containers"][0]["volumeMounts"]] == [
        "topology"
    ]
    skipped, warned = (Outcome.SKIPPED, Reason.POD_SECURITY), (Outcome.WARNED, Reason.POD_SECURITY)
    assert outcomes(decisions) == [ADDED, skipped, warned]
    result, _ = run(pod, SYS, TOPOLOGY, mounts=mounts, labels=labels, pod_security="ignore")
    assert [volume["name"] for volume in result["spec"]["volumes"]] == ["sys", "topology"]


@pytest.mark.parametrize(
    ("allowed", "path"),
    [
        ((), "/dev/infiniband"),
        (("/dev/inf",), "/dev/infiniband"),
        (("/dev/inf/",), "/dev/infiniband"),
        (("/dev/infiniband",), "/dev/infiniband/uverbs0"),
        (("/dev/infiniband/",), "/dev"),
        (("/dev/infiniband/",), "/dev/infiniband/../mem"),
        (("/dev/infiniband/",), "/dev/infiniband/.."),
        (("/",), "/.."),
        (("/dev/infiniband",), "/dev/infiniband "),
        (("/dev/infiniband",), "/DEV/infiniband"),
        (("/dev/infiniband",), "dev/infiniband"),
        (("/a",), "/a\0b"),
    ],
)
def test_a_path_that_is_not_allowed_is_denied(allowed: tuple[str, ...], path: str) -> None:
    pod = minimal_pod()
    volume = ProfileVolume("v", host_path=HostPathSource(path))
    with pytest.raises(Denied) as raised:
        run(pod, volume, mounts=(ProfileMount("v", "/v"),), allowed=Allowed(host_paths=allowed))
    assert raised.value.reason is Reason.NOT_ALLOWED
    assert raised.value.message == (
        f"pod train-0: profile rdma: volume v: hostPath {path} is not in allowed.hostPaths of the Configuration; "
        "an admin of the cluster allows all of it there (config.yaml of ConfigMap fabric-injector-config; with Helm the value "
        "allowed), or removes it from the profile"
    )


@pytest.mark.parametrize(
    ("allowed", "path"),
    [
        (("/dev/infiniband",), "/dev/infiniband"),
        (("/dev/infiniband/",), "/dev/infiniband"),
        (("/dev/infiniband/",), "/dev/infiniband/uverbs0"),
        (("/other", "/dev/infiniband"), "//dev//infiniband/"),
        (("/",), "/"),
        (("/",), "/dev"),
        (("/dev/infiniband/",), "/dev/infiniband/..data"),
    ],
)
def test_a_path_that_is_allowed_is_given(allowed: tuple[str, ...], path: str) -> None:
    pod = minimal_pod()
    volume = ProfileVolume("v", host_path=HostPathSource(path))
    draft = Draft(pod)
    found = list(
        inject(
            draft,
            plan(pod, profile=profile(volumes=(volume,)), allowed=Allowed(host_paths=allowed)),
        )
    )
    assert outcomes(found) == [ADDED]


def test_leaves_windows_pods_and_profiles_without_volumes_alone() -> None:
    pod = minimal_pod(os={"name": "windows"})
    result, decisions = run(pod, SYS, mounts=(OF_SYS,))
    assert (result, outcomes(decisions)) == (pod, [(Outcome.SKIPPED, Reason.WINDOWS)])
    result, decisions = run(minimal_pod())
    assert message(decisions, Outcome.SKIPPED) == "profile rdma gives no volumes"
