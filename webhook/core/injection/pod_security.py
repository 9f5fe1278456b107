"""Ask whether the namespace's PodSecurity level would refuse what a step adds, and do then what the profile's podSecurity says."""

from __future__ import annotations

from typing import Final

from webhook.core import names
from webhook.core.errors import Denied
from webhook.core.model import Decision, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.profiles import Profile, ProfileSidecar

REFUSING_LEVELS = ("baseline", "restricted")
"""Source: kubernetes/pod-security-admission policy: check_capabilities_baseline.go, where IPC_LOCK is not on the list,
check_privileged.go, check_hostPathVolumes.go; restricted refuses what baseline does."""

_BASELINE_CAPABILITIES: Final = frozenset(
    (
        "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP", "SETGID",
        "SETPCAP", "SETUID", "SYS_CHROOT",
    )
)  # fmt: skip
"""Source: kubernetes/pod-security-admission policy/check_capabilities_baseline.go, and …_restricted.go for the next."""
_CAPABILITIES: Final = {
    "baseline": _BASELINE_CAPABILITIES,
    "restricted": frozenset(("NET_BIND_SERVICE",)),
}


def privileges_refused(sidecar: ProfileSidecar, level: str) -> str:
    """Say what a sidecar may do that *level* refuses; empty where it takes it."""
    if sidecar.privileged:
        return "privileged"
    refused = [each for each in sidecar.capabilities if each not in _CAPABILITIES[level]]
    return f"capabilities {', '.join(refused)}" if refused else ""


def refused_parts(profile: Profile, level: str) -> list[str]:
    """Name what of a profile *level* refuses in a pod that has nothing of it itself: ``["IPC_LOCK", "volume sys"]``."""
    if level not in REFUSING_LEVELS:
        return []
    parts = ["IPC_LOCK"] if profile.ipc_lock else []
    parts += [f"volume {volume.name}" for volume in profile.volumes if volume.host_path is not None]
    return parts + [
        f"sidecar {each.name}" for each in profile.sidecars if privileges_refused(each, level)
    ]


def refusing_level(plan: Plan) -> str:
    """Return the level that the namespace is held to, if it may refuse anything that we add; empty where the profile ignores that."""
    level = plan.namespace.labels.get(names.POD_SECURITY_ENFORCE)
    return level if level in REFUSING_LEVELS and plan.profile.pod_security != "ignore" else ""


def label_of(plan: Plan) -> str:
    """Name the label that says the level, for messages."""
    level = plan.namespace.labels.get(names.POD_SECURITY_ENFORCE)
    return f"label {names.POD_SECURITY_ENFORCE}: {level} of namespace {plan.namespace.name}"


def refuse(plan: Plan, step: str, what: str) -> list[Decision]:
    """Leave *what* out, such as ``volume sys (hostPath /sys)``, with a warning. Raises Denied for ``podSecurity: deny``."""
    label, profile = label_of(plan), plan.profile.name
    if plan.profile.pod_security == "skip":
        warning = (
            f"pod {plan.pod_name}: {what} of profile {profile} is left out: {label} refuses it"
        )
        return [
            Decision(
                step,
                Outcome.SKIPPED,
                Reason.POD_SECURITY,
                f"{what} is left out, because {label} refuses it",
            ),
            Decision(step, Outcome.WARNED, Reason.POD_SECURITY, warning),
        ]
    message = (
        f"pod {plan.pod_name}: profile {profile} gives {what}, which {label} refuses; "
        f"label the namespace privileged, or set podSecurity: skip or ignore in profile {profile}"
    )
    raise Denied(step, Reason.POD_SECURITY, message)
