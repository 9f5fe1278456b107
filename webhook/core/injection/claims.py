"""Reference the claims of the profile: devices of DRA drivers, where the pod has none itself.

The templates that the pod names are the controller's to keep. All pods of a job are decided alike:
by the profile, the job's number of pods, and what the pod's text asks for.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import structs

from webhook.core import names, podspec
from webhook.core.accelerators import find_pod_accelerator, is_accelerator, is_accelerator_class
from webhook.core.claim_templates import is_ours, name_in_pod, template_name
from webhook.core.draft import Draft
from webhook.core.injection.devices import claims_of_devices
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Object, Reason
from webhook.core.plan import Plan
from webhook.core.profiles import ProfileClaim

STEP: Final = Row("claims")
_CLAIMS = ("spec", "resourceClaims")


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Append what the pod and its training container lack; remove what the pod may not have.

    A reference that an earlier pass, or the pod that this one is a copy of, has got is brought to
    the template of today.
    """
    profile = plan.profile
    if not profile.claims:
        return []
    wanted, told = given(draft.pod, plan)
    _remove(draft, plan, keep=[name_in_pod(claim) for claim in wanted])
    if changed := [claim for claim in wanted if _reference(draft, plan, claim)]:
        claims = [f"{name_in_pod(claim)} (template {template_name(claim)})" for claim in changed]
        told.insert(0, STEP.added(f"container {plan.container_name} gets {_named(claims)}"))
    elif wanted:
        listed = ", ".join(map(name_in_pod, wanted))
        told.insert(0, STEP.already_there(f"the pod has {listed} already"))
    return told


def leave_interfaces_out(pod: Object, plan: Plan) -> None:
    """Take the interfaces that annotations ask of GKE from the plan, where the pod claims cards."""
    profile, annotations = plan.profile, plan.profile.annotations
    asked = [key for key in annotations if key.startswith(names.GKE_NETWORKING)]
    own = claims_of_devices(pod, plan) if asked else []
    if not own:
        return
    kept = {key: value for key, value in annotations.items() if key not in asked}
    metadata = {**profile.pod["metadata"], "annotations": kept}
    plan.profile = structs.replace(profile, pod={**profile.pod, "metadata": metadata})
    message = (
        f"annotations {', '.join(asked)} of profile {profile.name} are left out: the pod brings "
        f"{_named(own)} of its own, which may be for the same cards; remove one of the two"
    )
    plan.warnings += (STEP.warned(plan, Reason.DRA_CLAIM, message),)


def given(pod: Object, plan: Plan) -> tuple[list[ProfileClaim], list[Decision]]:
    """Return the claims of the profile that the pod gets, and why it does not get the others."""
    if why := _why_none(pod, plan):
        return [], [why]
    left = {
        claim.name: told for claim in plan.profile.claims if (told := _left_out(pod, plan, claim))
    }
    return [claim for claim in plan.profile.claims if claim.name not in left], [*left.values()]


def with_references(pod: Object, plan: Plan) -> Object:
    """Return a copy of the pod with the claims that it gets, and none that an earlier pass gave."""
    claims = plan.profile.claims
    there = pod["spec"].get("resourceClaims") or ()
    others = [each for each in there if not is_ours(each, claims)]
    ours = map(_entry, given(pod, plan)[0])
    return {**pod, "spec": {**pod["spec"], "resourceClaims": [*others, *ours]}}


def _entry(claim: ProfileClaim) -> Object:
    return {"name": name_in_pod(claim), "resourceClaimTemplateName": template_name(claim)}


def _named(claims: list[str]) -> str:
    return f"{'claims' if len(claims) > 1 else 'claim'} {', '.join(claims)}"


def why_alone(plan: Plan) -> Decision | None:
    """Say why a pod that is no part of a job of several pods gets no claim; None for the others."""
    training, profile = plan.training_pod, plan.profile.name
    if training is None:
        reason, what = Reason.NOT_TRAINING, "it is not known to be one of a job of several pods"
    elif training.reason is Reason.SINGLE_NODE and training.rendezvous is None:
        reason, what = Reason.SINGLE_NODE, "the job has one pod, which needs no network"
    else:
        return None
    why = f"the claims of profile {profile} are left out: {what}, and a claim keeps a pod"
    return STEP.skipped(reason, f"{why} from nodes without such devices")


