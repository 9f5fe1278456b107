"""Find the pod templates of any object, and complete each into the pods that would reach admission.

Each family of kinds has a file, with a table KINDS from (API group, kind) to the function that finds its pods. A new kind needs a
file and a line here; in kinds that no file knows, whatever looks like a pod template is taken for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from webhook.core import podspec
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.names import PROFILE
from webhook.core.printable import printable
from webhook.core.value_types import OBJECT
from webhook.dry_run.templates import (
    appwrapper,
    builtin,
    fallback,
    grove,
    jobset,
    kubedl,
    leaderworkerset,
    mpijob,
    pytorchjob,
    ray,
    stormservice,
    torch_on_k8s,
    trainjob,
    volcano,
)
from webhook.dry_run.templates.documents import parse_documents
from webhook.dry_run.templates.section import Section
from webhook.dry_run.templates.workload import (
    Expand,
    Found,
    Ignored,
    Peers,
    Template,
    Workload,
    by_name,
)

__all__ = [
    "KINDS",
    "Ignored",
    "Template",
    "Templates",
    "display_name",
    "find_templates",
    "named_objects",
    "parse_documents",
    "require_namespace",
]

KINDS: Mapping[tuple[str, str], Expand] = {
    **builtin.KINDS,
    **volcano.KINDS,
    **pytorchjob.KINDS,
    **mpijob.KINDS,
    **trainjob.KINDS,
    **jobset.KINDS,
    **leaderworkerset.KINDS,
    **kubedl.KINDS,
    **torch_on_k8s.KINDS,
    **ray.KINDS,
    **grove.KINDS,
    **stormservice.KINDS,
    **appwrapper.KINDS,
}
_MAX_VARIABLES = 500_000
_LONGEST_NAME = 253
"""Characters of a name or a kind: each part of the object is named by them. Source: apimachinery validation DNS1123SubdomainMaxLength."""


@dataclass(frozen=True, slots=True)
class Templates:
    """Hold what was found in an input, in its order."""

    pods: tuple[Template, ...]
    ignored: tuple[Ignored, ...]


def find_templates(
    documents: Sequence[Any],
    namespace: str | None = None,
    warnings: Mapping[int, Sequence[str]] | None = None,
    *,
    most_pods: int | None = None,
) -> Templates:
    """Complete the pods of all *documents*; objects that name no namespace get *namespace*, else ``default``.

    *warnings*: what `parse_documents` fills, by the id of a document; each pod of the document gets them. *most_pods*: after so many
    no more are looked for.

    Raises InputError where the pods together would be too large to show.
    """
    objects = [
        (source, value, (warnings or {}).get(id(document), ()))
        for number, document in enumerate(documents, 1)
        for source, value in _items(document, f"document {number}")
    ]
    peers = by_name(value for _, value, _ in objects)
    pods: list[Template] = []
    ignored: list[Ignored] = []
    variables = 0
    for source, value, notes in objects:
        for found in _find(source, value, namespace or "default", peers):
            if isinstance(found, Ignored):
                ignored.append(found)
                continue
            pods.append(replace(found, notes=(*found.notes, *notes)) if notes else found)
            if len(pods) == most_pods:
                return Templates(tuple(pods), tuple(ignored))
            variables += sum(
                len(container.get("env") or ()) + 10
                for container in found.pod["spec"]["containers"]
            )
            if variables > _MAX_VARIABLES:
                raise InputError(
                    f"{found.source}: the pods of this input are too many to show at once: split it"
                )
    return Templates(tuple(pods), tuple(ignored))


def require_namespace(documents: Sequence[Any], namespace: str) -> None:
    """Raise InputError, in kubectl's words, where an object names another namespace.

    Source: kubernetes cli-runtime pkg/resource/visitor.go RequireNamespace.
    """
    for source, value in named_objects(documents):
        metadata = value.get("metadata") if isinstance(value, dict) else None
        if not isinstance(metadata, dict):
            continue
        found = metadata.get("namespace")
        if isinstance(found, str) and found not in ("", namespace):
            name = f"{value.get('kind', source)}/{display_name(metadata) or '?'}"
            found = printable(found)
            raise InputError(
                f'{name}: the namespace from the provided object "{found}" does not match the namespace "{namespace}". '
                f"You must pass '--namespace={found}' to perform this operation."
            )


def named_objects(documents: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Yield each object with a name for messages, should it lack one; lists are taken apart."""
    for number, document in enumerate(documents, 1):
        yield from _items(document, f"document {number}")


