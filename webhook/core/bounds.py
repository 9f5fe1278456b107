"""Bound what is read of a pod, before it is read: whoever may create pods can send one of 3 MB, of any shape.

Mutation comes before Kubernetes' own validation, so that none of its limits holds here. The bounds are far above what real pods hold:
of a thousand public training manifests the largest has 6 containers, 42 variables, 9 volumes, 32 networks and 7,000 characters of text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from webhook.core import names, podspec
from webhook.core.model import Object

CONTAINERS: Final = 200
"""Containers and init containers together."""
VARIABLES: Final = 2_000
"""Variables of all containers together; so are the next four."""
WORDS: Final = 5_000
"""Words of command and args, also of probes and lifecycle hooks."""
MOUNTS: Final = 2_000
QUANTITIES: Final = 1_000
"""Limits, requests, claims and capabilities, and the parts of CONFINEMENTS."""
CHARACTERS: Final = 262_144
"""Characters of all that is read of the containers; also of the labels, and of the volumes, tolerations, claims and labels of nodes
together. Linux starts no program with one word of 131,072. Source: execve(2)."""
COMMAND: Final = 32_768
"""Characters of a container's command and args that are read as a shell would. A longer one is a program of its own, and not read."""
COMMANDS: Final = 65_536
"""The same of all app containers together, of which each may be read."""
SIGNS: Final = 8_192
"""Quotes, separators, expansions and the like among them, each of which takes as long as ten plain words. Real scripts of 32 KB have
3,300."""
_SIGNS: Final = b"\n'\"\\$`#;&|()<>{}"
VOLUMES: Final = 500
TOLERATIONS: Final = 1_000
NODE_VALUES: Final = 10_000
"""Expressions of the required node affinity, and their values."""
OWNERS: Final = 100
FILES: Final = 2_000
"""Files of the downward API in all volumes together."""
LABELS: Final = 1_000
"""Labels of the pod; so many may its nodeSelector name."""
LONGEST_NAME: Final = 4_096
"""Characters of a name or a path. Kubernetes takes 253 of most names; Linux 4,096 of a path."""
LONGEST_LABEL: Final = 512
"""Characters of a label, key and value, or of a field of an owner. Kubernetes takes 380 of a label."""
ALL_ANNOTATIONS: Final = 262_144
"""Characters of all annotations. Source: apimachinery pkg/api/validation TotalAnnotationSizeLimitB."""
LONGEST_ANNOTATION: Final = 32_768
"""Characters of an annotation that is read."""
OPERATIONS: Final = 1_000
"""Operations of a patch; an ordinary one has about thirty."""
PATCH_BYTES: Final = 1 << 20
REVIEW_BYTES: Final = 512 << 10
"""Bytes of a review of a pod. Read, it takes at most 20 MB and some 30 ms, whatever it holds."""
_READ_ANNOTATIONS: Final = (
    names.NETWORKS,
    names.DEFAULT_NETWORK,
    names.ISTIO_EXCLUDE_INTERFACES,
    names.CONTAINER,
    names.ADDED_DEVICES,
    names.STATUS,
)
CONFINEMENTS: Final = ("seLinuxOptions", "seccompProfile", "appArmorProfile")
"""Parts of a securityContext that the wait container gets too."""
_RESOURCES: Final = ("limits", "requests", "claims")
_HOOKS: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_SOURCES: Final = ("emptyDir", "hostPath", "configMap")
_FIELDS: Final = 10
"""More than such a reference has."""
_TEXTS: Final = ("name", "image", "imagePullPolicy", "restartPolicy")


def excess(pod: Object) -> str:
    """Say what of a pod is more than is read, with the number found and the bound; empty where nothing is.

    The pod's structure was checked.
    """
    return _metadata_excess(pod.get("metadata") or {}) or _spec_excess(pod.get("spec") or {})


def within(pod: Object) -> Object:
    """Return the part of a pod with an excess that is within the bounds: by it the pod is recognised, or left alone."""
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    owners = (metadata.get("ownerReferences") or ())[:OWNERS]
    kept: Object = {
        "name": (metadata.get("name") or "")[:LONGEST_NAME],
        "labels": _short(metadata.get("labels"), LONGEST_LABEL),
        "annotations": _short(metadata.get("annotations"), LONGEST_NAME),
        "ownerReferences": [owner for owner in owners if not _long_text(owner, LONGEST_LABEL)],
    }
    containers = (spec.get("containers") or ())[:CONTAINERS]
    share = max(1, len(containers))
    volumes: list[Object] = spec.get("volumes") or []
    return {
        "metadata": kept,
        "spec": {
            "hostname": (spec.get("hostname") or "")[:LONGEST_NAME],
            "containers": [_cut(container, share) for container in containers],
            "volumes": [
                {"name": (volume.get("name") or "")[:LONGEST_NAME]} for volume in volumes[:VOLUMES]
            ],
        },
    }


