"""Volumes: the profile's, where the Configuration and PodSecurity let the pod have them; what the user has stays."""

from typing import Any

import pytest
from webhook.core.injection.volumes import inject

from tests.core.builders import carry_out, outcomes, plan, profile
from tests.pods import minimal_pod
from webhook.core.draft import Draft
from webhook.core.errors import Denied
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.profiles import Allowed, HostPathSource, ProfileMount, ProfileVolume

ADDED, KEPT = (Outcome.INJECTED, Reason.ADDED), (Outcome.KEPT, Reason.ALREADY_THERE)
EVERYTHING = Allowed(host_paths=("/",))


def run(
    pod: Object, *volumes: ProfileVolume, mounts: tuple[ProfileMount, ...] = (), **tweaks: Any
) -> tuple[Object, list[Decision]]:
    fields = {key: tweaks.pop(key) for key in ("pod_security", "sidecars") if key in tweaks}
    given = profile(volumes=volumes, mounts=mounts, **fields)
    return carry_out(inject, pod, plan(pod, profile=given, **{"allowed": EVERYTHING, **tweaks}))


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
