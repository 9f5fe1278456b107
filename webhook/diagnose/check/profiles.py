"""Look at the profiles: faults, what the controller says, their definition, and their claims."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from webhook.core.claim_templates import template_name, template_spec
from webhook.core.model import Object
from webhook.core.profiles.objects import DEFINITION, PROFILE_API_VERSION
from webhook.core.wording import counted, listed
from webhook.diagnose.check.needs import known_profiles, users
from webhook.diagnose.common import APPLY, CLAIM_TEMPLATE_MISSING
from webhook.diagnose.finding import Code, Finding, ok
from webhook.diagnose.snapshot import Snapshot, at_once
from webhook.kube.catalogue import CUSTOM_RESOURCE_DEFINITIONS, RESOURCE_CLAIM_TEMPLATES
from webhook.kube.reader import whole
from webhook.validate.definition import object_schema

PROFILE_INVALID = Code(
    "profiles/profile-invalid",
    "A profile, or the settings of the whole cluster, has a fault.",
    "correct it; until then a running webhook keeps the last good content",
)
PROFILES_MISSING = Code(
    "profiles/profiles-missing",
    "There are no profiles where the webhook reads them.",
    "create them there, or give --profiles FILE to look at yours",
)
PROFILE_NOT_READY = Code(
    "profiles/profile-not-ready",
    "The controller finds that a profile is not ready.",
    "correct what the message names; kubectl describe fabricprofile shows everything",
)
DEFINITION_OUTDATED = Code(
    "profiles/definition-outdated",
    "The CustomResourceDefinition of FabricProfile is missing or not that of this version.",
    f"apply the manifests of the newer version again: {APPLY}",
)
_TITLE = f"CustomResourceDefinition {DEFINITION}"
_VERSION = PROFILE_API_VERSION.rpartition("/")[2]
_MOST_NAMED = 10


def check_profiles(snapshot: Snapshot) -> Iterator[Finding]:
    """Report each fault where it is, and how many profiles there are."""
    read = snapshot.profiles()
    for fault in read.faults:
        yield PROFILE_INVALID.fail(fault.where, fault.message)
    if read.missing:
        yield PROFILES_MISSING.warn(read.source, read.missing)
    elif read.profiles is not None and (read.profiles.profiles or not read.faults):
        known = sorted(read.profiles.profiles)
        which = f": {listed(known, _MOST_NAMED)}" if known else ""
        yield ok("profiles", read.source, f"{counted(len(known), 'profile')}, valid{which}")


def check_status(snapshot: Snapshot) -> Iterator[Finding]:
    """Report which profiles the controller finds not ready, as they are now."""
    for name, message in snapshot.profiles().not_ready.items():
        yield PROFILE_NOT_READY.fail(f"FabricProfile {name}", message)


def check_definition(snapshot: Snapshot) -> Iterator[Finding]:
    """Say whether the API server knows FabricProfiles as this version does."""
    if snapshot.namespace:
        return
    found = snapshot.find(CUSTOM_RESOURCE_DEFINITIONS, ("", DEFINITION), whole)
    if found is None:
        if snapshot.given is None:
            yield DEFINITION_OUTDATED.fail(_TITLE, "does not exist: there can be no FabricProfile")
        return
    conditions = (found.get("status") or {}).get("conditions") or ()
    versions = (found.get("spec") or {}).get("versions") or ()
    served = [each for each in versions if each.get("name") == _VERSION and each.get("served")]
    if not any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
        action = "look at the conditions of its status: another one may have its names"
        yield DEFINITION_OUTDATED.fail(_TITLE, "is not Established, so not served", action)
    elif not served:
        yield DEFINITION_OUTDATED.fail(_TITLE, f"does not serve version {_VERSION}")
    elif _as_stored(served[0].get("schema")) != _as_stored({"openAPIV3Schema": object_schema()}):
        yield DEFINITION_OUTDATED.warn(_TITLE, "is not that of this version")
    else:
        yield ok("profiles", _TITLE, "is established, with the schema of this version")


def _as_stored(schema: Any) -> Any:
    """Return a schema as the API server holds it: all its bounds are 64-bit floats."""
    return json.loads(json.dumps(schema), parse_int=float)


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
            asked = ((claim.name, each) for claim in profile.claims for each in claim.requests)
            for claim, name in dict.fromkeys((of, each.device_class_name) for of, each in asked):
                if name not in known:
                    message = f"DeviceClass {name} does not exist: pods with the claim stay Pending"
                    subject = f"profile {profile.name}: claim {claim}"
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