def _items(value: Any, source: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _items(item, f"{source} item {index}")
    elif isinstance(value, dict) and _is_list(value):
        kind = value["kind"].removesuffix("List")
        for index, item in enumerate(value["items"]):
            if kind and isinstance(item, dict) and "kind" not in item:
                item = {"apiVersion": value.get("apiVersion"), "kind": kind, **item}
            yield from _items(item, f"{source} item {index}")
    else:
        yield source, value


def _is_list(value: Object) -> bool:
    kind = value.get("kind")
    return isinstance(kind, str) and kind.endswith("List") and isinstance(value.get("items"), list)


def _find(source: str, value: Any, namespace: str, peers: Peers) -> Found:
    if not isinstance(value, dict):
        yield Ignored(source, f"is not {OBJECT}", broken=True)
        return
    kind, metadata = value.get("kind"), value.get("metadata")
    if not isinstance(kind, str) or not kind:
        yield Ignored(source, "names no kind: it is not a Kubernetes object", broken=True)
        return
    names = metadata if isinstance(metadata, dict) else {}
    name = display_name(names)
    for what, text in (("kind", kind), ("name", name.rstrip("*"))):
        if len(text) > _LONGEST_NAME:
            problem = f"its {what} has {len(text)} characters, and Kubernetes takes {_LONGEST_NAME}"
            yield Ignored(source, problem, broken=True)
            return
    source = f"{kind}/{name or '?'}"
    note, count = _misplaced(kind, names), 0
    try:
        root = Section(value)
        own = root.node("metadata").text("namespace", namespace)
        workload = Workload(root, source, own, peers, _expand)
        for found in _expand(workload):
            count += 1
            yield _noted(found, note)
    except InputError as error:
        yield Ignored(source, str(error), broken=True)
        return
    if count == 0:
        is_known = _known(workload) is not None
        lack = (
            f", without which a {kind} makes no pod: is a key misspelt or empty?"
            if is_known
            else ""
        )
        yield Ignored(source, f"holds no pod template{lack}", broken=is_known)


def _misplaced(kind: str, metadata: Object) -> str:
    """Return a note about a profile that is named where nothing reads it; empty where there is none."""
    labels, annotations = metadata.get("labels"), metadata.get("annotations")
    if isinstance(annotations, dict) and PROFILE in annotations:
        return f"annotation {PROFILE} of the {kind} counts for nothing: it is a label of pods and namespaces"
    if kind != "Pod" and isinstance(labels, dict) and PROFILE in labels:
        return f"label {PROFILE} of the {kind} itself counts for nothing: write it into metadata.labels of its pod template"
    return ""


def _noted(found: Template | Ignored, note: str) -> Template | Ignored:
    if not note or isinstance(found, Ignored) or PROFILE in podspec.labels(found.pod):
        return found
    return replace(found, notes=(note,))


def display_name(metadata: Object) -> str:
    """Return the name of an object of the input, or its generateName with a star; empty where it has neither."""
    name, generate = metadata.get("name"), metadata.get("generateName")
    if isinstance(name, str) and name:
        return name
    return f"{generate}*" if isinstance(generate, str) and generate else ""


def _expand(workload: Workload) -> Found:
    yield from (_known(workload) or fallback.expand)(workload)


def _known(workload: Workload) -> Expand | None:
    group, _, _version = workload.root.text("apiVersion").rpartition("/")
    return KINDS.get((group, workload.kind))
