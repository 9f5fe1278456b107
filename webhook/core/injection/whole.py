"""Give a fabric whole or not at all.

That is where a device's number is not known, or PodSecurity refuses a part and the profile says
``podSecurity: skip``. A profile's variables, huge pages, volumes and sidecars are for one fabric,
and half of it is worse than none. NCCL then looks for cards that the pod was not given, and huge
pages lie idle.
"""

from dataclasses import replace
from typing import Final

from msgspec import structs

from webhook.core import names
from webhook.core.addresses import claim
from webhook.core.draft import Draft
from webhook.core.injection import devices, quantities
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Object, Reason
from webhook.core.plan import Plan

STEP: Final = Row("profile")
_OF_THE_FABRIC: Final = ("volumes", "initContainers", "securityContext")
"""Fields of a pod's ``spec`` that go with the devices; the others say where and how it runs."""


def unknown_device(pod: Object, plan: Plan) -> Decision | None:
    """Return the warning of the first device whose number is not known."""
    needed = devices.needed_resources(plan.attachments, plan.profile)
    _, told = quantities.count_devices(Draft(pod), plan, needed)
    return next((each for each in told if each.reason is Reason.UNKNOWN_QUANTITY), None)


def left_alone(plan: Plan, lacking: Decision) -> Decision:
    """Say that the pod stays as it is."""
    message = (
        f"{lacking.message}; the pod is left alone, since the rest of profile {plan.profile.name} "
        f"is of no use without that; or label the pod {names.PROFILE} with another profile or "
        f"{names.PROFILE_NONE}"
    )
    return Decision(STEP.name, lacking.outcome, lacking.reason, message)


def without_parts(plan: Plan, lacking: Decision) -> Plan:
    """Return the plan with only the networks and the rendezvous.

    The job's other members may meet there, and name them to NCCL. Claims stay where they are these
    networks: members wait for the address that a claim tells. IPC_LOCK stays where a network takes
    a device by itself.
    """
    profile = plan.profile
    claims = profile.claims if profile.rendezvous.address_source == claim.NAME else ()
    takes_devices = bool(claims) or any(attachment.resources for attachment in plan.attachments)
    spec = profile.pod.get("spec") or {}
    kept = {key: value for key, value in spec.items() if key not in _OF_THE_FABRIC}
    bare = structs.replace(
        profile,
        quantities=(),
        ipc_lock=profile.ipc_lock and takes_devices,
        device_variables=(),
        nccl_conf=False,
        claims=claims,
        container={},
        pod={**profile.pod, "spec": kept},
    )
    message = (
        f"{lacking.message}; it gets the networks of profile {profile.name}, where its job meets, "
        "and no other part of it"
    )
    told = Decision(STEP.name, lacking.outcome, lacking.reason, message)
    return replace(plan, profile=bare, warnings=(*plan.warnings, told))