def _metadata_excess(metadata: Object) -> str:
    for key in ("name", "generateName", "namespace"):
        if len(metadata.get(key) or "") > LONGEST_NAME:
            return _too_long(f"metadata.{key}", len(metadata[key]))
    owners = metadata.get("ownerReferences") or ()
    if len(owners) > OWNERS:
        return _too_many("metadata.ownerReferences", "owners", len(owners), OWNERS)
    for owner in owners:
        if length := _long_text(owner, LONGEST_LABEL):
            return _too_long("a field of metadata.ownerReferences", length, LONGEST_LABEL)
    labels: dict[str, str] = metadata.get("labels") or {}
    if len(labels) > LABELS:
        return _too_many("metadata.labels", "labels", len(labels), LABELS)
    found = 0
    for key, value in labels.items():
        length = len(key) + len(value)
        if length > LONGEST_LABEL:
            return _too_long("a label", length, LONGEST_LABEL)
        found += length
    if found > CHARACTERS:
        return _too_many("metadata.labels", "characters", found, CHARACTERS)
    annotations: dict[str, str] = metadata.get("annotations") or {}
    found = 0
    for key, value in annotations.items():
        found += len(key) + len(value)
    if found <= LONGEST_ANNOTATION:
        return ""
    for key in _READ_ANNOTATIONS:
        if len(annotations.get(key) or "") > LONGEST_ANNOTATION:
            return _too_many(
                f"annotation {key}", "characters", len(annotations[key]), LONGEST_ANNOTATION
            )
    if found > ALL_ANNOTATIONS:
        return _too_many("metadata.annotations", "characters", found, ALL_ANNOTATIONS)
    return ""


def _spec_excess(spec: Object) -> str:
    for key in ("hostname", "subdomain", "restartPolicy"):
        if len(spec.get(key) or "") > LONGEST_NAME:
            return _too_long(f"spec.{key}", len(spec[key]))
    volumes = spec.get("volumes") or ()
    if len(volumes) > VOLUMES:
        return _too_many("spec.volumes", "volumes", len(volumes), VOLUMES)
    files = characters = 0
    for volume in volumes:
        length = len(volume.get("name") or "")
        if length > LONGEST_NAME:
            return _too_long("the name of a volume", length)
        characters += length
        for key in _SOURCES:
            if key in volume:
                characters += _characters(volume[key])
        if shown := volume.get("downwardAPI"):
            files += len(shown.get("items") or ())
            if files > FILES:
                break
            for item in shown.get("items") or ():
                characters += _characters(item) + _characters(item.get("fieldRef"))
    if files > FILES:
        files = sum(
            [len((volume.get("downwardAPI") or {}).get("items") or ()) for volume in volumes]
        )
        return _too_many("spec.volumes", "files of the downward API", files, FILES)
    selector = spec.get("nodeSelector") or ()
    if len(selector) > LABELS:
        return _too_many("spec.nodeSelector", "labels", len(selector), LABELS)
    if selector:
        characters += _key_characters(selector) + _characters(selector)
    tolerations = spec.get("tolerations") or ()
    if len(tolerations) > TOLERATIONS:
        return _too_many("spec.tolerations", "tolerations", len(tolerations), TOLERATIONS)
    for toleration in tolerations:
        characters += _characters(toleration)
    if affinity := spec.get("affinity"):
        if (found := _node_values(affinity)) > NODE_VALUES:
            return _too_many(
                "spec.affinity.nodeAffinity", "expressions and values", found, NODE_VALUES
            )
        characters += _node_characters(affinity)
    claims = spec.get("resourceClaims") or ()
    if len(claims) > QUANTITIES:
        return _too_many("spec.resourceClaims", "claims", len(claims), QUANTITIES)
    if longest := _longest_claim(claims):
        return _too_long("a name in spec.resourceClaims", longest)
    for claim in claims:
        characters += _characters(claim)
    if characters > CHARACTERS:
        where = "spec.volumes, tolerations, resourceClaims and what chooses its nodes"
        return _too_many(where, "characters", characters, CHARACTERS)
    containers: list[Object] = [
        *(spec.get("containers") or ()),
        *(spec.get("initContainers") or ()),
    ]
    if len(containers) > CONTAINERS:
        return _too_many(
            "spec.containers and spec.initContainers", "containers", len(containers), CONTAINERS
        )
    variables = words = mounts = quantities = 0
    if (whole := spec.get("resources")) is not None:
        quantities = sum([len(whole.get(key) or ()) for key in _RESOURCES])
    for container in containers:
        variables += len(container.get("env") or ())
        words += len(container.get("command") or ()) + len(container.get("args") or ())
        mounts += len(container.get("volumeMounts") or ())
        if "volumeDevices" in container:
            mounts += len(container["volumeDevices"] or ())
        for key in _HOOKS:
            if key in container:
                words += _hook_words(container[key])
        if (hooks := container.get("lifecycle")) is not None:
            words += len(hooks)
            for hook in hooks.values():
                words += _hook_words(hook)
        if (resources := container.get("resources")) is not None:
            for key in _RESOURCES:
                quantities += len(resources.get(key) or ())
        if context := container.get("securityContext"):
            if capabilities := context.get("capabilities"):
                quantities += len(capabilities.get("add") or ()) + len(
                    capabilities.get("drop") or ()
                )
            for key in CONFINEMENTS:
                if key in context:
                    quantities += len(context[key] or ())
    if variables > VARIABLES:
        return _too_many("its containers", "variables", variables, VARIABLES)
    if words > WORDS:
        return _too_many("its containers", "words of command and args", words, WORDS)
    if mounts > MOUNTS:
        return _too_many("its containers", "volumeMounts", mounts, MOUNTS)
    if quantities > QUANTITIES:
        return _too_many(
            "its containers", "resources, claims and capabilities", quantities, QUANTITIES
        )
    return _text_excess(containers, whole or {}) or _command_excess(spec.get("containers") or ())


