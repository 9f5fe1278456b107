"""Shared memory: a tmpfs at /dev/shm, found by path and never by name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.builders import carry_out, message, outcomes, plan, profile, volume_at
from tests.pods import minimal_container, minimal_pod
from webhook.core.injection.shared_memory import inject
from webhook.core.model import Object, Outcome, Reason
from webhook.core.profiles import Profile, SharedMemory

ADDED = (Outcome.INJECTED, Reason.ADDED)
KEPT = (Outcome.KEPT, Reason.ALREADY_THERE)
MEMORY = {"emptyDir": {"medium": "Memory"}}


def _pod(*paths: str, source: Object | None = None, volume: str = "dshm", **fields: Any) -> Object:
    """Return a pod that mounts *volume*, of *source*, at each of *paths*."""
    mounts = [{"name": volume, "mountPath": path} for path in paths]
    container = minimal_container(volumeMounts=mounts, **fields)
    return minimal_pod(container, volumes=[{"name": volume, **(source or MEMORY)}])


def _sized(size_limit: str | None, *, limit_existing: bool = False) -> Profile:
    return profile(shared_memory=SharedMemory(size_limit=size_limit, limit_existing=limit_existing))


@pytest.mark.parametrize(
    ("size_limit", "empty_dir"),
    [(None, {"medium": "Memory"}), ("16Gi", {"medium": "Memory", "sizeLimit": "16Gi"})],
)
@pytest.mark.parametrize(
    "spec", [{}, {"volumes": None}, {"volumes": [{"name": "data", "emptyDir": {}}]}]
)
def test_mounts_a_tmpfs(size_limit: str | None, empty_dir: Object, spec: Object) -> None:
    pod = minimal_pod(minimal_container("side"), minimal_container(), **spec)
    result, decisions = carry_out(inject, pod, plan(pod, container=1, profile=_sized(size_limit)))
    assert volume_at(result, "/dev/shm", 1) == {
        "name": "fabric-injector-shm",
        "emptyDir": empty_dir,
    }
    assert result["spec"]["volumes"][:-1] == (spec.get("volumes") or [])
    assert result["spec"]["containers"][0] == pod["spec"]["containers"][0]
    assert outcomes(decisions) == [ADDED]


@pytest.mark.parametrize(
    "path",
    ["/dev/shm", "/dev/shm/", "//dev/shm", "/dev//shm", "/dev/./shm", "dev/shm", "/dev/x/../shm"],
)
@pytest.mark.parametrize(
    "source",
    [
        MEMORY,
        {"emptyDir": {}},
        {"emptyDir": None},
        {"hostPath": {"path": "/dev/shm"}},
        {"csi": {"driver": "x"}},
    ],
)
def test_keeps_any_mount_at_that_path(path: str, source: Object) -> None:
    pod = _pod(path, source=source)
    result, decisions = carry_out(inject, pod, plan(pod, profile=_sized("16Gi")))
    assert result == pod
    assert outcomes(decisions) == [KEPT]


@pytest.mark.parametrize(
    "path", ["/dev/shm2", "/dev", "/data/dev/shm", "/dev/shm/sub", "/dev/SHM", "/shm"]
)
def test_is_not_misled_by_other_paths(path: str) -> None:
    pod = _pod(path)
    result, decisions = carry_out(inject, pod, plan(pod))
    assert volume_at(result, "/dev/shm")["name"] == "fabric-injector-shm"
    assert outcomes(decisions) == [ADDED]


def test_is_not_misled_by_another_containers_mount() -> None:
    pod = minimal_pod(
        minimal_container(),
        minimal_container("side", volumeMounts=[{"name": "dshm", "mountPath": "/dev/shm"}]),
        volumes=[{"name": "dshm", **MEMORY}],
    )
    result, _ = carry_out(inject, pod, plan(pod))
    assert volume_at(result, "/dev/shm")["name"] == "fabric-injector-shm"


@pytest.mark.parametrize(
    ("source", "size_limit", "limit_existing", "wanted"),
    [
        pytest.param(MEMORY, "8Gi", True, {"medium": "Memory", "sizeLimit": "8Gi"}, id="limited"),
        pytest.param(MEMORY, "8Gi", False, None, id="not-asked"),
        pytest.param(MEMORY, None, True, None, id="no-size"),
        pytest.param(
            {"emptyDir": {"medium": "Memory", "sizeLimit": None}},
            "8Gi",
            True,
            {"medium": "Memory", "sizeLimit": "8Gi"},
            id="null",
        ),
        pytest.param(
            {"emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}},
            "8Gi",
            True,
            None,
            id="limited-by-the-user",
        ),
        pytest.param({"emptyDir": {}}, "8Gi", True, None, id="on-disk"),
        pytest.param({"hostPath": {"path": "/dev/shm"}}, "8Gi", True, None, id="host-path"),
    ],
)
def test_limits_an_existing_tmpfs_only_where_told(
    source: Any, size_limit: Any, limit_existing: bool, wanted: Any
) -> None:
    pod = _pod("/dev/shm/", source=source)
    result, decisions = carry_out(
        inject, pod, plan(pod, profile=_sized(size_limit, limit_existing=limit_existing))
    )
    assert result["spec"]["volumes"] == (
        [{"name": "dshm", "emptyDir": wanted}] if wanted else pod["spec"]["volumes"]
    )
    assert outcomes(decisions) == [ADDED if wanted else KEPT]


def test_limits_its_own_volume_like_any_other() -> None:
    pod = minimal_pod(volumes=[{"name": "fabric-injector-shm", **MEMORY}])
    result, _ = carry_out(inject, pod, plan(pod, profile=_sized("8Gi", limit_existing=True)))
    assert volume_at(result, "/dev/shm")["emptyDir"] == {"medium": "Memory", "sizeLimit": "8Gi"}


def test_warns_of_two_mounts_at_that_path() -> None:
    pod = _pod("/dev/shm", "/dev/shm/")
    result, decisions = carry_out(
        inject, pod, plan(pod, profile=_sized("8Gi", limit_existing=True))
    )
    assert result == pod
    assert outcomes(decisions) == [KEPT, (Outcome.WARNED, Reason.INVALID_POD)]
    assert message(decisions, Outcome.WARNED) == (
        "pod train-0: container trainer mounts /dev/shm 2 times (dshm, dshm); keep one of the mounts"
    )


@pytest.mark.parametrize(
    ("there", "name"),
    [
        pytest.param(
            {"fabric-injector-shm": {"configMap": {"name": "x"}}},
            "fabric-injector-shm-2",
            id="taken",
        ),
        pytest.param(
            {"fabric-injector-shm": {"emptyDir": {}}, "fabric-injector-shm-2": {"emptyDir": {}}},
            "fabric-injector-shm-3",
            id="taken-twice",
        ),
        pytest.param({"fabric-injector-shm": MEMORY}, "fabric-injector-shm", id="ours-is-there"),
        pytest.param(
            {"fabric-injector-shm": {"emptyDir": {}}, "fabric-injector-shm-2": MEMORY},
            "fabric-injector-shm-2",
            id="reused",
        ),
    ],
)
def test_takes_a_free_name_or_its_own_volume(there: dict[str, Object], name: str) -> None:
    pod = minimal_pod(volumes=[{"name": key, **source} for key, source in there.items()])
    result, _ = carry_out(inject, pod, plan(pod))
    assert volume_at(result, "/dev/shm") == {"name": name, **MEMORY}
    assert len(result["spec"]["volumes"]) == len(there | {name: {}})


@pytest.mark.parametrize("place", ["containers", "initContainers"])
def test_leaves_a_volume_of_its_name_to_whoever_mounts_it_elsewhere(place: str) -> None:
    """A scratch tmpfs of 1Mi would otherwise become /dev/shm."""
    pod = minimal_pod(
        volumes=[
            {"name": "fabric-injector-shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}
        ]
    )
    other = minimal_container(
        "other", volumeMounts=[{"name": "fabric-injector-shm", "mountPath": "/scratch"}]
    )
    pod["spec"].setdefault(place, []).append(other)
    result, _ = carry_out(inject, pod, plan(pod))
    assert volume_at(result, "/dev/shm") == {"name": "fabric-injector-shm-2", **MEMORY}


def test_shares_its_volume_with_containers_that_mount_it_at_the_same_path() -> None:
    mounts = [
        {"name": "fabric-injector-shm", "mountPath": "/dev/shm"},
        {"name": "data", "mountPath": "/data"},
    ]
    pod = minimal_pod(
        minimal_container(),
        minimal_container("other", volumeMounts=mounts),
        volumes=[{"name": "fabric-injector-shm", **MEMORY}, {"name": "data", "emptyDir": {}}],
    )
    result, _ = carry_out(inject, pod, plan(pod))
    assert volume_at(result, "/dev/shm", 0) == volume_at(result, "/dev/shm", 1)


@pytest.mark.parametrize(
    ("size_limit", "memory", "is_oversized"),
    [
        ("16Gi", "8Gi", True),
        ("16Gi", 17179869183, True),
        ("16Gi", "16384Mi", False),
        ("16Gi", "16Gi", False),
        ("16Gi", "64G", False),
        ("16Gi", None, False),
        ("16Gi", "much", False),
        (None, "8Gi", False),
    ],
)
def test_warns_of_more_than_the_containers_memory(
    size_limit: Any, memory: Any, is_oversized: bool
) -> None:
    pod = minimal_pod(minimal_container(resources={"limits": {"memory": memory} if memory else {}}))
    result, decisions = carry_out(inject, pod, plan(pod, profile=_sized(size_limit)))
    oversized = [(Outcome.WARNED, Reason.OVERSIZED)] if is_oversized else []
    assert outcomes(decisions) == [ADDED, *oversized]
    _, repeated = carry_out(inject, result, plan(result, profile=_sized(size_limit)))
    assert outcomes(repeated) == [KEPT, *oversized]


@pytest.mark.parametrize(
    ("own", "whole", "told"),
    [
        (None, "8Gi", "the pod's own (spec.resources) memory limit 8Gi"),
        ("32Gi", "8Gi", "the pod's own (spec.resources) memory limit 8Gi"),
        ("4Gi", "8Gi", "container trainer's memory limit 4Gi"),
        (None, "16Gi", None),
        (None, "much", None),
        ("32Gi", None, None),
    ],
)
def test_warns_of_more_than_the_memory_of_the_whole_pod(
    own: Any, whole: Any, told: str | None
) -> None:
    resources = [{"limits": {"memory": memory}} if memory else None for memory in (own, whole)]
    pod = minimal_pod(minimal_container(resources=resources[0]), resources=resources[1])
    _, decisions = carry_out(inject, pod, plan(pod, profile=_sized("16Gi")))
    warned = [decision.message for decision in decisions if decision.outcome is Outcome.WARNED]
    assert warned == (
        [f"pod train-0: /dev/shm of 16Gi exceeds {told}; raise the limit"] if told else []
    )


def test_does_not_judge_the_users_own_size() -> None:
    source = {"emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}}
    pod = _pod("/dev/shm", source=source, resources={"limits": {"memory": "8Gi"}})
    _, decisions = carry_out(inject, pod, plan(pod, profile=_sized("16Gi")))
    assert outcomes(decisions) == [KEPT]


def test_leaves_a_mount_of_no_volume_to_the_api_server() -> None:
    pod = _pod("/dev/shm", resources={"limits": {"memory": "8Gi"}})
    pod["spec"]["volumes"][0]["name"] = "other"
    result, _ = carry_out(inject, pod, plan(pod, profile=_sized("16Gi", limit_existing=True)))
    assert result == pod


@pytest.mark.parametrize(
    ("settings", "spec", "reason", "why"),
    [
        pytest.param(
            SharedMemory(enabled=False),
            {},
            Reason.DISABLED,
            "profile rdma has sharedMemory.enabled: false",
            id="profile",
        ),
        pytest.param(
            SharedMemory(),
            {"hostIPC": True},
            Reason.HOST_IPC,
            "the pod has hostIPC: true and so the node's own /dev/shm, which a mount would hide",
            id="host-ipc",
        ),
        pytest.param(
            SharedMemory(),
            {"os": {"name": "windows"}},
            Reason.WINDOWS,
            "a Windows pod has no /dev/shm",
            id="windows",
        ),
    ],
)
def test_skips(settings: SharedMemory, spec: Object, reason: Reason, why: str) -> None:
    pod = minimal_pod(**spec)
    result, decisions = carry_out(inject, pod, plan(pod, profile=profile(shared_memory=settings)))
    assert result == pod
    assert outcomes(decisions) == [(Outcome.SKIPPED, reason)]
    assert message(decisions, Outcome.SKIPPED) == why
