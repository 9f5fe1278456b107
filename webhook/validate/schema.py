"""Find what has the wrong type, is unknown, missing or beyond a bound. Needs jsonschema."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from jsonschema import Draft202012Validator, ValidationError

from webhook.core.printable import quoted
from webhook.core.profiles.objects import Fault
from webhook.core.profiles.slips import did_you_mean, one_of, unknown_field
from webhook.core.value_types import STRING, Location, type_name
from webhook.validate.definition import Schema, object_schema

_PRESERVES = "x-kubernetes-preserve-unknown-fields"
_PARTS = {"maxLength": "characters", "maxItems": "items", "maxProperties": "keys"}
_TYPES = {
    "object": "an object, {name: value}, or one name: value a line",
    "array": "a list, [a, b], or one item a line after a dash",
    "string": STRING,
    "integer": "an integer, without quotes",
    "boolean": "true or false, without quotes",
}

_FIELDS: Final[Mapping[str, str]] = {
    "env": "name value valueFrom",
    "initContainers": "args command env envFrom image imagePullPolicy lifecycle livenessProbe name "
    "ports readinessProbe resizePolicy resources restartPolicy restartPolicyRules securityContext "
    "startupProbe stdin stdinOnce terminationMessagePath terminationMessagePolicy tty "
    "volumeDevices volumeMounts workingDir",
    "securityContext": "allowPrivilegeEscalation appArmorProfile capabilities fsGroup "
    "fsGroupChangePolicy privileged procMount readOnlyRootFilesystem runAsGroup runAsNonRoot "
    "runAsUser seLinuxChangePolicy seLinuxOptions seccompProfile supplementalGroups "
    "supplementalGroupsPolicy sysctls windowsOptions",
    "tolerations": "effect key operator tolerationSeconds value",
    "volumeMounts": "mountPath mountPropagation name readOnly recursiveReadOnly subPath "
    "subPathExpr",
}
"""The fields of an object, or of each item of a list. Source: k8s.io/api core/v1 of 1.36.

Others are let through, unless they are near one of these: a later Kubernetes has more.
"""


def find_structural(value: Any) -> Iterator[Fault]:
    """Yield what the schema refuses of a FabricProfile, an object without nulls."""
    for error in _validator().iter_errors(value):
        yield from _faults(error)


@cache
def _validator() -> Draft202012Validator:
    """Make the validator, which takes any field of metadata."""
    schema = object_schema()
    name = {"name": {"type": "string"}}
    metadata = {"type": "object", "required": ["name"], "properties": name, _PRESERVES: True}
    fields = {"apiVersion": {}, "kind": {}, "metadata": metadata, "status": {}}
    return Draft202012Validator(_closed({**schema, "properties": schema["properties"] | fields}))


def _closed(schema: Any) -> Any:
    """Refuse unknown fields, and take int-or-string for two types, as the API server does."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found: Schema = {key: _closed(value) for key, value in schema.items()}
    if "properties" in found and not found.get(_PRESERVES):
        found["additionalProperties"] = False
    if found.get("x-kubernetes-int-or-string"):
        found = {"maximum": 2**63 - 1, **found, "type": ["integer", "string"]}
    return found


def _faults(error: ValidationError) -> Iterator[Fault]:
    at: Location = tuple(error.absolute_path)
    found, allowed = error.instance, error.validator_value
    match error.validator:
        case "additionalProperties":
            known = tuple(error.schema["properties"])
            for name in [name for name in found if name not in known]:
                yield Fault((*at, name), unknown_field(name, known))
        case "required":
            for name in [name for name in allowed if name not in found]:
                message = f"is missing; write {name}: and its value"
                yield Fault((*at, name), message, is_blocking=True)
        case "enum" if isinstance(found, str):
            yield Fault(at, f"found {quoted(found)}; {one_of(found, allowed)}")
        case "type":
            wanted = "a whole number or a string" if isinstance(allowed, list) else _TYPES[allowed]
            is_number = type(found) in (int, float)
            hint = f', in quotes: "{found}"' if allowed == "string" and is_number else ""
            message = f"found {type_name(found)}; write {wanted}{hint}"
            yield Fault(at, message, is_blocking=True)
        case "maxLength" | "maxItems" | "maxProperties":
            message = f"found {len(found)} {_PARTS[error.validator]}; write at most {allowed}"
            yield Fault(at, message, is_blocking=True)
        case "pattern":
            such_as = f"such as {error.schema['example']}"
            yield Fault(
                at, f"found {quoted(found)}; write a text of this form, {such_as}: {allowed}"
            )
        case "minimum" | "maximum" | "minItems" | "minLength":
            yield Fault(at, error.message, is_blocking=error.validator == "maximum")


def find_misspelt(profile: Any) -> Iterator[Fault]:
    """Yield each field of a pod's parts in a FabricProfile that is a slip of another."""
    spec = profile.get("spec")
    for part in ("container", "pod"):
        if isinstance(spec, dict):
            yield from _below(spec.get(part), part, ("spec", part))


def _below(value: Any, field: str | int, at: Location) -> Iterator[Fault]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _below(item, field, (*at, index))
    elif isinstance(value, dict):
        known = _FIELDS.get(str(field), "").split()
        for key, inner in value.items():
            if key not in known and (meant := did_you_mean(key, known)):
                yield Fault((*at, key), f"is not a field; did you mean {meant}?")
            yield from _below(inner, key, (*at, key))
