"""Look at the profiles: their faults, what the controller says of each, and their definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from webhook.core.cluster.profile_status import CONDITIONS, READY
from webhook.core.model import Object
from webhook.core.profiles.objects import DEFINITION, PROFILE_API_VERSION
from webhook.diagnose.check.needs import deployments
from webhook.diagnose.common import APPLY
from webhook.diagnose.finding import Code, Finding, Level, ok
from webhook.diagnose.snapshot import Snapshot
from webhook.diagnose.wording import counted, listed
from webhook.kube.catalogue import CUSTOM_RESOURCE_DEFINITIONS
from webhook.kube.reader import whole
from webhook.validate.definition import object_schema
from webhook.world.profiles_read import OBJECTS

PROFILE_INVALID = Code(
    "profile-invalid",
    "profiles",
    "A profile, or the settings of the whole cluster, has a fault.",
    "correct it; until then a running webhook keeps the last good content",
)
PROFILES_MISSING = Code(
    "profiles-missing",
    "profiles",
    "There are no profiles where the webhook reads them.",
    "create them there, or give --profiles FILE to look at yours",
)
PROFILE_NOT_READY = Code(
    "profile-not-ready",
    "profiles",
    "The controller finds that a profile is not ready.",
    "correct what the message names; kubectl describe fabricprofile shows everything",
)
DEFINITION_OUTDATED = Code(
    "definition-outdated",
    "profiles",
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
    if read.missing and read.source == OBJECTS:
        yield PROFILES_MISSING.warn(read.source, read.missing)
    elif read.missing:
        yield PROFILES_MISSING.fail(read.source, read.missing)
    elif read.profiles is not None and (read.profiles.profiles or not read.faults):
        known = sorted(read.profiles.profiles)
        which = f": {listed(known, _MOST_NAMED)}" if known else ""
        yield ok("profiles", read.source, f"{counted(len(known), 'profile')}, valid{which}")


def check_conditions(snapshot: Snapshot) -> Iterator[Finding]:
    """Report what the controller wrote of each object as it is now."""
    ready = []
    for each in snapshot.profiles().objects:
        if not each.conditions or each.observed < each.generation:
            continue
        lacks = [
            (kind, each.conditions[kind])
            for kind in CONDITIONS
            if each.conditions.get(kind, ("True",))[0] != "True"
        ]
        if not lacks:
            ready.append(each.name)
            continue
        level: Level = "fail" if each.conditions.get(READY, ("",))[0] == "False" else "warn"
        message = f"generation {each.generation}: {_lacking(lacks)}"
        yield Finding(level, PROFILE_NOT_READY, f"FabricProfile {each.name}", message)
    if ready:
        yield ok("profiles", OBJECTS, f"are ready: {listed(sorted(ready), _MOST_NAMED)}")


def _lacking(conditions: Sequence[tuple[str, tuple[str, str]]]) -> str:
    """Write the conditions out; the message of Ready is often that of another, and stands there."""
    others = {message for kind, (_, message) in conditions if kind != READY}
    told = []
    for kind, (status, message) in conditions:
        is_new = message and not (kind == READY and message in others)
        told.append(f"{kind} is {status}{f' ({message})' if is_new else ''}")
    return "; ".join(told)


def check_definition(snapshot: Snapshot) -> Iterator[Finding]:
    """Say whether the API server knows FabricProfiles as this version does."""
    found = snapshot.find(CUSTOM_RESOURCE_DEFINITIONS, ("", DEFINITION), whole)
    if found is None:
        if any(each.role == "webhook" and each.reads_objects for each in deployments(snapshot)):
            yield DEFINITION_OUTDATED.fail(_TITLE, "does not exist: there can be no FabricProfile")
        return
    conditions = (found.get("status") or {}).get("conditions") or ()
    if not any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
        action = "look at the conditions of its status: another one may have its names"
        yield DEFINITION_OUTDATED.fail(_TITLE, "is not Established, so not served", action)
    elif (schema := _schema(found)) is None:
        yield DEFINITION_OUTDATED.fail(_TITLE, f"does not serve version {_VERSION}")
    elif (theirs := _as_stored(schema)) != (ours := _as_stored(object_schema())):
        lacks, more = _fields(ours) - _fields(theirs), _fields(theirs) - _fields(ours)
        how = f"lacks {listed(sorted(lacks))}" if lacks else f"has {listed(sorted(more))} besides"
        differs = how if lacks or more else "has another type, bound or rule"
        yield DEFINITION_OUTDATED.warn(_TITLE, f"is not that of this version: {differs}")
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


def _fields(schema: Any, above: str = "") -> set[str]:
    """Return the path of each field, ``spec.networks[].network``."""
    if not isinstance(schema, Mapping):
        return set()
    found = {above} - {""}
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        found |= _fields(inner, f"{above}.{name}" if above else name)
    return found | (_fields(schema["items"], f"{above}[]") if "items" in schema else set())
