"""Look at the profiles themselves: their faults, what the controller says of each, and whether the API server knows the kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from webhook.core.cluster.profile_status import CONDITIONS, READY
from webhook.core.model import Object
from webhook.core.profiles import Profile, ProfileObject
from webhook.core.profiles.objects import DEFINITION, PROFILE_API_VERSION
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import Finding, Level
from webhook.diagnose.wording import counted, listed
from webhook.validate.definition import object_schema
from webhook.world.profiles_read import OBJECTS, ProfilesRead

_VERSION = PROFILE_API_VERSION.rpartition("/")[2]
_TITLE = f"CustomResourceDefinition {DEFINITION}"


class Definition(NamedTuple):
    """Hold what is kept of a CustomResourceDefinition: whether it is served, and its schema; None where it lacks our version."""

    established: bool
    schema: Any


def read_definition(obj: Object) -> Definition:
    """Keep what matters."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    established = any(
        each.get("type") == "Established" and each.get("status") == "True" for each in conditions
    )
    versions = (obj.get("spec") or {}).get("versions") or ()
    ours: Object = next(
        (each for each in versions if each.get("name") == _VERSION and each.get("served")), {}
    )
    return Definition(established, (ours.get("schema") or {}).get("openAPIV3Schema"))


def check_profiles(
    read: ProfilesRead, *, is_installed: bool, definition_is_missed: bool = False
) -> Iterator[Finding]:
    """Tell each fault where it is; profiles that could not be read are told with all else that could not be.

    *definition_is_missed*: that there can be no FabricProfile is told by itself.
    """
    for fault in read.faults:
        yield Finding("fail", Code.PROFILE_INVALID, fault.where, fault.message)
    if read.profiles is not None and (read.profiles.profiles or not read.faults):
        named = f": {listed(sorted(read.profiles.profiles), 10)}" if read.profiles.profiles else ""
        message = f"{counted(len(read.profiles.profiles), 'profile')}, valid{named}"
        yield Finding("ok", Code.PROFILES_VALID, read.source, message)
    if read.missing and is_installed and read.source != OBJECTS:
        yield Finding("fail", Code.PROFILES_MISSING, read.source, read.missing)
    elif read.missing and not definition_is_missed:
        message = f"{read.missing}: neither networks nor devices were looked for"
        action = "give --profiles FILE to look at yours"
        yield Finding("warn", Code.PROFILES_MISSING, read.source, message, action)
    for profile in read.profiles.profiles.values() if read.profiles is not None else ():
        for message in _inert_settings(profile):
            yield Finding("warn", Code.SETTING_INERT, f"profile {profile.name}", message)
    yield from _conditions(read.objects)


def _inert_settings(profile: Profile) -> tuple[str, ...]:
    """Tell what the profile says in vain, in a sentence each."""
    told = []
    source = profile.rendezvous.address_source
    if profile.nccl_conf and profile.rendezvous.wait_image:
        told.append(
            "ncclConf: true writes nothing: with rendezvous.waitImage the wait step runs in "
            "another image, where it cannot read the training image's own /etc/nccl.conf; "
            "leave one of the two out"
        )
    if profile.device_variables and (not profile.rendezvous.enabled or source != "multus"):
        setting = f"addressSource: {source}" if profile.rendezvous.enabled else "{enabled: false}"
        told.append(
            f"deviceVariables gives nothing: with rendezvous: {setting} no pod waits for what "
            "is published; leave one out"
        )
    if source == "none" and profile.rendezvous.network:
        told.append(
            "rendezvous.network is not used: with rendezvous.addressSource: none the job meets "
            "on the pod network; leave one of the two out"
        )
    return tuple(told)


def check_definition(found: Definition | None, *, is_needed: bool) -> Iterator[Finding]:
    """Say whether the API server knows FabricProfiles as this version does. *is_needed*: the webhook that is installed reads them."""
    if found is None:
        if is_needed:
            yield Finding(
                "fail",
                Code.DEFINITION_MISSING,
                _TITLE,
                "does not exist: there can be no FabricProfile",
            )
        return
    if not found.established:
        yield Finding(
            "fail",
            Code.DEFINITION_NOT_ESTABLISHED,
            _TITLE,
            "is not Established: FabricProfiles are not served",
        )
    ours = _as_stored(object_schema())
    theirs = _as_stored(found.schema)
    if found.schema is None:
        yield Finding("fail", Code.DEFINITION_DIFFERS, _TITLE, f"does not serve version {_VERSION}")
    elif theirs != ours:
        message = f"is not that of this version{_difference(_fields(ours), _fields(theirs))}"
        yield Finding("warn", Code.DEFINITION_DIFFERS, _TITLE, message)
    elif found.established:
        yield Finding(
            "ok", Code.DEFINITION_AGREES, _TITLE, "is established, with the schema of this version"
        )


def _as_stored(schema: Any) -> Any:
    """Return a schema as the API server holds it: with all bounds as 64-bit floats, which are not exact."""
    if isinstance(schema, Mapping):
        return {key: _as_stored(value) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_as_stored(value) for value in schema]
    return float(schema) if type(schema) is int else schema


def _difference(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """Say how two schemas differ: ``: it lacks spec.env``."""
    lacking, more = (
        [each for each in these if each not in those]
        for these, those in ((ours, theirs), (theirs, ours))
    )
    if lacking:
        return f": it lacks {listed(lacking)}, and refuses profiles that have it"
    if more:
        return f": it is newer, with {listed(more)}, which this program does not know"
    changed = [path for path, schema in ours.items() if theirs[path] != schema]
    return f": {listed(changed) or 'it'} has another type, bound or rule"


def _fields(schema: Any, above: str = "") -> dict[str, Any]:
    """Return each field by its path, ``spec.networks[].network``, with what its schema says of itself."""
    found: dict[str, Any] = {}
    if not isinstance(schema, Mapping):
        return found
    if above:
        found[above] = {
            key: value
            for key, value in schema.items()
            if key not in ("properties", "items", "description")
        }
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        found |= _fields(inner, f"{above}.{name}" if above else name)
    return found | _fields(schema.get("items"), f"{above}[]")


def _conditions(objects: tuple[ProfileObject, ...]) -> Iterator[Finding]:
    """Tell what the controller wrote of each object, where it has written anything."""
    ready = []
    for each in objects:
        subject = f"FabricProfile {each.name}"
        if not each.conditions:
            continue
        if each.observed < each.generation:
            message = f"the controller has seen generation {each.observed}, and the object is at {each.generation}"
            yield Finding("warn", Code.PROFILE_UNSEEN, subject, message)
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
        yield Finding(
            level,
            Code.PROFILE_NOT_READY,
            subject,
            f"generation {each.generation}: {_lacking(lacks)}",
        )
    if ready:
        message = f"{counted(len(ready), 'profile')} ready, says the controller: {listed(sorted(ready), 10)}"
        yield Finding("ok", Code.PROFILES_READY, OBJECTS, message)


def _lacking(conditions: Sequence[tuple[str, tuple[str, str]]]) -> str:
    """Write the conditions out; what Ready says is often the message of another, and told there."""
    others = {message for kind, (_, message) in conditions if kind != READY}
    return "; ".join(
        f"{kind} is {status}{f' ({message})' if message and not (kind == READY and message in others) else ''}"
        for kind, (status, message) in conditions
    )
