"""Reference the claims of the profile: devices that DRA drivers give, where the pod has none of the kind itself.

The templates that the pod names are the controller's to keep. All pods of a job are decided alike: by the profile, by whether the job
has several pods, and by what the pod's own text asks for.
"""

from __future__ import annotations

from collections.abc import Iterable

from webhook.core import podspec
from webhook.core.accelerators import find_pod_accelerator, is_accelerator, is_accelerator_class
from webhook.core.claim_templates import is_ours, name_in_pod, template_name
from webhook.core.draft import Draft
from webhook.core.injection.devices import claims_of_devices
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.profiles import ProfileClaim

STEP = "claims"
_CLAIMS = ("spec", "resourceClaims")


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Append what the pod lacks to its claims and to those of the training container; remove what it may not have.

    A reference that an earlier pass, or the pod that this one is a copy of, has got is brought to the template of today.
    """
    profile = plan.profile
    if not profile.claims:
        return [
            Decision(
                STEP, Outcome.SKIPPED, Reason.NOT_ASKED, f"profile {profile.name} gives no claims"
            )
        ]
    wanted, told = given(draft.pod, plan)
    _remove(draft, keep=[name_in_pod(claim) for claim in wanted])
    if changed := [claim for claim in wanted if _reference(draft, plan, claim)]:
        listed = ", ".join(
            f"{name_in_pod(claim)} (template {template_name(claim)})" for claim in changed
        )
        message = f"container {plan.container_name} gets {'claims' if len(changed) > 1 else 'claim'} {listed}"
        told.insert(0, Decision(STEP, Outcome.INJECTED, Reason.ADDED, message))
    elif wanted:
        message = f"the pod has {', '.join(map(name_in_pod, wanted))} already"
        told.insert(0, Decision(STEP, Outcome.KEPT, Reason.ALREADY_THERE, message))
    return told


def given(pod: Object, plan: Plan) -> tuple[list[ProfileClaim], list[Decision]]:
    """Return the claims of the profile that the pod gets, and why it does not get the others."""
    if why := _why_none(pod, plan):
        return [], [why]
    left = {
        claim.name: told for claim in plan.profile.claims if (told := _left_out(pod, plan, claim))
    }
    return [claim for claim in plan.profile.claims if claim.name not in left], [*left.values()]


def with_references(pod: Object, plan: Plan) -> Object:
    """Return the pod with the claims of the profile that it gets, and none that an earlier pass gave it; the pod itself stays."""
    others = [each for each in pod["spec"].get("resourceClaims") or () if not is_ours(each)]
    ours = [
        {"name": name_in_pod(each), "resourceClaimTemplateName": template_name(each)}
        for each in given(pod, plan)[0]
    ]
    return {**pod, "spec": {**pod["spec"], "resourceClaims": [*others, *ours]}}


def has_references(pod: Object) -> bool:
    """Tell whether the pod names a template of ours."""
    return any(map(is_ours, (pod.get("spec") or {}).get("resourceClaims") or ()))


def _why_none(pod: Object, plan: Plan) -> Decision | None:
    """Say why the pod gets no claim at all."""
    training, name = plan.training_pod, plan.profile.name
    if training is None:
        what = "it is not known to be one of a job of several pods, and a claim keeps a pod from nodes without such devices"
        return Decision(
            STEP,
            Outcome.SKIPPED,
            Reason.NOT_TRAINING,
            f"the claims of profile {name} are left out: {what}",
        )
    if training.reason is Reason.SINGLE_NODE and training.rendezvous is None:
        what = "the job has one pod, which needs no network, and a claim would keep it from nodes without such devices"
        return Decision(
            STEP,
            Outcome.SKIPPED,
            Reason.SINGLE_NODE,
            f"the claims of profile {name} are left out: {what}",
        )
    if plan.claims_problem:
        return _warn(plan, Reason.CLAIMS_UNSERVED, plan.claims_problem)
    if plan.host_network:
        what = "a driver gives no card to a pod on the node's network (hostNetwork: true); remove hostNetwork"
        return _warn(plan, Reason.HOST_NETWORK, what)
    if podspec.is_windows(pod):
        return _warn(plan, Reason.WINDOWS, "it is a Windows pod")
    if own := _claims_of_the_users(pod, plan):
        what = (
            f"it brings {'claims' if len(own) > 1 else 'claim'} {', '.join(own)} of its own, which may be for the same devices; "
            "remove one of the two"
        )
        return _warn(plan, Reason.DRA_CLAIM, what)
    if resource := _device_of_the_users(pod, plan):
        what = f"it asks for {resource} itself, which may be the same device, and would count twice; remove one of the two"
        return _warn(plan, Reason.OWN_DEVICE, what)
    return None


def _warn(plan: Plan, reason: Reason, why: str, which: str = "") -> Decision:
    what = (
        f"claim {which} of profile {plan.profile.name} is"
        if which
        else f"the claims of profile {plan.profile.name} are"
    )
    return Decision(STEP, Outcome.WARNED, reason, f"pod {plan.pod_name}: {what} left out: {why}")


def _claims_of_the_users(pod: Object, plan: Plan) -> list[str]:
    """Return the claims that are not ours, but for channels of ComputeDomains: a pod shows nothing of them but names."""
    ours = {name_in_pod(claim) for claim in plan.profile.claims}
    colliding = [
        str(each.get("name"))
        for each in pod["spec"].get("resourceClaims") or ()
        if each.get("name") in ours and not is_ours(each)
    ]
    return list(
        dict.fromkeys(
            [*colliding, *claims_of_devices(pod, podspec.containers(pod)[plan.container])]
        )
    )


def _device_of_the_users(pod: Object, plan: Plan) -> str:
    """Return the first device that a container asks for itself: no accelerator, and nothing that the profile gives besides."""
    given = {
        *plan.fabric_resources,
        *(name for sidecar in plan.profile.sidecars for name in sidecar.resources),
    }
    for container in (*podspec.containers(pod), *podspec.init_containers(pod)):
        for quantities in (podspec.limits(container), podspec.requests(container)):
            for resource, quantity in quantities.items():
                if (
                    "/" in resource
                    and quantity not in ("0", 0)
                    and resource not in given
                    and not is_accelerator(resource)
                ):
                    return resource
    return ""


def _left_out(pod: Object, plan: Plan, claim: ProfileClaim) -> Decision | None:
    """Say why this claim is left out: what it gives, or must lie beside, the pod asks for in another way."""
    accelerator = find_pod_accelerator(pod)
    if accelerator is None:
        return None
    classes = [
        each.device_class_name
        for each in claim.requests
        if is_accelerator_class(each.device_class_name)
    ]
    if classes:
        why = f"it asks for {classes[0]}, and the pod for {accelerator} itself, which would count twice; remove one of the two"
        return _warn(plan, Reason.OWN_DEVICE, why, claim.name)
    if claim.constraints:
        attribute = claim.constraints[0].match_attribute
        why = (
            f"its devices match by {attribute} with one another alone, not with the pod's {accelerator}; "
            f"remove {accelerator} where a claim gives it, or the constraint"
        )
        return _warn(plan, Reason.OWN_DEVICE, why, claim.name)
    return None


def _reference(draft: Draft, plan: Plan, claim: ProfileClaim) -> bool:
    """Make pod and training container name the claim; False where they do."""
    name, template = name_in_pod(claim), template_name(claim)
    there = draft.get(*_CLAIMS) or []
    index = next((index for index, each in enumerate(there) if each.get("name") == name), None)
    if index is None:
        draft.append(_CLAIMS, {"name": name, "resourceClaimTemplateName": template})
        changed = True
    else:
        changed = draft.set_key((*_CLAIMS, index), "resourceClaimTemplateName", template)
    path = ("spec", "containers", plan.container, "resources", "claims")
    if all(each.get("name") != name for each in draft.get(*path) or ()):
        draft.append(path, {"name": name})
        changed = True
    return changed


def _remove(draft: Draft, keep: Iterable[str]) -> None:
    """Remove the references to templates of ours, but those whose names in the pod are in *keep*."""
    there = draft.get(*_CLAIMS) or []
    gone = [
        index for index, each in enumerate(there) if is_ours(each) and each.get("name") not in keep
    ]
    dropped = {there[index].get("name") for index in gone}
    for index in reversed(gone):
        draft.remove(_CLAIMS, index)
    if not dropped:
        return
    for kind in ("containers", "initContainers"):
        for position in range(len(draft.get("spec", kind) or ())):
            path = ("spec", kind, position, "resources", "claims")
            named = [
                index
                for index, each in enumerate(draft.get(*path) or ())
                if each.get("name") in dropped
            ]
            for index in reversed(named):
                draft.remove(path, index)
