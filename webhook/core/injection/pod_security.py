"""Ask whether the namespace's level refuses what a step adds; do what the profile says."""

from typing import Final

from webhook.core import names
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Reason
from webhook.core.plan import Plan
from webhook.core.profiles import Profile, ProfileSidecar

REFUSING_LEVELS = ("baseline", "restricted")
"""Restricted refuses what baseline does. Source: kubernetes/pod-security-admission policy:
check_capabilities_baseline.go, without IPC_LOCK, check_privileged.go, check_hostPathVolumes.go."""

_BASELINE_CAPABILITIES: Final = frozenset(
    (
        "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
        "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
    )
)  # fmt: skip
"""Source: the same check_capabilities_baseline.go, and …_restricted.go for the next."""
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
    """Name what *level* refuses in a pod that has nothing of it: ``["IPC_LOCK", "volume sys"]``."""
    if level not in REFUSING_LEVELS:
        return []
    parts = ["IPC_LOCK"] if profile.ipc_lock else []
    parts += [f"volume {each.name}" for each in profile.volumes if each.host_path is not None]
    refused = [each.name for each in profile.sidecars if privileges_refused(each, level)]
    return parts + [f"sidecar {name}" for name in refused]


def refusing_level(plan: Plan) -> str:
    """Return the namespace's level if it may refuse what we add; empty where ignored."""
    level = plan.namespace.labels.get(names.POD_SECURITY_ENFORCE)
    return level if level in REFUSING_LEVELS and plan.profile.pod_security != "ignore" else ""


def label_of(plan: Plan) -> str:
    """Name the label that says the level, for messages."""
    level = plan.namespace.labels.get(names.POD_SECURITY_ENFORCE)
    return f"label {names.POD_SECURITY_ENFORCE}: {level} of namespace {plan.namespace.name}"


def refuse(plan: Plan, step: Row, what: str) -> list[Decision]:
    """Leave *what* out, such as ``volume sys (hostPath /sys)``, with a warning.

    Raises Denied for ``podSecurity: deny``.
    """
    label, profile = label_of(plan), plan.profile.name
    if plan.profile.pod_security == "skip":
        return left_out(plan, step, what, f"{what} of profile {profile} is left out")
    message = (
        f"profile {profile} gives {what}, which {label} refuses; "
        f"label the namespace privileged, or set podSecurity: skip or ignore in profile {profile}"
    )
    raise step.denied(plan, Reason.POD_SECURITY, message)


def left_out(plan: Plan, step: Row, what: str, warning: str) -> list[Decision]:
    """Say that the pod does not get *what*, and warn of it."""
    label = label_of(plan)
    return [
        step.skipped(Reason.POD_SECURITY, f"{what} is left out, because {label} refuses it"),
        step.warned(plan, Reason.POD_SECURITY, f"{warning}: {label} refuses it"),
    ]
