"""Host devices: a mounted /dev/infiniband that the device cgroup refuses to open is told, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.builders import attachment, carry_out, message, outcomes, plan, profile
from tests.core.test_review import judge
from tests.pods import minimal_container, minimal_pod
from tests.worlds import profiles, world
from webhook.core import names
from webhook.core.injection.host_devices import inject
from webhook.core.model import Object, Outcome, Reason

WARNED = [(Outcome.WARNED, Reason.HOST_DEVICES)]
SKIPPED = [(Outcome.SKIPPED, Reason.NOT_ASKED)]
HELD: Object = {"resources": {"limits": {"rdma/ib": "1"}}}


def _pod(path: str = "/dev/infiniband", volume: str = "ib", **fields: Any) -> Object:
    mounted = [{"name": "ib", "mountPath": "/dev/infiniband"}]
    container = minimal_container(volumeMounts=mounted, **fields)
    return minimal_pod(
        container,
        volumes=[{"name": volume, "hostPath": {"path": path}}, {"name": "tmp", "emptyDir": {}}],
    )


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(_pod(), WARNED, id="mounted"),
        pytest.param(_pod("/dev/infiniband/"), WARNED, id="slash"),
        pytest.param(_pod("/dev/infiniband/uverbs0"), WARNED, id="one-device"),
        pytest.param(_pod("/dev"), WARNED, id="all-devices"),
        pytest.param(_pod(securityContext={"privileged": False}), WARNED, id="not-privileged"),
        pytest.param(
            _pod(resources={"limits": {"nvidia.com/gpu": "8"}}), WARNED, id="another-device"
        ),
        pytest.param(
            _pod(securityContext={"privileged": True}),
            [(Outcome.KEPT, Reason.PRIVILEGED)],
            id="privileged",
        ),
        pytest.param(_pod(**HELD), [(Outcome.KEPT, Reason.ALREADY_THERE)], id="device-plugin"),
        pytest.param(_pod("/dev/infinibandx"), SKIPPED, id="another-folder"),
        pytest.param(_pod(volume="other"), SKIPPED, id="not-mounted"),
        pytest.param(
            minimal_pod(volumes=[{"name": "a", "hostPath": None}, {"name": "b"}]),
            SKIPPED,
            id="no-host-path",
        ),
    ],
)
def test_tells_devices_that_cannot_be_opened(pod: Object, expected: Any) -> None:
    result, decisions = carry_out(inject, pod, plan(pod, attachment(resource="rdma/ib")))
    assert result == pod
    assert outcomes(decisions) == expected


EFA = "vpc.amazonaws.com/efa"


@pytest.mark.parametrize(
    ("asked", "given"),
    [({EFA: "32"}, {EFA: "32"}), ({EFA: "32"}, {"rdma/ib": "1"}), ({}, {EFA: "32"})],
    ids=["both", "the job itself", "the profile, which could not give it"],
)
def test_the_mount_must_go_where_the_fabric_is_efa(asked: Object, given: Object) -> None:
    pod = _pod(resources={"limits": asked})
    _, decisions = carry_out(inject, pod, plan(pod, profile=profile(resources=given)))
    told = message(decisions, Outcome.WARNED)
    assert "mounts /dev/infiniband of the node beside vpc.amazonaws.com/efa" in told
    assert told.endswith("remove the mount: the plugin brings the devices")
    assert "name a network" not in told


def test_a_privileged_container_may_open_all_cards_beside_efa() -> None:
    pod = _pod(resources={"limits": {EFA: "32"}}, securityContext={"privileged": True})
    _, decisions = carry_out(inject, pod, plan(pod))
    assert outcomes(decisions) == [(Outcome.KEPT, Reason.PRIVILEGED)]


def test_counts_the_devices_of_the_profile() -> None:
    pod = _pod(**HELD)
    _, decisions = carry_out(
        inject, pod, plan(pod, profile=profile(resources={"rdma/ib": "1", "hugepages-2Mi": "2Mi"}))
    )
    assert message(decisions, Outcome.KEPT).startswith(
        "container trainer asks for rdma/ib, which allows"
    )


def test_looks_at_the_training_container_alone() -> None:
    pod = _pod()
    pod["spec"]["containers"].append(minimal_container("side"))
    _, decisions = carry_out(inject, pod, plan(pod, container=1))
    assert outcomes(decisions) == SKIPPED


def test_a_second_pass_tells_the_same_of_a_volume_that_a_sidecar_brings() -> None:
    """The training container mounts it by the profile's name for it."""
    using = profiles(
        """
allowed: {hostPaths: [/dev/infiniband], sidecarImages: [a.io/*]}
profiles:
  rdma:
    resources: {rdma/hca: 1}
    volumes: [{name: ib, hostPath: {path: /dev/infiniband}}]
    sidecars: [{name: daemon, image: "a.io/b:1", mounts: [{name: ib, mountPath: /ib}]}]
"""
    )
    container = minimal_container(
        "trainer", volumeMounts=[{"name": "ib", "mountPath": "/dev/infiniband"}]
    )
    pod = minimal_pod(container, metadata={"labels": {names.PROFILE: "rdma"}})
    verdict = judge(pod, world(profile="rdma"), using)
    [decision] = [each for each in verdict.decisions if each.step == "host-devices"]
    assert (verdict.allowed, decision.reason) == (True, Reason.ALREADY_THERE)
