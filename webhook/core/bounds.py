"""Bound what is read of a pod, before it is read: its creator may send one of any shape.

Mutation comes before Kubernetes' own validation, so that none of its limits holds here. `pod_types`
bounds single lists, maps and names; here stands what the containers of a pod may hold together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from itertools import islice
from typing import Final, TypeAlias

import msgspec

from webhook.core import names, podspec
from webhook.core.model import Object
from webhook.core.pod_check import find_fault
from webhook.core.pod_types import (
    CONTAINERS,
    LABELS,
    LONGEST_LABEL,
    LONGEST_NAME,
    NODE_VALUES,
    OWNERS,
    QUANTITIES,
    VOLUMES,
    Container,
    Lifecycle,
    Metadata,
    Pod,
    Resources,
    Spec,
)

VARIABLES: Final = 2_000
"""Variables of all containers together; so are the next two."""
WORDS: Final = 5_000
"""Words of command and args, also of probes and lifecycle hooks."""
MOUNTS: Final = 2_000
BYTES: Final = 262_144
"""Bytes of JSON in which what is read of the spec is written; also of the labels, and characters of
all annotations. Source: apimachinery pkg/api/validation TotalAnnotationSizeLimitB."""
COMMAND: Final = 32_768
"""Characters of a container's command and args that are read as a shell would. A longer one is a
program of its own, and not read."""
COMMANDS: Final = 65_536
"""The same of all app containers together, of which each may be read."""
SIGNS: Final = 8_192
"""Quotes, separators, expansions and the like among them, each of which takes as long as ten plain
words. Real scripts of 32 KB have 3,300."""
_SIGNS: Final = b"\n'\"\\$`#;&|()<>{}"
FILES: Final = 2_000
"""Files of the downward API in all volumes together."""
LONGEST_ANNOTATION: Final = 32_768
"""Characters of an annotation that is read."""
OPERATIONS: Final = 1_000
"""Operations of a patch; an ordinary one has about thirty."""
PATCH_BYTES: Final = 1 << 20
REVIEW_BYTES: Final = 512 << 10
"""Bytes of a review of a pod. Read, it takes at most 20 MB and some 30 ms, whatever it holds."""
UID_BYTES: Final = 1_024
"""Of a larger one, the bytes that ``request.uid`` is looked for in: no user writes before it."""
_Count: TypeAlias = tuple[str, str, int, int]
"""Where, of what, how many there are, and how many may be."""
_READ_ANNOTATIONS: Final = (
    names.NETWORKS,
    names.DEFAULT_NETWORK,
    names.ISTIO_EXCLUDE_INTERFACES,
    names.CONTAINER,
    names.ADDED_DEVICES,
    names.STATUS,
)


def excess(pod: Object) -> str:
    """Say what of a checked pod is more than is read, what was found and the bound; else empty."""
    try:
        read = msgspec.convert(pod, Pod)
    except msgspec.ValidationError as error:
        path, _, found, most = find_fault(error, pod)
        what = "characters" if isinstance(found, str) else "items"
        return _too_many(path.removeprefix("."), what, len(found), most)
    spec = read.spec or Spec()
    for counted in (
        _count_metadata(read.metadata or Metadata()),
        _count_spec(spec),
        _count_commands(spec.containers or ()),
    ):
        for where, what, found, most in counted:
            if found > most:
                return _too_many(where, what, found, most)
    return ""


def within(pod: Object) -> Object:
    """Return the part of a pod that is within the bounds, by which a larger one is recognised."""
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    owners = (metadata.get("ownerReferences") or ())[:OWNERS]
    containers = podspec.containers(pod)[:CONTAINERS]
    share = max(1, len(containers))
    return {
        "metadata": {
            "name": _name(metadata),
            "labels": _short(podspec.labels(pod), LONGEST_LABEL),
            "annotations": _short(podspec.annotations(pod), LONGEST_NAME),
            "ownerReferences": [each for each in owners if len(str(each)) <= LONGEST_NAME],
        },
        "spec": {
            "hostname": _name(spec, "hostname"),
            "containers": [_cut(container, share) for container in containers],
            "volumes": [{"name": _name(volume)} for volume in podspec.volumes(pod)[:VOLUMES]],
        },
    }


def _count_metadata(metadata: Metadata) -> Iterator[_Count]:
    yield "metadata.labels", "bytes", _json_bytes(metadata.labels), BYTES
    annotations = metadata.annotations or {}
    for key in _READ_ANNOTATIONS:
        yield f"annotation {key}", "characters", len(annotations.get(key, "")), LONGEST_ANNOTATION
    found = sum(map(len, annotations)) + sum(map(len, annotations.values()))
    yield "metadata.annotations", "characters", found, BYTES


def _count_spec(spec: Spec) -> Iterator[_Count]:
    containers = [*(spec.containers or ()), *(spec.init_containers or ())]
    yield "spec.containers and spec.initContainers", "containers", len(containers), CONTAINERS
    variables = words = mounts = 0
    quantities = _quantities(spec.resources)
    for each in containers:
        variables += _count(each.env)
        words += _words(each)
        mounts += _count(each.volume_mounts, each.volume_devices)
        quantities += _quantities(each.resources)
        if context := each.security_context:
            quantities += _count(
                context.se_linux_options, context.seccomp_profile, context.app_armor_profile
            )
            if context.capabilities:
                quantities += _count(context.capabilities.add, context.capabilities.drop)
    where = "its containers"
    yield where, "variables", variables, VARIABLES
    yield where, "words of command and args", words, WORDS
    yield where, "volumeMounts", mounts, MOUNTS
    yield where, "resources, claims and capabilities", quantities, QUANTITIES
    shown = [volume.downward_api for volume in spec.volumes or ()]
    files = sum([_count(each.items) for each in shown if each])
    yield "spec.volumes", "files of the downward API", files, FILES
    yield "spec.affinity.nodeAffinity", "expressions and values", _node_values(spec), NODE_VALUES
    yield "spec", "bytes", _json_bytes(spec), BYTES


def _count(*lists: Sized | None) -> int:
    return sum(map(len, filter(None, lists)))


def _words(container: Container) -> int:
    found = _count(container.command, container.args)
    hooks = container.lifecycle or Lifecycle()
    for hook in (
        container.liveness_probe,
        container.readiness_probe,
        container.startup_probe,
        hooks.post_start,
        hooks.pre_stop,
    ):
        if hook and hook.exec:
            found += _count(hook.exec.command)
    return found


def _quantities(resources: Resources | None) -> int:
    if resources is None:
        return 0
    return _count(resources.limits, resources.requests, resources.claims)


def _node_values(spec: Spec) -> int:
    """Count what is read of the required node affinity."""
    affinity = spec.affinity and spec.affinity.node_affinity
    required = affinity and affinity.required
    terms = (required and required.node_selector_terms) or ()
    expressions = [each for term in terms for each in term.match_expressions or ()]
    return len(terms) + len(expressions) + sum([_count(each.values) for each in expressions])


def _json_bytes(read: object) -> int:
    try:
        return len(msgspec.json.encode(read))
    except UnicodeEncodeError:  # a lone surrogate, which no API server sends
        return len(repr(read))


def _count_commands(containers: Iterable[Container]) -> Iterator[_Count]:
    where = "its containers"
    found = 0
    read: list[str] = []
    for container in containers:
        words = [*(container.command or ()), *(container.args or ())]
        length = sum(map(len, words))
        if length <= COMMAND:
            found += length
            read += words
    yield where, "characters of command and args", found, COMMANDS
    if found > SIGNS:
        text = "".join(read).encode(errors="replace")
        signs = len(text) - len(text.translate(None, _SIGNS))
        yield where, "quotes, separators and expansions in command and args", signs, SIGNS


def _name(named: Object, key: str = "name") -> str:
    return (named.get(key) or "")[:LONGEST_NAME]


def _short(texts: Mapping[str, str], longest: int) -> Object:
    first = islice(texts.items(), LABELS)
    return {key: text for key, text in first if len(key) + len(text) <= longest}


def _cut(container: Object, share: int) -> Object:
    """Cut one of *share* containers."""
    env = podspec.env(container)[: VARIABLES // share]
    kept: Object = {
        "name": _name(container),
        "env": [entry for entry in env if len(str(entry)) <= LONGEST_NAME],
    }
    if len(str(resources := container.get("resources"))) <= LONGEST_NAME:
        kept["resources"] = resources
    for key in ("command", "args"):
        words = (container.get(key) or ())[: WORDS // share]
        if sum(map(len, words)) <= min(LONGEST_NAME, COMMANDS // (2 * share)):
            kept[key] = words
    return kept


def _too_many(where: str, what: str, found: int, most: int) -> str:
    verb = "hold" if where == "its containers" else "holds"
    return f"{where} {verb} {found} {what}, and at most {most} are read"
