"""IPC_LOCK: memory for RDMA may be locked, where the process can use it and the namespace allows it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.core.builders import carry_out, message, outcomes, plan, profile
from tests.pods import minimal_container, minimal_pod
from tests.tables import cases
from webhook.core import names
from webhook.core.errors import Denied
from webhook.core.injection.ipc_lock import inject, may_lock
from webhook.core.model import Object, Outcome, Reason

ADDED = (Outcome.INJECTED, Reason.ADDED)
KEPT = (Outcome.KEPT, Reason.ALREADY_THERE)
PRIVILEGED = (Outcome.KEPT, Reason.PRIVILEGED)
NOT_ROOT = (Outcome.WARNED, Reason.NOT_ROOT)
OUTCOMES = {
    "added": ADDED,
    "kept": KEPT,
    "privileged": PRIVILEGED,
    "dropped": (Outcome.WARNED, Reason.USER_VALUE),
}


def _pod(context: Object | None = None, **spec: Any) -> Object:
    fields: Object = {"securityContext": context} if context is not None else {}
    return minimal_pod(minimal_container(**fields), **spec)


@pytest.mark.parametrize(
    ("context", "wanted", "outcome"),
    cases("""
no-context | null | ["IPC_LOCK"] | added
empty-context | {} | ["IPC_LOCK"] | added
null-list | {"capabilities": {"add": null}} | ["IPC_LOCK"] | added
beside-others | {"runAsUser": 0, "capabilities": {"add": ["SYS_PTRACE"], "drop": ["ALL"]}} | ["SYS_PTRACE", "IPC_LOCK"] | added
all-added-and-dropped | {"capabilities": {"add": ["ALL"], "drop": ["ALL"]}} | ["ALL", "IPC_LOCK"] | added
with-a-prefix-it-is-another-to-containerd | {"capabilities": {"add": ["CAP_IPC_LOCK"]}} | ["CAP_IPC_LOCK", "IPC_LOCK"] | added
runtimes-ignore-case | {"capabilities": {"add": ["ipc_lock"]}} |  | kept
all-in-any-case | {"capabilities": {"add": ["all"]}} |  | kept
all-dropped-in-any-case | {"capabilities": {"add": ["all"], "drop": ["All"]}} | ["all", "IPC_LOCK"] | added
dropped-in-any-case | {"capabilities": {"drop": ["ipc_lock"]}} |  | dropped
there | {"capabilities": {"add": ["IPC_LOCK"]}} |  | kept
all-is-there | {"capabilities": {"add": ["ALL"]}} |  | kept
privileged | {"privileged": true} |  | privileged
not-privileged | {"privileged": false} | ["IPC_LOCK"] | added
dropped-by-the-user | {"capabilities": {"drop": ["IPC_LOCK"]}} |  | dropped
"""),
)
def test_completes_the_training_container(context: str, wanted: str, outcome: str) -> None:
    given = json.loads(context)
    pod = _pod(given)
    result, decisions = carry_out(inject, pod, plan(pod))
    after = result["spec"]["containers"][0].get("securityContext")
    if wanted:
        capabilities = (given or {}).get("capabilities", {})
        given = {**(given or {}), "capabilities": {**capabilities, "add": json.loads(wanted)}}
    assert after == given
    assert outcomes(decisions) == [OUTCOMES[outcome]]
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
    cases("""
nothing-said | {} | {} | no
containers-root-over-the-pods-user | {"runAsUser": 0} | {"runAsUser": 1000} | no
containers-root | {"runAsUser": 0} | {"runAsNonRoot": true} | no
containers-user | {"runAsUser": 1000} | {} | yes
containers-user-over-the-pods-root | {"runAsUser": 1000} | {"runAsUser": 0} | yes
pods-user | {} | {"runAsUser": 1000} | yes
non-root-without-user | {"runAsNonRoot": true} | {} | yes
pods-non-root | {} | {"runAsNonRoot": true} | yes
containers-word-over-the-pods | {"runAsNonRoot": false} | {"runAsNonRoot": true} | no
"""),
)
def test_warns_that_it_is_inert_in_a_non_root_container(
    container: str, pod_wide: str, is_inert: str
) -> None:
    pod = _pod(json.loads(container), securityContext=json.loads(pod_wide))
    _, decisions = carry_out(inject, pod, plan(pod))
    assert outcomes(decisions) == [ADDED, *([NOT_ROOT] if is_inert == "yes" else [])]


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
