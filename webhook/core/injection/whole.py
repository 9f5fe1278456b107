"""Give a fabric whole or not at all.

That is where a device's number is not known, or PodSecurity refuses a volume or a sidecar. Which of
a profile's variables, huge pages, volumes and sidecars belong to which device is written nowhere:
they are for one fabric, and half of it is worse than none. NCCL then looks for cards that the pod
was not given, and huge pages lie idle.
"""

from dataclasses import replace
from typing import Final

from webhook.core import names, podspec
from webhook.core.addresses import claim
from webhook.core.draft import Draft
from webhook.core.injection import devices, pod_security, quantities, sidecars, volumes
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Object, Reason
from webhook.core.plan import Plan

STEP: Final = Row("profile")


def find_lacking(pod: Object, plan: Plan) -> Decision | None:
    """Return a warning of a part of the profile that the pod cannot get and others need."""
    return _unknown_device(pod, plan) or _refused_parts(pod, plan)


def left_alone(plan: Plan, lacking: Decision) -> Decision:
    """Say that the pod stays as it is."""
    message = (
        f"{lacking.message}; the pod is left alone, since the rest of profile {plan.profile.name} "
        f"is of no use without that; or label the pod {names.PROFILE} with another profile or "
        f"{names.PROFILE_NONE}"
    )
    return Decision(STEP.name, lacking.outcome, lacking.reason, message)


def without_parts(plan: Plan, lacking: Decision) -> Plan:
    """Return the plan with the networks and the rendezvous alone.

    The job's other members may meet there, and name them to NCCL. Claims stay where they are these
    networks: members wait for the address that a claim tells. IPC_LOCK stays where a network takes
    a device by itself.
    """
    profile = plan.profile
    claims = profile.claims if profile.rendezvous.address_source == claim.NAME else ()
    takes_devices = bool(claims) or any(attachment.resources for attachment in plan.attachments)
    bare = replace(
        profile,
        resources={},
        quantities=(),
        ipc_lock=profile.ipc_lock and takes_devices,
        env={},
        device_variables=(),
        nccl_conf=False,
        volumes=(),
        mounts=(),
        sidecars=(),
        claims=claims,
    )
    message = (
        f"{lacking.message}; it gets the networks of profile {profile.name}, where its job meets, "
        "and no other part of it"
    )
    told = Decision(STEP.name, lacking.outcome, lacking.reason, message)
    return replace(plan, profile=bare, warnings=(*plan.warnings, told))


def _unknown_device(pod: Object, plan: Plan) -> Decision | None:
    """Return the warning of the first device whose number is not known."""
    if not plan.profile.quantities:
        return None
    needed = devices.needed_resources(plan.attachments, plan.profile)
    _, told = quantities.count_devices(Draft(pod), plan, needed)
    return next((each for each in told if each.reason is Reason.UNKNOWN_QUANTITY), None)


def _refused_parts(pod: Object, plan: Plan) -> Decision | None:
    """Warn of what PodSecurity refuses, where the profile says ``podSecurity: skip``.

    With ``deny`` the steps themselves refuse the pod. A Windows pod gets none of these parts.
    """
    level = pod_security.refusing_level(plan)
    if podspec.is_windows(pod) or plan.profile.pod_security != "skip" or not level:
        return None
    parts = volumes.refused_volumes(pod, plan) + sidecars.refused_sidecars(pod, plan, level)
    if not parts:
        return None
    label, name = pod_security.label_of(plan), plan.profile.name
    message = f"{label} refuses {', '.join(parts)} of profile {name}"
    return STEP.warned(plan, Reason.POD_SECURITY, message)
