"""Look at the profiles: their faults, what the controller says of each, and their definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from webhook.core.model import Object
from webhook.core.profiles.objects import DEFINITION, PROFILE_API_VERSION
from webhook.diagnose.common import APPLY
from webhook.diagnose.finding import Code, Finding, ok
from webhook.diagnose.snapshot import Snapshot
from webhook.diagnose.wording import counted, listed
from webhook.kube.catalogue import CUSTOM_RESOURCE_DEFINITIONS
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
    if not any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
        action = "look at the conditions of its status: another one may have its names"
        yield DEFINITION_OUTDATED.fail(_TITLE, "is not Established, so not served", action)
    elif (schema := _schema(found)) is None:
        yield DEFINITION_OUTDATED.fail(_TITLE, f"does not serve version {_VERSION}")
    elif _as_stored(schema) != _as_stored(object_schema()):
        yield DEFINITION_OUTDATED.warn(_TITLE, "is not that of this version")
    else:
        yield ok("profiles", _TITLE, "is established, with the schema of this version")


def _schema(definition: Object) -> Any:
    versions = (definition.get("spec") or {}).get("versions") or ()
    for each in versions:
        if each.get("name") == _VERSION and each.get("served"):
            return (each.get("schema") or {}).get("openAPIV3Schema")
    return None


def _as_stored(schema: Any) -> Any:
    """Return a schema as the API server holds it: all its bounds are 64-bit floats."""
    if isinstance(schema, Mapping):
        return {key: _as_stored(value) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_as_stored(value) for value in schema]
    return float(schema) if type(schema) is int else schema