def _node_terms(affinity: Object) -> list[Object]:
    """Return the terms of the required node affinity."""
    required = (affinity.get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    return required.get("nodeSelectorTerms") or []


def _node_values(affinity: Object) -> int:
    """Count what is read of the required node affinity."""
    found = 0
    for term in _node_terms(affinity):
        found += 1
        for expression in term.get("matchExpressions") or ():
            found += 1 + len(expression.get("values") or ())
    return found


def _node_characters(affinity: Object) -> int:
    """Count the characters of what is read of the required node affinity, whose values were counted."""
    found = 0
    for term in _node_terms(affinity):
        for expression in term.get("matchExpressions") or ():
            found += _characters(expression)
            if values := expression.get("values"):
                for value in values:
                    found += len(value)
    return found


def _text_excess(containers: Iterable[Object], of_pod: Object) -> str:
    """Look at each text once, in plain loops: every ordinary pod comes this way. *of_pod*: its own resources."""
    characters = 0
    for key in _RESOURCES[:2]:
        if amounts := of_pod.get(key):
            characters += _key_characters(amounts) + _characters(amounts)
    for container in containers:
        for key in _TEXTS:
            length = len(container.get(key) or "")
            if length > LONGEST_NAME:
                return _too_long(f"the {key} of a container", length)
            characters += length
        for key in ("command", "args"):
            for word in container.get(key) or ():
                characters += len(word)
        for entry in container.get("env") or ():
            length = len(entry["name"])
            if length > LONGEST_NAME:
                return _too_long("the name of a variable", length)
            characters += length
            value = entry.get("value")
            if value is not None:
                characters += len(value)
            if len(entry) > 2 or value is None:
                characters += _reference_characters(entry)
        for mount in container.get("volumeMounts") or ():
            length = (
                len(mount["name"]) + len(mount["mountPath"]) + len(mount.get("subPathExpr") or "")
            )
            if length > LONGEST_NAME:
                return _too_long("a volumeMount", length)
            characters += length
        for key in _HOOKS:
            if key in container:
                characters += _hook_characters(container[key])
        if (hooks := container.get("lifecycle")) is not None:
            for event, hook in hooks.items():
                characters += len(event) + _hook_characters(hook)
        if "volumeDevices" in container:
            for device in container["volumeDevices"] or ():
                if len(device["devicePath"]) > LONGEST_NAME:
                    return _too_long("a volumeDevice", len(device["devicePath"]))
                characters += len(device["devicePath"])
        if (resources := container.get("resources")) is not None:
            if claims := resources.get("claims"):
                if length := _longest_claim(claims):
                    return _too_long("the claim of a container", length)
                characters += sum(map(_characters, claims))
            for key in ("limits", "requests"):
                for resource, amount in (resources.get(key) or {}).items():
                    length = len(resource) + (len(amount) if isinstance(amount, str) else 0)
                    if length > LONGEST_NAME:
                        return _too_long(f"one of the {key} of a container", length)
                    characters += length
        if context := container.get("securityContext"):
            if capabilities := context.get("capabilities"):
                for key in ("add", "drop"):
                    for capability in capabilities.get(key) or ():
                        if len(capability) > LONGEST_NAME:
                            return _too_long("a capability of a container", len(capability))
                        characters += len(capability)
            for key in CONFINEMENTS:
                if confinement := context.get(key):
                    characters += _key_characters(confinement) + _characters(confinement)
    if characters > CHARACTERS:
        return _too_many("its containers", "characters", characters, CHARACTERS)
    return ""


def _command_excess(containers: Iterable[Object]) -> str:
    found = 0
    read: list[str] = []
    for container in containers:
        words = podspec.argv(container)
        length = 0
        for word in words:
            length += len(word)
            if length > COMMAND:
                break
        else:
            found += length
            read += words
    if found > COMMANDS:
        return _too_many("its containers", "characters of command and args", found, COMMANDS)
    if found <= SIGNS:
        return ""
    text = "".join(read).encode(errors="replace")
    signs = len(text) - len(text.translate(None, _SIGNS))
    if signs > SIGNS:
        return _too_many(
            "its containers", "quotes, separators and expansions in command and args", signs, SIGNS
        )
    return ""


def _characters(item: Any) -> int:
    """Count the characters of the texts of an object, apart from its keys; 0 for anything else."""
    found = 0
    if isinstance(item, dict):
        for text in item.values():
            if isinstance(text, str):
                found += len(text)
    return found


def _reference_characters(variable: Object) -> int:
    source: Object = variable.get("valueFrom") or {}
    found = 0
    if len(source) == 1:
        for key, reference in source.items():
            if key in podspec.REFERENCES:
                found += _characters(reference)
        return found
    for key in podspec.REFERENCES:
        if key in source:
            found += _characters(source[key])
    return found


def _is_long_reference(variable: Object) -> bool:
    source = variable.get("valueFrom") or {}
    return len(source) > _FIELDS or any(
        len(each or ()) > _FIELDS or _characters(each) > LONGEST_NAME for each in source.values()
    )


def _key_characters(item: Mapping[str, Any]) -> int:
    return sum(map(len, item))


def _hook_characters(hook: Object | None) -> int:
    found = 0
    if hook and (run := hook.get("exec")):
        for word in run.get("command") or ():
            found += len(word)
    return found


def _longest_claim(claims: Iterable[Object]) -> int:
    """Return the length of the longest text of the claims if it is too long, else 0."""
    return max([_long_text(claim, LONGEST_NAME) for claim in claims], default=0)


def _hook_words(hook: Object | None) -> int:
    run = hook.get("exec") if hook else None
    return len(run.get("command") or ()) if run else 0


def _long_text(item: Mapping[str, Any], most: int) -> int:
    """Return the length of the longest text of an owner or a claim if it is too long, else 0."""
    longest = max([len(text) for text in item.values() if isinstance(text, str)], default=0)
    return longest if longest > most else 0


def _short(texts: Mapping[str, str] | None, longest: int) -> dict[str, str]:
    return {
        key: text
        for key, text in islice((texts or {}).items(), LABELS)
        if len(key) + len(text) <= longest
    }


def _short_quantities(amounts: Mapping[str, Any] | None, most: int) -> Object:
    return {
        resource: amount
        for resource, amount in islice((amounts or {}).items(), most)
        if len(resource) + len(str(amount)) <= LONGEST_NAME
    }


def _cut(container: Object, share: int) -> Object:
    """Cut one of *share* containers."""
    kept: Object = {
        "name": (container.get("name") or "")[:LONGEST_NAME],
        "env": [
            entry
            for entry in (container.get("env") or ())[: VARIABLES // share]
            if len(entry["name"]) + len(entry.get("value") or "") <= LONGEST_NAME
            and not _is_long_reference(entry)
        ],
    }
    for key in ("command", "args"):
        words = (container.get(key) or ())[: WORDS // share]
        if sum(map(len, words)) <= min(LONGEST_NAME, COMMANDS // (2 * share)):
            kept[key] = words
    resources = container.get("resources") or {}
    kept["resources"] = {
        key: _short_quantities(resources.get(key), QUANTITIES // share)
        for key in ("limits", "requests")
    }
    return kept


def _too_many(where: str, what: str, found: int, most: int) -> str:
    verb = "hold" if where == "its containers" else "holds"
    return f"{where} {verb} {found} {what}, and at most {most} are read"


def _too_long(where: str, found: int, most: int = LONGEST_NAME) -> str:
    return f"{where} is {found} characters long, and at most {most} are read"
