"""Sidecars: containers of the profile that run beside the training one, where Configuration and PodSecurity allow it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.builders import carry_out, outcomes, plan, profile
from tests.pods import minimal_container, minimal_pod
from webhook.core import names
from webhook.core.draft import Draft
from webhook.core.errors import Denied
from webhook.core.injection import steps
from webhook.core.injection.sidecars import inject
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.profiles import (
    Allowed,
    HostPathSource,
    Profile,
    ProfileMount,
    ProfileSidecar,
    ProfileVolume,
)

ADDED, KEPT = (Outcome.INJECTED, Reason.ADDED), (Outcome.KEPT, Reason.ALREADY_THERE)
SKIPPED, WARNED = (Outcome.SKIPPED, Reason.POD_SECURITY), (Outcome.WARNED, Reason.POD_SECURITY)
EVERYTHING = Allowed(("/",), ("example.com/*",))
SYS = ProfileVolume("sys", host_path=HostPathSource("/sys"))
PLAIN = ProfileSidecar("daemon", "example.com/daemon:1")
DAEMON = ProfileSidecar(
    "daemon",
    "example.com/daemon:1",
    command=("/bin/sh", "-c"),
    args=("set -ex\nrun",),
    env={"LD_LIBRARY_PATH": "/usr/local/nvidia/lib64"},
    mounts=(ProfileMount("sys", "/hostsysfs"),),
    capabilities=("NET_ADMIN", "NET_BIND_SERVICE"),
    resources={"cpu": "500m", "memory": "1Gi"},
)
WAIT = {"name": names.WAIT_CONTAINER, "image": "train"}


def run(pod: Object, given: Profile, **tweaks: Any) -> tuple[Object, list[Decision]]:
    return carry_out(inject, pod, plan(pod, profile=given, **{"allowed": EVERYTHING, **tweaks}))


def test_appends_a_native_sidecar_with_the_volumes_that_it_mounts() -> None:
    pod = minimal_pod(initContainers=[minimal_container("early"), WAIT])
    result, decisions = run(
        pod, profile(sidecars=(DAEMON,), volumes=(SYS, ProfileVolume("other", SYS.host_path)))
    )
    assert result["spec"]["volumes"] == [{"name": "sys", "hostPath": {"path": "/sys"}}]
    assert result["spec"]["initContainers"] == [
        *pod["spec"]["initContainers"],
        {
            "name": "daemon",
            "image": "example.com/daemon:1",
            "command": ["/bin/sh", "-c"],
            "args": ["set -ex\nrun"],
            "env": [{"name": "LD_LIBRARY_PATH", "value": "/usr/local/nvidia/lib64"}],
            "resources": {
                "limits": {"cpu": "500m", "memory": "1Gi"},
                "requests": {"cpu": "500m", "memory": "1Gi"},
            },
            "securityContext": {"capabilities": {"add": ["NET_ADMIN", "NET_BIND_SERVICE"]}},
            "volumeMounts": [{"name": "sys", "mountPath": "/hostsysfs"}],
            "restartPolicy": "Always",
        },
    ]
    assert outcomes(decisions) == [ADDED]
    assert decisions[0].message == "daemon runs beside container trainer"


def test_a_plain_one_has_nothing_that_the_profile_does_not_say() -> None:
    result, _ = run(minimal_pod(), profile(sidecars=(PLAIN,)))
    plain = {"name": "daemon", "image": "example.com/daemon:1", "restartPolicy": "Always"}
    assert result["spec"]["initContainers"] == [plain]


def test_a_privileged_one_is_privileged() -> None:
    given = profile(sidecars=(ProfileSidecar("daemon", "example.com/daemon", privileged=True),))
    result, _ = run(minimal_pod(), given)
    assert result["spec"]["initContainers"][0]["securityContext"] == {"privileged": True}


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_a_container_of_the_users_own_by_that_name_stays_and_no_volume_is_added(kind: str) -> None:
    own = minimal_container("daemon", image="mine")
    pod = minimal_pod()
    pod["spec"].setdefault(kind, []).append(own)
    result, decisions = run(pod, profile(sidecars=(DAEMON,), volumes=(SYS,)), allowed=Allowed())
    assert result == pod
    assert outcomes(decisions) == [(Outcome.KEPT, Reason.USER_VALUE)]


FTS = ProfileSidecar(
    "tcpxo-daemon",
    "example.com/team/tcpxo/rxdm-dev:v1.0.21",
    mounts=(ProfileMount("sys", "/hostsysfs"),),
)
HOST_SYS = {"volumeMounts": [{"name": "host", "mountPath": "/hostsysfs/"}]}
BESIDE = {"restartPolicy": "Always"}
KEPT_OWN = (Outcome.KEPT, Reason.USER_VALUE)


@pytest.mark.parametrize(
    ("kind", "image", "tweaks"),
    [
        ("containers", "example.com/team/tcpxo/rxdm-dev:v1.0.21", {}),
        ("initContainers", "example.com/team/tcpxo/rxdm-dev:v1.0.14", BESIDE),
        ("containers", "example.com/team/tcpxo/rxdm-dev", {}),
        ("containers", "example.com/team/tcpxo/rxdm-dev@sha256:" + "0" * 64, {}),
        ("initContainers", "mirror.corp:5000/example.com/team/tcpxo/rxdm-dev:v1", BESIDE),
        ("containers", "localhost/tcpxo/rxdm-dev:v1", {}),
        ("containers", "tcpxo/rxdm-dev", {}),
        ("containers", "mirror.corp/copies/rxdm-dev:v1", HOST_SYS),
        ("initContainers", "rxdm-dev", {**HOST_SYS, **BESIDE}),
    ],
)
def test_a_daemon_of_the_users_own_is_known_by_its_image_under_any_name(
    kind: str, image: str, tweaks: Object
) -> None:
    own = minimal_container("their-daemon", image=image, **tweaks)
    pod = minimal_pod()
    pod["spec"].setdefault(kind, []).append(own)
    result, decisions = run(pod, profile(sidecars=(FTS,), volumes=(SYS,)), allowed=Allowed())
    assert result == pod
    assert outcomes(decisions) == [KEPT_OWN]
    assert decisions[0].message == (
        "container their-daemon of the pod's own runs the image of sidecar tcpxo-daemon, which is left out"
    )


@pytest.mark.parametrize(
    ("kind", "image", "tweaks"),
    [
        (
            "initContainers",
            "example.com/team/tcpxo/rxdm-dev:v1.0.21",
            {},
        ),  # it has ended when the training begins
        ("containers", "example.com/team/tcpxo/other:v1", HOST_SYS),
        ("containers", "other.io/vendor/rxdm-dev:v1", {}),
        ("containers", "rxdm-dev", {}),
        ("containers", "NOT AN IMAGE", HOST_SYS),
        ("containers", "", HOST_SYS),
    ],
)
def test_another_container_is_no_daemon_of_the_users_own(
    kind: str, image: str, tweaks: Object
) -> None:
    pod = minimal_pod()
    pod["spec"].setdefault(kind, []).append(minimal_container("other", image=image, **tweaks))
    _, decisions = run(pod, profile(sidecars=(FTS,), volumes=(SYS,)))
    assert outcomes(decisions) == [ADDED]


def test_neither_the_training_container_nor_another_sidecar_of_the_profile_stands_for_a_daemon() -> (
    None
):
    pod = minimal_pod()
    pod["spec"]["containers"][0]["image"] = FTS.image
    second = ProfileSidecar("second", FTS.image, args=("--second",))
    result, decisions = run(pod, profile(sidecars=(FTS, second), volumes=(SYS,)))
    assert [each["name"] for each in result["spec"]["initContainers"]] == ["tcpxo-daemon", "second"]
    assert outcomes(decisions) == [ADDED]
    assert decisions[0].message == "tcpxo-daemon, second run beside container trainer"


def test_says_which_volume_it_lacks() -> None:
    given = profile(
        sidecars=(
            ProfileSidecar("daemon", "example.com/daemon", mounts=(ProfileMount("x", "/x"),)),
        )
    )
    result, decisions = run(minimal_pod(), given)
    assert "volumeMounts" not in result["spec"]["initContainers"][0]
    assert outcomes(decisions) == [ADDED, (Outcome.WARNED, Reason.NO_VOLUME)]


@pytest.mark.parametrize(
    ("sidecar", "level", "why"),
    [
        (ProfileSidecar("daemon", "example.com/daemon", privileged=True), "baseline", "privileged"),
        (DAEMON, "baseline", "capabilities NET_ADMIN"),
        (
            ProfileSidecar("daemon", "example.com/daemon", capabilities=("CHOWN",)),
            "restricted",
            "capabilities CHOWN",
        ),
        (
            ProfileSidecar("daemon", "example.com/daemon", mounts=(ProfileMount("sys", "/s"),)),
            "baseline",
            "hostPath /sys",
        ),
    ],
)
def test_is_refused_where_pod_security_would_refuse_it(
    sidecar: ProfileSidecar, level: str, why: str
) -> None:
    pod, labels = minimal_pod(), {names.POD_SECURITY_ENFORCE: level}
    with pytest.raises(Denied) as raised:
        run(pod, profile(sidecars=(sidecar,), volumes=(SYS,)), labels=labels)
    assert raised.value.reason is Reason.POD_SECURITY
    assert f"gives sidecar daemon ({why}), which label" in raised.value.message
    result, decisions = run(
        pod, profile(sidecars=(sidecar,), volumes=(SYS,), pod_security="skip"), labels=labels
    )
    assert (result, outcomes(decisions)) == (pod, [SKIPPED, WARNED])
    result, decisions = run(
        pod, profile(sidecars=(sidecar,), volumes=(SYS,), pod_security="ignore"), labels=labels
    )
    assert outcomes(decisions) == [ADDED]


def test_baseline_takes_a_plain_one_and_the_capabilities_that_it_lists() -> None:
    given = profile(
        sidecars=(ProfileSidecar("daemon", "example.com/daemon", capabilities=("CHOWN",)),)
    )
    result, _ = run(minimal_pod(), given, labels={names.POD_SECURITY_ENFORCE: "baseline"})
    assert result["spec"]["initContainers"][0]["securityContext"] == {
        "capabilities": {"add": ["CHOWN"]}
    }


def test_is_confined_as_restricted_asks_of_each_container() -> None:
    own = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
    pod = minimal_pod(minimal_container("trainer", securityContext=own))
    given = profile(
        sidecars=(
            ProfileSidecar("daemon", "example.com/daemon", capabilities=("NET_BIND_SERVICE",)),
        )
    )
    result, _ = run(pod, given, labels={names.POD_SECURITY_ENFORCE: "restricted"})
    assert result["spec"]["initContainers"][0]["securityContext"] == {
        **own,
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
    }


def test_warns_where_the_pod_makes_it_run_as_another_user() -> None:
    pod = minimal_pod(securityContext={"runAsUser": 1000})
    _, decisions = run(pod, profile(sidecars=(DAEMON,), volumes=(SYS,)))
    assert outcomes(decisions) == [ADDED, (Outcome.WARNED, Reason.NOT_ROOT)]
    assert decisions[1].message == (
        "pod train-0: the pod runs as non-root, and so sidecar daemon, where what it may do is inert; "
        "leave runAsUser and runAsNonRoot to the containers"
    )
    _, decisions = run(pod, profile(sidecars=(PLAIN,)))
    assert outcomes(decisions) == [ADDED]


@pytest.mark.parametrize(
    ("allowed", "image"),
    [
        ((), "example.com/daemon"),
        (("example.com/dae",), "example.com/daemon"),
        (("example.com/daemon:1",), "example.com/daemon:2"),
        (("example.com/daemon:1",), "example.com/daemon"),
        (("example.com/daemon:1",), "example.com/daemon:1@sha256:" + "0" * 64),
        (("example.com/daemon",), "example.com/daemon/evil"),
        (("example.com/team/*",), "example.com/team-evil/daemon"),
        (("example.com/team/*",), "example.com/team"),
        (("example.com/team/*",), "example.com/team/../evil"),
        (("example.com",), "example.com:5000/evil"),
        (("daemon",), "evil.example.com/daemon"),
        (("a@sha256:" + "0" * 64,), "a@sha256:" + "1" * 64),
        (("example.com/*",), "example.com/a b"),
    ],
)
def test_an_image_that_is_not_allowed_is_denied(allowed: tuple[str, ...], image: str) -> None:
    with pytest.raises(Denied) as raised:
        run(
            minimal_pod(),
            profile(sidecars=(ProfileSidecar("d", image),)),
            allowed=Allowed((), allowed),
        )
    assert raised.value.reason is Reason.NOT_ALLOWED
    assert raised.value.message == (
        f"pod train-0: profile rdma: sidecar d: image {image} is not in allowed.sidecarImages of the Configuration; "
        "an admin of the cluster allows all of it there (config.yaml of ConfigMap fabric-injector-config; with Helm the value "
        "allowed), or removes it from the profile"
    )


@pytest.mark.parametrize(
    ("allowed", "image"),
    [
        ("example.com/daemon", "example.com/daemon"),
        ("example.com/daemon", "example.com/daemon:1.2"),
        ("example.com/daemon", "example.com/daemon:1.2@sha256:" + "0" * 64),
        ("example.com/daemon:1.2", "example.com/daemon:1.2"),
        ("example.com/team/*", "example.com/team/a/b:1"),
        ("example.com:5000/*", "example.com:5000/a"),
        ("busybox", "busybox:1.37"),
    ],
)
def test_an_image_that_is_allowed_runs(allowed: str, image: str) -> None:
    _, decisions = run(
        minimal_pod(),
        profile(sidecars=(ProfileSidecar("d", image),)),
        allowed=Allowed((), (allowed,)),
    )
    assert outcomes(decisions) == [ADDED]


def test_a_path_of_its_volumes_is_denied_too() -> None:
    with pytest.raises(Denied) as raised:
        run(
            minimal_pod(),
            profile(sidecars=(DAEMON,), volumes=(SYS,)),
            allowed=Allowed((), ("example.com/*",)),
        )
    assert raised.value.reason is Reason.NOT_ALLOWED
    assert "volume sys: hostPath /sys is not in allowed.hostPaths" in raised.value.message


def test_stands_behind_the_wait_step_and_stays_there_in_later_passes() -> None:
    """NcclConf makes the pod wait: the wait step comes first, and neither pass moves anything."""
    pod = minimal_pod(initContainers=[minimal_container("early")])
    given = profile(sidecars=(PLAIN,), nccl_conf=True, env={"NCCL_DEBUG": "INFO"})
    drawn = plan(pod, profile=given, allowed=EVERYTHING)
    first = Draft(pod)
    steps.apply(first, drawn, "1")
    order = [each["name"] for each in first.pod["spec"]["initContainers"]]
    assert order == ["early", names.WAIT_CONTAINER, "daemon"]
    again = Draft(first.pod)
    steps.apply(again, drawn, "1")
    assert again.operations == []


def test_leaves_windows_pods_and_profiles_without_sidecars_alone() -> None:
    pod = minimal_pod(os={"name": "windows"})
    result, decisions = run(pod, profile(sidecars=(PLAIN,)))
    assert (result, outcomes(decisions)) == (pod, [(Outcome.SKIPPED, Reason.WINDOWS)])
    result, decisions = run(minimal_pod(), profile())
    assert outcomes(decisions) == [(Outcome.SKIPPED, Reason.NOT_ASKED)]


def test_one_that_is_there_already_is_told_as_such() -> None:
    pod = minimal_pod(
        initContainers=[{"name": "daemon", "image": PLAIN.image, "restartPolicy": "Always"}]
    )
    result, decisions = run(pod, profile(sidecars=(PLAIN,)))
    assert (result, outcomes(decisions)) == (pod, [KEPT])
