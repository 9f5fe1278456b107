"""Check the structure of a pod once, so that everything behind it may rely on the types of the fields that it reads.

The API server sends well-formed pods only; a manifest typed into the dry run, or a hostile body, need not be one.
"""

from __future__ import annotations

from typing import Any, NoReturn

from webhook.core.errors import MalformedReview
from webhook.core.model import Object
from webhook.core.value_types import BOOLEAN, INTEGER, LIST, OBJECT, STRING, type_name


def check_pod(pod: object, where: str = "pod") -> Object:
    """Return *pod* once its structure is known to be that of a Pod.

    Missing and null fields are fine, and so are fields that nothing here reads. *where* starts the path in messages.

    Raises MalformedReview naming the first field of a wrong type, ``request.object.spec.containers[0].env``.
    """
    if not isinstance(pod, dict):
        _fail(where, OBJECT, pod)
    metadata = pod.get("metadata")
    if metadata is not None:
        _check_metadata(metadata, f"{where}.metadata")
    spec = pod.get("spec")
    if spec is not None:
        _check_spec(spec, f"{where}.spec")
    return pod


def _check_metadata(metadata: Any, where: str) -> None:
    if not isinstance(metadata, dict):
        _fail(where, OBJECT, metadata)
    _strings(metadata, ("name", "generateName", "namespace"), where)
    for key in ("labels", "annotations"):
        _string_map(metadata.get(key), where, key)
    for index, owner in enumerate(_objects(metadata.get("ownerReferences"), where, "ownerReferences")):
        at = f"{where}.ownerReferences[{index}]"
        _strings(owner, ("apiVersion", "kind", "name", "uid"), at)
        _booleans(owner, ("controller",), at)


def _check_spec(spec: Any, where: str) -> None:
    if not isinstance(spec, dict):
        _fail(where, OBJECT, spec)
    _strings(spec, ("hostname", "subdomain", "restartPolicy"), where)
    _booleans(spec, ("hostNetwork", "hostUsers", "hostIPC"), where)
    _string_map(spec.get("nodeSelector"), where, "nodeSelector")
    _security_context(spec.get("securityContext"), f"{where}.securityContext")
    _objects(spec.get("resourceClaims"), where, "resourceClaims")
    if (resources := spec.get("resources")) is not None:
        _check_resources(resources, f"{where}.resources")
    if (system := spec.get("os")) is not None:
        if not isinstance(system, dict):
            _fail(f"{where}.os", OBJECT, system)
        _strings(system, ("name",), f"{where}.os")
    for index, volume in enumerate(_objects(spec.get("volumes"), where, "volumes")):
        at = f"{where}.volumes[{index}]"
        _strings(volume, ("name",), at)
        if (empty := volume.get("emptyDir")) is not None:
            if not isinstance(empty, dict):
                _fail(f"{at}.emptyDir", OBJECT, empty)
            _strings(empty, ("medium",), f"{at}.emptyDir")
        if (downward := volume.get("downwardAPI")) is not None:
            if not isinstance(downward, dict):
                _fail(f"{at}.downwardAPI", OBJECT, downward)
            _objects(downward.get("items"), f"{at}.downwardAPI", "items")
    for key in ("containers", "initContainers"):
        for index, container in enumerate(_objects(spec.get(key), where, key)):
            _check_container(container, f"{where}.{key}[{index}]")


def _check_container(container: Object, where: str) -> None:
    _strings(container, ("name", "image", "imagePullPolicy", "restartPolicy"), where)
    for key in ("command", "args"):
        _string_list(container.get(key), where, key)
    for index, entry in enumerate(_objects(container.get("env"), where, "env")):
        name, value, source = entry.get("name"), entry.get("value"), entry.get("valueFrom")
        if name.__class__ is str and (value is None or value.__class__ is str) and source is None:
            continue
        _check_variable(entry, f"{where}.env[{index}]")
    for index, mount in enumerate(_objects(container.get("volumeMounts"), where, "volumeMounts")):
        if mount.get("name").__class__ is not str or mount.get("mountPath").__class__ is not str:
            _strings(mount, ("name", "mountPath"), f"{where}.volumeMounts[{index}]", required=True)
    if (resources := container.get("resources")) is not None:
        _check_resources(resources, f"{where}.resources")
    _security_context(container.get("securityContext"), f"{where}.securityContext")
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        if (hook := container.get(key)) is not None:
            _check_hook(hook, f"{where}.{key}")
    if (hooks := container.get("lifecycle")) is not None:
        if not isinstance(hooks, dict):
            _fail(f"{where}.lifecycle", OBJECT, hooks)
        for key, hook in hooks.items():
            if hook is not None:
                _check_hook(hook, f"{where}.lifecycle.{key}")


