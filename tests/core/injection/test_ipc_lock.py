"""IPC_LOCK: memory for RDMA may be locked, where the process can use it and the namespace allows it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.builders import carry_out, message, outcomes, plan, profile
from tests.pods import minimal_container, minimal_pod
from webhook.core import names
from webhook.core.errors import Denied
from webhook.core.injection.ipc_lock import inject, may_lock
from webhook.core.model import Object, Outcome, Reason

ADDED = (Outcome.INJECTED, Reason.ADDED)
KEPT = (Outcome.KEPT, Reason.ALREADY_THERE)
PRIVILEGED = (Outcome.KEPT, Reason.PRIVILEGED)
NOT_ROOT = (Outcome.WARNED, Reason.NOT_ROOT)


def _pod(context: Object | None = None, **spec: Any) -> Object:
    fields: Object = {"securityContext": context} if context is not None else {}
    return minimal_pod(minimal_container(**fields), **spec)


@pytest.mark.parametrize(
    ("context", "wanted", "expected"),
    [
        pytest.param(None, {"capabilities": {"add": ["IPC_LOCK"]}}, [ADDED], id="no-context"),
        pytest.param({}, {"capabilities": {"add": ["IPC_LOCK"]}}, [ADDED], id="empty-context"),
        pytest.param(
            {"capabilities": {"add": None}},
            {"capabilities": {"add": ["IPC_LOCK"]}},
            [ADDED],
            id="null-list",
        ),
        pytest.param(
            {"runAsUser": 0, "capabilities": {"add": ["SYS_PTRACE"], "drop": ["ALL"]}},
            {"runAsUser": 0, "capabilities": {"add": ["SYS_PTRACE", "IPC_LOCK"], "drop": ["ALL"]}},
            [ADDED],
            id="beside-others",
        ),
        pytest.param(
            {"capabilities": {"add": ["ALL"], "drop": ["ALL"]}},
            {"capabilities": {"add": ["ALL", "IPC_LOCK"], "drop": ["ALL"]}},
            [ADDED],
            id="all-added-and-dropped",
        ),
        pytest.param(
            {"capabilities": {"add": ["CAP_IPC_LOCK"]}},
            {"capabilities": {"add": ["CAP_IPC_LOCK", "IPC_LOCK"]}},
            [ADDED],
            id="with-a-prefix-it-is-another-to-containerd",
        ),
        pytest.param(
            {"capabilities": {"add": ["ipc_lock"]}}, None, [KEPT], id="runtimes-ignore-case"
        ),
        pytest.param({"capabilities": {"add": ["all"]}}, None, [KEPT], id="all-in-any-case"),
        pytest.param(
            {"capabilities": {"add": ["all"], "drop": ["All"]}},
            {"capabilities": {"add": ["all", "IPC_LOCK"], "drop": ["All"]}},
            [ADDED],
            id="all-dropped-in-any-case",
        ),
        pytest.param(
            {"capabilities": {"drop": ["ipc_lock"]}},
            None,
            [(Outcome.WARNED, Reason.USER_VALUE)],
            id="dropped-in-any-case",
        ),
        pytest.param({"capabilities": {"add": ["IPC_LOCK"]}}, None, [KEPT], id="there"),
        pytest.param({"capabilities": {"add": ["ALL"]}}, None, [KEPT], id="all-is-there"),
        pytest.param({"privileged": True}, None, [PRIVILEGED], id="privileged"),
        pytest.param(
            {"privileged": False},
            {"privileged": False, "capabilities": {"add": ["IPC_LOCK"]}},
            [ADDED],
            id="not-privileged",
        ),
        pytest.param(
            {"capabilities": {"drop": ["IPC_LOCK"]}},
            None,
            [(Outcome.WARNED, Reason.USER_VALUE)],
            id="dropped-by-the-user",
        ),
    ],
)
def test_completes_the_training_container(
    context: Object | None, wanted: Object | None, expected: Any
) -> None:
    pod = _pod(context)
    result, decisions = carry_out(inject, pod, plan(pod))
    after = result["spec"]["containers"][0].get("securityContext")
    assert after == (context if wanted is None else wanted)
    assert outcomes(decisions) == expected
    assert may_lock(after) is (decisions[0].outcome is not Outcome.WARNED), (
        "what explain says of the pod later"
    )


def test_leaves_other_containers_alone() -> None:
    pod = minimal_pod(
        minimal_container("side"), minimal_container(), initContainers=[minimal_container("early")]
    )
    result, _ = carry_out(inject, pod, plan(pod, container=1))
    assert result["spec"]["containers"][0] == pod["spec"]["containers"][0]
    assert result["spec"]["initContainers"] == pod["spec"]["initContainers"]
    assert result["spec"]["containers"][1]["securityContext"] == {
        "capabilities": {"add": ["IPC_LOCK"]}
    }


@pytest.mark.parametrize(
    ("container", "pod_wide", "is_inert"),
    [
        pytest.param({}, {}, False, id="nothing-said"),
        pytest.param(
            {"runAsUser": 0}, {"runAsUser": 1000}, False, id="containers-root-over-the-pods-user"
        ),
        pytest.param({"runAsUser": 0}, {"runAsNonRoot": True}, False, id="containers-root"),
        pytest.param({"runAsUser": 1000}, {}, True, id="containers-user"),
        pytest.param(
            {"runAsUser": 1000}, {"runAsUser": 0}, True, id="containers-user-over-the-pods-root"
        ),
        pytest.param({}, {"runAsUser": 1000}, True, id="pods-user"),
        pytest.param({"runAsNonRoot": True}, {}, True, id="non-root-without-user"),
        pytest.param({}, {"runAsNonRoot": True}, True, id="pods-non-root"),
        pytest.param(
            {"runAsNonRoot": False},
            {"runAsNonRoot": True},
            False,
            id="containers-word-over-the-pods",
        ),
    ],
)
def test_warns_that_it_is_inert_in_a_non_root_container(
    container: Object, pod_wide: Object, is_inert: bool
) -> None:
    pod = _pod(container, securityContext=pod_wide)
    _, decisions = carry_out(inject, pod, plan(pod))
    assert outcomes(decisions) == [ADDED, *([NOT_ROOT] if is_inert else [])]


@pytest.mark.parametrize(
    ("context", "kept"),
    [
        pytest.param({"runAsUser": 1000, "capabilities": {"add": ["IPC_LOCK"]}}, KEPT, id="there"),
        pytest.param({"runAsUser": 1000, "privileged": True}, PRIVILEGED, id="privileged"),
    ],
)
def test_warns_where_it_is_there_and_inert(context: Object, kept: Any) -> None:
    pod = _pod(context)
    _, decisions = carry_out(inject, pod, plan(pod))
    assert outcomes(decisions) == [kept, NOT_ROOT]
    assert message(decisions, Outcome.WARNED) == (
        "pod train-0: container trainer runs as non-root, where IPC_LOCK is inert; run as root or raise the nodes' memlock limit"
    )


@pytest.mark.parametrize(("host_users", "is_inert"), [(False, True), (True, False), (None, False)])
def test_warns_that_it_is_inert_in_a_user_namespace(
    host_users: bool | None, is_inert: bool
) -> None:
    pod = _pod(hostUsers=host_users)
    _, decisions = carry_out(inject, pod, plan(pod))
    assert outcomes(decisions) == [
        ADDED,
        *([(Outcome.WARNED, Reason.USER_NAMESPACE)] if is_inert else []),
    ]


@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_denies_where_pod_security_would_refuse_it(level: str) -> None:
    pod = _pod()
    with pytest.raises(Denied) as caught:
        carry_out(inject, pod, plan(pod, labels={names.POD_SECURITY_ENFORCE: level}))
    assert caught.value.reason is Reason.POD_SECURITY
    assert caught.value.message == (
        "pod train-0: container trainer needs securityContext.capabilities.add IPC_LOCK, which label "
        f"pod-security.kubernetes.io/enforce: {level} of namespace research refuses; label the namespace privileged, "
        "or set ipcLock: false or podSecurity: skip or ignore in profile rdma"
    )


def test_leaves_only_ipc_lock_out_where_the_profile_says_skip() -> None:
    pod = _pod()
    labels = {names.POD_SECURITY_ENFORCE: "baseline"}
    result, decisions = carry_out(
        inject, pod, plan(pod, profile=profile(pod_security="skip"), labels=labels)
    )
    assert result == pod
    assert outcomes(decisions) == [
        (Outcome.SKIPPED, Reason.POD_SECURITY),
        (Outcome.WARNED, Reason.POD_SECURITY),
    ]


@pytest.mark.parametrize(
    ("pod_security", "level"),
    [
        ("ignore", "baseline"),
        ("ignore", "restricted"),
        ("deny", "privileged"),
        ("skip", "privileged"),
        ("deny", ""),
    ],
)
def test_injects_where_pod_security_is_ignored_or_allows_it(pod_security: str, level: str) -> None:
    pod = _pod()
    labels = {names.POD_SECURITY_ENFORCE: level}
    _, decisions = carry_out(
        inject, pod, plan(pod, profile=profile(pod_security=pod_security), labels=labels)
    )
    assert outcomes(decisions) == [ADDED]


@pytest.mark.parametrize("context", [{"privileged": True}, {"capabilities": {"add": ["IPC_LOCK"]}}])
def test_leaves_the_refusal_of_the_users_own_to_pod_security(context: Object) -> None:
    pod = _pod(context)
    result, decisions = carry_out(
        inject, pod, plan(pod, labels={names.POD_SECURITY_ENFORCE: "baseline"})
    )
    assert result == pod
    assert decisions[0].outcome is Outcome.KEPT


@pytest.mark.parametrize(
    ("ipc_lock", "spec", "reason"),
    [
        pytest.param(False, {}, Reason.DISABLED, id="profile"),
        pytest.param(True, {"os": {"name": "windows"}}, Reason.WINDOWS, id="windows"),
    ],
)
def test_skips(ipc_lock: bool, spec: Object, reason: Reason) -> None:
    pod = _pod(**spec)
    labels = {names.POD_SECURITY_ENFORCE: "baseline"}
    result, decisions = carry_out(
        inject, pod, plan(pod, profile=profile(ipc_lock=ipc_lock), labels=labels)
    )
    assert result == pod
    assert outcomes(decisions) == [(Outcome.SKIPPED, reason)]
