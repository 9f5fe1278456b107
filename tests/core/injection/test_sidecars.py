"""Sidecars: containers of the profile that run beside the training one, where Configuration and PodSecurity allow it."""

from typing import Any

import pytest
from webhook.core.injection.sidecars import inject

from tests.core.builders import carry_out, plan, profile
from tests.pods import minimal_container, minimal_pod
from webhook.core import names
from webhook.core.draft import Draft
from webhook.core.errors import Denied
from webhook.core.injection import steps
from webhook.core.model import Decision, Object, Reason
from webhook.core.profiles import Allowed, Profile, ProfileSidecar

EVERYTHING = Allowed(("/",), ("example.com/*",))
PLAIN = ProfileSidecar("daemon", "example.com/daemon:1")


def run(pod: Object, given: Profile, **tweaks: Any) -> tuple[Object, list[Decision]]:
    return carry_out(inject, pod, plan(pod, profile=given, **{"allowed": EVERYTHING, **tweaks}))


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