def _why_none(pod: Object, plan: Plan) -> Decision | None:
    left_out = f"the claims of profile {plan.profile.name} are left out:"
    if alone := why_alone(plan):
        return alone
    if plan.claims_problem:
        reason, what = Reason.CLAIMS_UNSERVED, plan.claims_problem
    elif plan.host_network:
        reason = Reason.HOST_NETWORK
        what = (
            "a driver gives no card to a pod on the node's network (hostNetwork: true); "
            "remove hostNetwork"
        )
    elif own := claims_of_devices(pod, plan):
        reason = Reason.DRA_CLAIM
        what = (
            f"it brings {_named(own)} of its own, which may be for the same devices; "
            "remove one of the two"
        )
    elif resource := _device_of_the_users(pod, plan):
        reason = Reason.OWN_DEVICE
        what = (
            f"it asks for {resource} itself, which may be the same device, and would count twice; "
            "remove one of the two"
        )
    else:
        return None
    return STEP.warned(plan, reason, f"{left_out} {what}")


def _device_of_the_users(pod: Object, plan: Plan) -> str:
    """Return the first device that a container asks for itself, and the profile does not give.

    Accelerators are none.
    """
    given = {
        *plan.fabric_resources,
        *(name for each in plan.profile.sidecars.values() for name in podspec.limits(each)),
    }
    for container in podspec.every_container(pod):
        for asked in (podspec.limits(container), podspec.requests(container)):
            for resource, amount in asked.items():
                is_foreign = "/" in resource and resource not in given and amount not in ("0", 0)
                if is_foreign and not is_accelerator(resource):
                    return resource
    return ""


def _left_out(pod: Object, plan: Plan, claim: ProfileClaim) -> Decision | None:
    """Say why this claim is left out: the pod asks otherwise for what it gives or lies beside."""
    accelerator = find_pod_accelerator(pod)
    if accelerator is None:
        return None
    classes = [each.device_class_name for each in claim.requests]
    if counted := next(filter(is_accelerator_class, classes), None):
        why = (
            f"it asks for {counted}, and the pod for {accelerator} itself, which would count "
            "twice; remove one of the two"
        )
    elif claim.constraints:
        why = (
            f"its devices match by {claim.constraints[0].match_attribute} with one another alone, "
            f"not with the pod's {accelerator}; remove {accelerator} where a claim gives it, or "
            "the constraint"
        )
    else:
        return None
    message = f"claim {claim.name} of profile {plan.profile.name} is left out: {why}"
    return STEP.warned(plan, Reason.OWN_DEVICE, message)


def _reference(draft: Draft, plan: Plan, claim: ProfileClaim) -> bool:
    """Make pod and training container name the claim; False where they do."""
    entry = _entry(claim)
    name = entry["name"]
    there = [each.get("name") for each in draft.get(*_CLAIMS) or ()]
    before = draft.edits
    if name not in there:
        draft.append(_CLAIMS, entry)
    else:
        path = (*_CLAIMS, there.index(name))
        draft.set_key(path, "resourceClaimTemplateName", entry["resourceClaimTemplateName"])
    own = plan.in_trainer("resources", "claims")
    if all(each.get("name") != name for each in draft.get(*own) or ()):
        draft.append(own, {"name": name})
    return draft.edits > before


def _remove(draft: Draft, plan: Plan, keep: list[str]) -> None:
    """Remove the references that we gave, but those whose names in the pod are in *keep*."""

    def is_stale(each: Object) -> bool:
        return is_ours(each, plan.profile.claims) and each.get("name") not in keep

    gone = draft.drop(_CLAIMS, is_stale)
    dropped = {each.get("name") for each in gone}
    for kind in ("containers", "initContainers"):
        for index in range(len(draft.get("spec", kind) or ())):
            path = ("spec", kind, index, "resources", "claims")
            draft.drop(path, lambda each: each.get("name") in dropped)
