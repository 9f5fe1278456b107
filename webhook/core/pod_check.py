"""Check the structure of a pod once, so that everything behind it may rely on the types of the fields that it reads.

The API server sends well-formed pods only; a manifest typed into the dry run, or a hostile body, need not be one.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

from webhook.core import podspec
from webhook.core.errors import MalformedReview
from webhook.core.model import Object
from webhook.core.value_types import BOOLEAN, INTEGER, LIST, OBJECT, STRING, type_name

_LONGEST_KEY: Final = 253
_OWNER: Final = frozenset(("apiVersion", "kind", "name", "uid", "controller"))
_TOLERATION: Final = frozenset(("key", "operator", "value", "effect"))
_CLAIM: Final = frozenset(("name", "resourceClaimTemplateName"))
_CONTAINER_TEXTS: Final = frozenset(("name", "image", "imagePullPolicy", "restartPolicy"))
_CONTAINER = _CONTAINER_TEXTS | {
    "command",
    "args",
    "env",
    "volumeMounts",
    "volumeDevices",
    "resources",
    "securityContext",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
}


class _Key(NamedTuple):
    """Mark a key of a map that a user chooses, which a path shows in brackets."""

    text: str


_Path: TypeAlias = tuple[str | int | _Key, ...]
"""Where a value stands; written out only for a message."""


def check_pod(pod: object, where: str = "pod") -> Object:
    """Return *pod* once its structure is known to be that of a Pod.

    Missing and null fields are fine, and so are fields that nothing here reads. *where* starts the path in messages.

    Raises MalformedReview naming the first field of a wrong type, ``request.object.spec.containers[0].env``.
    """
    root = (where,)
    if not isinstance(pod, dict):
        _fail(root, OBJECT, pod)
    metadata = pod.get("metadata")
    if metadata is not None:
        _check_metadata(metadata, (*root, "metadata"))
    spec = pod.get("spec")
    if spec is not None:
        _check_spec(spec, (*root, "spec"))
    return pod


def _check_metadata(metadata: Any, where: _Path) -> None:
    if not isinstance(metadata, dict):
        _fail(where, OBJECT, metadata)
    _strings(metadata, ("name", "generateName", "namespace"), where)
    for key in ("labels", "annotations"):
        _string_map(metadata.get(key), where, key)
    for index, owner in enumerate(
        _objects(metadata.get("ownerReferences"), where, "ownerReferences")
    ):
        for key, value in owner.items():
            if value is None or key not in _OWNER:
                continue
            if key == "controller":
                if not isinstance(value, bool):
                    _fail((*where, "ownerReferences", index, key), BOOLEAN, value)
            elif not isinstance(value, str):
                _fail((*where, "ownerReferences", index, key), STRING, value)


def _check_spec(spec: Any, where: _Path) -> None:
    if not isinstance(spec, dict):
        _fail(where, OBJECT, spec)
    _strings(spec, ("hostname", "subdomain", "restartPolicy"), where)
    _booleans(spec, ("hostNetwork", "hostUsers", "hostIPC"), where)
    _string_map(spec.get("nodeSelector"), where, "nodeSelector")
    if (context := spec.get("securityContext")) is not None:
        _security_context(context, (*where, "securityContext"))
    _claims(spec.get("resourceClaims"), where, "resourceClaims")
    if (resources := spec.get("resources")) is not None:
        _check_resources(resources, (*where, "resources"))
    if (system := spec.get("os")) is not None:
        if not isinstance(system, dict):
            _fail((*where, "os"), OBJECT, system)
        _strings(system, ("name",), (*where, "os"))
    for index, volume in enumerate(_objects(spec.get("volumes"), where, "volumes")):
        name = volume.get("name")
        if not isinstance(name, str) and name is not None:
            _fail((*where, "volumes", index, "name"), STRING, name)
        if len(volume) > 1 or name is None:
            _check_volume(volume, where, index)
    if (tolerations := spec.get("tolerations")) is not None:
        for index, toleration in enumerate(_objects(tolerations, where, "tolerations")):
            for key, value in toleration.items():
                if not isinstance(value, str) and key in _TOLERATION and value is not None:
                    _fail((*where, "tolerations", index, key), STRING, value)
    if (affinity := spec.get("affinity")) is not None:
        _check_affinity(affinity, (*where, "affinity"))
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(_objects(spec.get(kind), where, kind)):
            _check_container(container, where, kind, index)


def _check_affinity(affinity: object, where: _Path) -> None:
    """Check what the nodes must have: the other parts of an affinity are not read."""
    node: Any = affinity
    for key in ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"):
        if not isinstance(node, dict):
            _fail(where, OBJECT, node)
        node, where = node.get(key), (*where, key)
        if node is None:
            return
    if not isinstance(node, dict):
        _fail(where, OBJECT, node)
    for index, term in enumerate(
        _objects(node.get("nodeSelectorTerms"), where, "nodeSelectorTerms")
    ):
        expressions = term.get("matchExpressions")
        if expressions is None:
            continue
        at = (*where, "nodeSelectorTerms", index)
        for position, expression in enumerate(_objects(expressions, at, "matchExpressions")):
            if not _is_expression(expression):  # else a path would be made for each, to no end
                _strings(expression, ("key", "operator"), (*at, "matchExpressions", position))
                _string_list(
                    expression.get("values"), (*at, "matchExpressions", position), "values"
                )


def _is_expression(expression: Object) -> bool:
    """Tell what is surely fine."""
    for key, found in expression.items():
        if isinstance(found, str):
            if key == "values":
                return False
        elif key == "values" and isinstance(found, list):
            for value in found:
                if not isinstance(value, str):
                    return False
        else:
            return False
    return True


def _check_volume(volume: Object, where: _Path, index: int) -> None:
    if (empty := volume.get("emptyDir")) is not None:
        at = (*where, "volumes", index, "emptyDir")
        if not isinstance(empty, dict):
            _fail(at, OBJECT, empty)
        _strings(empty, ("medium",), at)
    if (host := volume.get("hostPath")) is not None:
        at = (*where, "volumes", index, "hostPath")
        if not isinstance(host, dict):
            _fail(at, OBJECT, host)
        _strings(host, ("path",), at)
    if (downward := volume.get("downwardAPI")) is not None:
        at = (*where, "volumes", index, "downwardAPI")
        if not isinstance(downward, dict):
            _fail(at, OBJECT, downward)
        for position, item in enumerate(_objects(downward.get("items"), at, "items")):
            if item:
                _strings(item, ("path",), (*at, "items", position))


def _check_container(container: Object, where: _Path, kind: str, index: int) -> None:
    """Check the fields that are there; the path of one is written only where it is wrong or has fields of its own."""
    for key, value in container.items():
        if value is None or key not in _CONTAINER:
            continue
        if key in _CONTAINER_TEXTS:
            if not isinstance(value, str):
                _fail((*where, kind, index, key), STRING, value)
            continue
        at = (*where, kind, index)
        if key == "env":
            for position, entry in enumerate(_objects(value, at, key)):
                text = entry.get("value")
                if (
                    not isinstance(entry.get("name"), str)
                    or (text is not None and not isinstance(text, str))
                    or ("valueFrom" in entry and not _is_source(entry["valueFrom"]))
                ):
                    _check_variable(entry, (*at, key, position))
        elif key in ("command", "args"):
            _string_list(value, at, key)
        elif key == "volumeMounts":
            for position, mount in enumerate(_objects(value, at, key)):
                if not isinstance(mount.get("name"), str) or not isinstance(
                    mount.get("mountPath"), str
                ):
                    _strings(mount, ("name", "mountPath"), (*at, key, position), required=True)
                if "subPathExpr" in mount:
                    _strings(mount, ("subPathExpr",), (*at, key, position))
        elif key == "volumeDevices":
            for position, device in enumerate(_objects(value, at, key)):
                _strings(device, ("devicePath",), (*at, key, position), required=True)
        elif key == "resources":
            _check_resources(value, (*at, key))
        elif key == "securityContext":
            _security_context(value, (*at, key))
        elif key == "lifecycle":
            if not isinstance(value, dict):
                _fail((*at, key), OBJECT, value)
            for event, hook in value.items():
                if not _is_command(hook):
                    _check_hook(hook, (*at, key, event))
        else:
            _check_hook(value, (*at, key))


def _claims(value: Any, where: _Path, key: str) -> None:
    for index, claim in enumerate(_objects(value, where, key)):
        for field, text in claim.items():
            if not isinstance(text, str) and text is not None and field in _CLAIM:
                _fail((*where, key, index, field), STRING, text)


def is_int64(number: Any) -> bool:
    """Tell whether a whole number is one that Go and orjson can hold; a manifest of the dry run may have others."""
    return bool(-(2**63) <= number < 2**63)


def _check_resources(resources: object, where: _Path) -> None:
    """Check the resources of a container, or of the whole pod."""
    if not isinstance(resources, dict):
        _fail(where, OBJECT, resources)
    for key in ("limits", "requests"):
        _quantities(resources.get(key), where, key)
    _claims(resources.get("claims"), where, "claims")


def _is_command(hook: object) -> bool:
    """Tell what is surely fine: a command of texts, or nothing."""
    if not isinstance(hook, dict):
        return False
    run = hook.get("exec")
    if run is None:
        return True
    if not isinstance(run, dict):
        return False
    words = run.get("command")
    if not isinstance(words, list):
        return False
    for word in words:  # noqa: SIM110  # all() would make a generator
        if not isinstance(word, str):
            return False
    return True


def _check_hook(hook: object, where: _Path) -> None:
    """Check what a probe or a lifecycle hook runs."""
    if hook is None:
        return
    if not isinstance(hook, dict):
        _fail(where, OBJECT, hook)
    if (run := hook.get("exec")) is not None:
        if not isinstance(run, dict):
            _fail((*where, "exec"), OBJECT, run)
        _string_list(run.get("command"), (*where, "exec"), "command")


def _is_source(source: object) -> bool:
    """Tell what is surely fine, without a path for each: a single reference whose fields are texts."""
    if not isinstance(source, dict) or len(source) != 1:
        return False
    for reference in source.values():
        if not isinstance(reference, dict):
            return False
        for text in reference.values():
            if not isinstance(text, str):
                return False
    return True


def _check_variable(entry: Object, where: _Path) -> None:
    _strings(entry, ("name",), where, required=True)
    _strings(entry, ("value",), where)
    source = entry.get("valueFrom")
    if source is None:
        return
    if not isinstance(source, dict):
        _fail((*where, "valueFrom"), OBJECT, source)
    for kind, reference in source.items():
        if reference is None or kind not in podspec.REFERENCES:
            continue
        at = (*where, "valueFrom", kind)
        if not isinstance(reference, dict):
            _fail(at, OBJECT, reference)
        _strings(reference, ("fieldPath", "name", "key"), at)


def _security_context(value: Any, where: _Path) -> None:
    if not isinstance(value, dict):
        _fail(where, OBJECT, value)
    if not value:
        return
    _booleans(value, ("privileged", "runAsNonRoot", "allowPrivilegeEscalation"), where)
    for key in ("runAsUser", "runAsGroup"):
        number = value.get(key)
        if number is not None and (number.__class__ is not int or not is_int64(number)):
            _fail((*where, key), INTEGER, number)
    for key in ("seLinuxOptions", "seccompProfile", "appArmorProfile"):
        _string_map(value.get(key), where, key)
    if (capabilities := value.get("capabilities")) is not None:
        if not isinstance(capabilities, dict):
            _fail((*where, "capabilities"), OBJECT, capabilities)
        for key in ("add", "drop"):
            _string_list(capabilities.get(key), (*where, "capabilities"), key)


def _strings(
    holder: Object, keys: tuple[str, ...], where: _Path, *, required: bool = False
) -> None:
    for key in keys:
        value = holder.get(key)
        if not isinstance(value, str) and (required or value is not None):
            _fail((*where, key), STRING, value)


def _booleans(holder: Object, keys: tuple[str, ...], where: _Path) -> None:
    for key in keys:
        value = holder.get(key)
        if value is not None and not isinstance(value, bool):
            _fail((*where, key), BOOLEAN, value)


def _string_map(value: Any, where: _Path, key: str) -> None:
    if value is None:
        return
    if not isinstance(value, dict):
        _fail((*where, key), OBJECT, value)
    for name, text in value.items():
        if not isinstance(text, str):
            _fail((*where, key, _Key(name)), STRING, text)


def _string_list(value: Any, where: _Path, key: str) -> None:
    if value is None:
        return
    if not isinstance(value, list):
        _fail((*where, key), LIST, value)
    for index, text in enumerate(value):
        if not isinstance(text, str):
            _fail((*where, key, index), STRING, text)


def _quantities(value: Any, where: _Path, key: str) -> None:
    if value is None:
        return
    if not isinstance(value, dict):
        _fail((*where, key), OBJECT, value)
    for name, quantity in value.items():
        if quantity.__class__ not in (str, int, float):
            _fail((*where, key, _Key(name)), "a quantity", quantity)
        if quantity.__class__ is int and not is_int64(quantity):
            _fail((*where, key, _Key(name)), "a quantity of at most 64 bits", quantity)


def _objects(value: Any, where: _Path, key: str) -> list[Object]:
    if value is None:
        return []
    if not isinstance(value, list):
        _fail((*where, key), LIST, value)
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            _fail((*where, key, index), OBJECT, item)
    return value


def _fail(where: _Path, expected: str, found: object) -> NoReturn:
    path = "".join([_written(part) for part in where]).removeprefix(".")
    raise MalformedReview(f"{path}: expected {expected}, found {type_name(found)}")


def _written(part: str | int | _Key) -> str:
    if isinstance(part, _Key):
        return f"[{part.text[:_LONGEST_KEY]!r}]"
    return f"[{part}]" if isinstance(part, int) else f".{part[:_LONGEST_KEY]}"
