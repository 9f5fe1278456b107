"""Let the training container lock memory: RDMA memory pins pages beyond any default limit."""

from collections.abc import Iterator
from typing import Final

from webhook.core import podspec
from webhook.core.draft import Draft
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Object, Reason
from webhook.core.plan import Plan

STEP: Final = Row("ipc-lock")
CAPABILITY: Final = "IPC_LOCK"


def inject(draft: Draft, plan: Plan) -> Iterator[Decision]:
    """Add IPC_LOCK to the training container's capabilities, whatever the profile gives it."""
    profile, who = plan.profile, f"container {plan.container_name}"
    context = plan.trainer(draft.pod).get("securityContext") or {}
    above = draft.get("spec", "securityContext") or {}
    added, dropped = _listed(context, "add"), _listed(context, "drop")
    if not profile.ipc_lock:
        yield STEP.skipped(Reason.DISABLED, f"profile {profile.name} has ipcLock: false")
        return
    if context.get("privileged"):
        message = f"{who} is privileged, which includes {CAPABILITY}"
        yield STEP.kept(Reason.PRIVILEGED, message)
    elif CAPABILITY in dropped:
        message = (
            f"{who} drops {CAPABILITY} itself, and a drop outweighs an add; remove it from drop "
            "to use RDMA"
        )
        yield STEP.warned(plan, Reason.USER_VALUE, message)
        return
    elif CAPABILITY in added or ("ALL" in added and "ALL" not in dropped):
        yield STEP.already_there(f"{who} has {CAPABILITY} already")
    else:
        draft.append(plan.in_trainer("securityContext", "capabilities", "add"), CAPABILITY)
        yield STEP.added(f"{who} may lock memory")
    # KEP-2763: an added capability reaches the bounding set of a non-root process, and no other.
    limit = "raise the nodes' memlock limit"
    user = podspec.of_context(context, above, "runAsUser")
    if user or (user is None and podspec.of_context(context, above, "runAsNonRoot")):
        message = f"{who} runs as non-root, where {CAPABILITY} is inert; run as root or {limit}"
        yield STEP.warned(plan, Reason.NOT_ROOT, message)
    if draft.get("spec", "hostUsers") is False:
        message = f"{who} has hostUsers: false, where {CAPABILITY} is inert; remove it or {limit}"
        yield STEP.warned(plan, Reason.USER_NAMESPACE, message)


def _listed(context: Object, key: str) -> tuple[str, ...]:
    """Read the capabilities of ``add`` or ``drop`` as runtimes do, whatever their case.

    Source: containerd internal/cri/opts WithCapabilities: upper case, and ``CAP_`` put before it,
    whatever is there.
    """
    return tuple(map(str.upper, (context.get("capabilities") or {}).get(key) or ()))
