"""Look at the claims of profiles: their DeviceClasses and their templates."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from webhook.core.claim_templates import template_name, template_spec
from webhook.core.model import Object
from webhook.diagnose.check.needs import known_profiles, users
from webhook.diagnose.common import CLAIM_TEMPLATE_MISSING
from webhook.diagnose.finding import Code, Finding
from webhook.diagnose.snapshot import Snapshot, at_once
from webhook.kube.catalogue import RESOURCE_CLAIM_TEMPLATES

DEVICE_CLASS_MISSING = Code(
    "claims/device-class-missing",
    "A DeviceClass that a claim of a profile names does not exist.",
    "install the driver that brings it, or correct deviceClassName in the profile",
)
CLAIMS_UNSERVED = Code(
    "claims/claims-unserved",
    "The cluster cannot serve claims, so no pod gets those of its profile.",
    "use a Kubernetes that serves resource.k8s.io/v1, and FabricProfile objects",
)
CLAIM_TEMPLATE_FOREIGN = Code(
    "claims/claim-template-foreign",
    "A ResourceClaimTemplate has our name and other content than the profile says.",
    "delete it, and the controller creates it again; restrict who may create such templates",
)
MOST_TEMPLATES = 100
"""How many ResourceClaimTemplates are looked at."""


def check_claims(snapshot: Snapshot) -> Iterator[Finding]:
    """Name the DeviceClasses that claims need and that do not exist."""
    profiles = known_profiles(snapshot)
    for profile in profiles.profiles.values():
        if profile.claims and profiles.claims_problem:
            message = f"no pod gets its claims: {profiles.claims_problem}"
            yield CLAIMS_UNSERVED.warn(f"profile {profile.name}", message)
        elif profile.claims and (classes := snapshot.device_offers().classes) is not None:
            known = {each.name for each in classes}
            for claim in profile.claims:
                for name in dict.fromkeys(each.device_class_name for each in claim.requests):
                    if name not in known:
                        message = (
                            f"DeviceClass {name} does not exist: pods with the claim stay Pending"
                        )
                        subject = f"profile {profile.name}: claim {claim.name}"
                        yield DEVICE_CLASS_MISSING.fail(subject, message)


def check_templates(snapshot: Snapshot) -> Iterator[Finding]:
    """Compare the templates that the controller keeps with what the profiles say.

    Of one that a profile names, only look whether it is there.
    """
    if known_profiles(snapshot).claims_problem:
        return
    spaces = users(snapshot)
    needed = {
        (namespace, template_name(claim)): (profile, claim)
        for profile in known_profiles(snapshot).profiles.values()
        for namespace in spaces.get(profile.name, ())
        if profile.is_for(namespace)
        for claim in profile.claims
    }
    asked = sorted(needed)[:MOST_TEMPLATES]
    found = at_once([partial(snapshot.find, RESOURCE_CLAIM_TEMPLATES, key, _spec) for key in asked])
    for key, spec in zip(asked, found, strict=True):
        subject = f"ResourceClaimTemplate {'/'.join(key)}"
        profile, claim = needed[key]
        absent = "does not exist: pods that name it stay Pending"
        if spec is None and claim.requests:
            action = "look at the controller's log: it creates the template within seconds"
            yield CLAIM_TEMPLATE_MISSING.warn(subject, absent, action)
        elif spec is None:
            instead = f"or write its requests in profile {profile.name}"
            action = f"create it in namespace {key[0]}, {instead}"
            yield CLAIM_TEMPLATE_MISSING.fail(subject, absent, action)
        elif claim.requests and spec != template_spec(claim)["spec"]:
            message = "differs from the profile: pods get other devices"
            yield CLAIM_TEMPLATE_FOREIGN.fail(subject, message)


def _spec(template: Object) -> Any:
    return (template.get("spec") or {}).get("spec") or {}
