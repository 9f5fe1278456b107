"""Let the training container lock memory: registering RDMA memory pins pages beyond any default limit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from webhook.core.draft import Draft
from webhook.core.errors import Denied
from webhook.core.injection.pod_security import label_of, refusing_level
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.podspec import containers

STEP: Final = "ipc-lock"
CAPABILITY: Final = "IPC_LOCK"


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Add IPC_LOCK to the training container's capabilities.

    Raises Denied where the namespace's PodSecurity level would refuse it and the profile says ``podSecurity: deny``.
    """
    profile = plan.profile
    if not profile.ipc_lock:
        return [
            Decision(
                STEP, Outcome.SKIPPED, Reason.DISABLED, f"profile {profile.name} has ipcLock: false"
            )
        ]
    if draft.get("spec", "os", "name") == "windows":
        return [
            Decision(
                STEP, Outcome.SKIPPED, Reason.WINDOWS, "a Windows pod has no Linux capabilities"
            )
        ]
    context = containers(draft.pod)[plan.container].get("securityContext") or {}
    if context.get("privileged"):
        message = f"container {plan.container_name} is privileged, which includes {CAPABILITY}"
        return [
            Decision(STEP, Outcome.KEPT, Reason.PRIVILEGED, message),
            *_inert(draft, plan, context),
        ]
    if CAPABILITY in _listed(context, "drop"):
        message = _about(
            plan,
            f"drops {CAPABILITY} itself, and a drop outweighs an add; remove it from drop to use RDMA",
        )
        return [Decision(STEP, Outcome.WARNED, Reason.USER_VALUE, message)]
    if may_lock(context):
        message = f"container {plan.container_name} has {CAPABILITY} already"
        return [
            Decision(STEP, Outcome.KEPT, Reason.ALREADY_THERE, message),
            *_inert(draft, plan, context),
        ]
    if refusing_level(plan):
        return _refused(plan)
    draft.append(
        ("spec", "containers", plan.container, "securityContext", "capabilities", "add"), CAPABILITY
    )
    message = f"container {plan.container_name} may lock memory"
    return [Decision(STEP, Outcome.INJECTED, Reason.ADDED, message), *_inert(draft, plan, context)]


def _listed(context: Object, key: str) -> tuple[str, ...]:
    """Read the capabilities of ``add`` or ``drop`` as runtimes do, whatever their case.

    Source: containerd internal/cri/opts WithCapabilities: upper case, and ``CAP_`` put before it, whatever is there.
    """
    return tuple(map(str.upper, (context.get("capabilities") or {}).get(key) or ()))


def _refused(plan: Plan) -> list[Decision]:
    label = label_of(plan)
    if plan.profile.pod_security == "skip":
        message = f"{CAPABILITY} is left out, because {label} refuses it"
        warning = _about(plan, f"gets no {CAPABILITY}: {label} refuses it")
        return [
            Decision(STEP, Outcome.SKIPPED, Reason.POD_SECURITY, message),
            Decision(STEP, Outcome.WARNED, Reason.POD_SECURITY, warning),
        ]
    message = (
        f"needs securityContext.capabilities.add {CAPABILITY}, which {label} refuses; "
        f"label the namespace privileged, or set ipcLock: false or podSecurity: skip or ignore in profile {plan.profile.name}"
    )
    raise Denied(STEP, Reason.POD_SECURITY, _about(plan, message))


def _inert(draft: Draft, plan: Plan, context: Object) -> list[Decision]:
    """Warn where the process will not hold the capability that its container has.

    Source: KEP-2763 (ambient capabilities): added ones reach the bounding set of a non-root process, not its effective set.
    """
    found = []
    if is_not_root(context, draft.get("spec", "securityContext") or {}):
        message = f"runs as non-root, where {CAPABILITY} is inert; run as root or raise the nodes' memlock limit"
        found.append(Decision(STEP, Outcome.WARNED, Reason.NOT_ROOT, _about(plan, message)))
    if draft.get("spec", "hostUsers") is False:
        message = f"has hostUsers: false, where {CAPABILITY} is inert; remove it or raise the nodes' memlock limit"
        found.append(Decision(STEP, Outcome.WARNED, Reason.USER_NAMESPACE, _about(plan, message)))
    return found


def may_lock(context: Object) -> bool:
    """Tell whether a container's securityContext gives it IPC_LOCK."""
    if context.get("privileged"):
        return True
    added, dropped = _listed(context, "add"), _listed(context, "drop")
    return CAPABILITY not in dropped and (
        CAPABILITY in added or ("ALL" in added and "ALL" not in dropped)
    )


def is_not_root(context: Object, pod_context: Object) -> bool:
    """Tell whether a container runs as another user than root, as its own securityContext or its pod's says."""
    user = context.get("runAsUser")
    if user is None:
        user = pod_context.get("runAsUser")
    if user is not None:
        return bool(user != 0)
    non_root = context.get("runAsNonRoot")
    return bool(pod_context.get("runAsNonRoot") if non_root is None else non_root)


def _about(plan: Plan, message: str) -> str:
    return f"pod {plan.pod_name}: container {plan.container_name} {message}"