def _check_resources(resources: object, where: str) -> None:
    """Check the resources of a container, or of the whole pod."""
    if not isinstance(resources, dict):
        _fail(where, OBJECT, resources)
    for key in ("limits", "requests"):
        _quantities(resources.get(key), where, key)
    _objects(resources.get("claims"), where, "claims")


def _check_hook(hook: object, where: str) -> None:
    """Check what a probe or a lifecycle hook runs."""
    if not isinstance(hook, dict):
        _fail(where, OBJECT, hook)
    if (run := hook.get("exec")) is not None:
        if not isinstance(run, dict):
            _fail(f"{where}.exec", OBJECT, run)
        _string_list(run.get("command"), f"{where}.exec", "command")


def _check_variable(entry: Object, where: str) -> None:
    _strings(entry, ("name",), where, required=True)
    _strings(entry, ("value",), where)
    source = entry["valueFrom"]  # else the variable would not have come here
    if not isinstance(source, dict):
        _fail(f"{where}.valueFrom", OBJECT, source)
    for kind in ("fieldRef", "configMapKeyRef", "secretKeyRef", "resourceFieldRef"):
        if (reference := source.get(kind)) is None:
            continue
        if not isinstance(reference, dict):
            _fail(f"{where}.valueFrom.{kind}", OBJECT, reference)
        _strings(reference, ("fieldPath", "name", "key"), f"{where}.valueFrom.{kind}")


def _security_context(value: Any, where: str) -> None:
    if not value:
        if value is None or isinstance(value, dict):
            return
        _fail(where, OBJECT, value)
    if not isinstance(value, dict):
        _fail(where, OBJECT, value)
    _booleans(value, ("privileged", "runAsNonRoot", "allowPrivilegeEscalation"), where)
    for key in ("runAsUser", "runAsGroup"):
        number = value.get(key)
        if number is not None and (not isinstance(number, int) or isinstance(number, bool)):
            _fail(f"{where}.{key}", INTEGER, number)
    for key in ("seLinuxOptions", "seccompProfile", "appArmorProfile"):
        if (profile := value.get(key)) is not None and not isinstance(profile, dict):
            _fail(f"{where}.{key}", OBJECT, profile)
    if (capabilities := value.get("capabilities")) is not None:
        if not isinstance(capabilities, dict):
            _fail(f"{where}.capabilities", OBJECT, capabilities)
        for key in ("add", "drop"):
            _string_list(capabilities.get(key), f"{where}.capabilities", key)


def _strings(holder: Object, keys: tuple[str, ...], where: str, *, required: bool = False) -> None:
    for key in keys:
        value = holder.get(key)
        if value.__class__ is not str and (required or value is not None):
            _fail(f"{where}.{key}", STRING, value)


def _booleans(holder: Object, keys: tuple[str, ...], where: str) -> None:
    for key in keys:
        value = holder.get(key)
        if value is not None and value.__class__ is not bool:
            _fail(f"{where}.{key}", BOOLEAN, value)


def _string_map(value: Any, where: str, key: str) -> None:
    if value is None:
        return
    if not isinstance(value, dict):
        _fail(f"{where}.{key}", OBJECT, value)
    for name, text in value.items():
        if text.__class__ is not str:
            _fail(f"{where}.{key}[{name!r}]", STRING, text)


def _string_list(value: Any, where: str, key: str) -> None:
    if value is None:
        return
    if not isinstance(value, list):
        _fail(f"{where}.{key}", LIST, value)
    for index, text in enumerate(value):
        if text.__class__ is not str:
            _fail(f"{where}.{key}[{index}]", STRING, text)


def _quantities(value: Any, where: str, key: str) -> None:
    if value is None:
        return
    if not isinstance(value, dict):
        _fail(f"{where}.{key}", OBJECT, value)
    for name, quantity in value.items():
        if quantity.__class__ not in (str, int, float):
            _fail(f"{where}.{key}[{name!r}]", "a quantity", quantity)


def _objects(value: Any, where: str, key: str) -> list[Object]:
    if value is None:
        return []
    if not isinstance(value, list):
        _fail(f"{where}.{key}", LIST, value)
    for index, item in enumerate(value):
        if item.__class__ is not dict:
            _fail(f"{where}.{key}[{index}]", OBJECT, item)
    return value


def _fail(where: str, expected: str, found: object) -> NoReturn:
    raise MalformedReview(f"{where}: expected {expected}, found {type_name(found)}")
