"""Find the pod templates of any object, and make of each the pods that would reach admission.

A kind has a row in the table KINDS: from (API group, kind) to the function that finds its pods.
In other kinds whatever looks like a pod template is taken for one.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from webhook.core import podspec
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.names import PROFILE
from webhook.core.printable import printable
from webhook.core.value_types import OBJECT, type_name
from webhook.core.yaml_reader import Document
from webhook.dry_run.templates.documents import parse_documents
from webhook.dry_run.templates.kinds import any_object, expander
from webhook.dry_run.templates.pods import Found, Ignored, Template, Workload
from webhook.dry_run.templates.section import Section

__all__ = ["Ignored", "Template", "Templates"]
__all__ += ["find_templates", "parse_documents", "require_namespace"]


class Templates(NamedTuple):
    """Hold what was found in an input, in its order."""

    pods: tuple[Template, ...]
    ignored: tuple[Ignored, ...]


def find_templates(
    documents: Iterable[Document], namespace: str | None = None, *, most_pods: int | None = None
) -> Templates:
    """Make the pods of all *documents*; objects without a namespace get *namespace* or ``default``.

    Each pod gets the warnings of its document. *most_pods*: after so many no more are looked for.
    """
    objects = [
        (source, value, document.warnings)
        for number, document in enumerate(documents, 1)
        for source, value in _items(document.value, f"document {number}")
    ]
    runtimes = {source: value for source, value, _ in objects if "TrainingRuntime/" in source}
    pods: list[Template] = []
    ignored: list[Ignored] = []
    for source, value, warned in objects:
        for found in _find(source, value, namespace or "default", runtimes):
            if isinstance(found, Ignored):
                ignored.append(found)
                continue
            pods.append(replace(found, notes=(*_misplaced(value, found.pod), *warned)))
            if len(pods) == most_pods:
                return Templates(tuple(pods), tuple(ignored))
    return Templates(tuple(pods), tuple(ignored))


def require_namespace(documents: Iterable[Document], namespace: str) -> None:
    """Raise InputError, in kubectl's words, where an object names another namespace.

    Source: kubernetes cli-runtime pkg/resource/visitor.go RequireNamespace.
    """
    for source, value in _items([each.value for each in documents], "document"):
        found = _metadata(value).get("namespace")
        if isinstance(found, str) and found not in ("", namespace):
            raise InputError(
                f'{source}: the namespace from the provided object "{printable(found)}" does not '
                f'match the namespace "{namespace}". You must pass '
                f"'--namespace={printable(found)}' to perform this operation."
            )


def _metadata(value: Any) -> Object:
    found = value.get("metadata") if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _items(value: Any, source: str) -> Iterator[tuple[str, Any]]:
    """Yield each object, named ``Job/train`` for messages, or *source*; lists are taken apart."""
    items, kind = value, ""
    if isinstance(value, dict) and str(value.get("kind")).endswith("List"):
        items, kind = value.get("items"), str(value["kind"]).removesuffix("List")
    if not isinstance(items, list):
        metadata, own = _metadata(value), isinstance(value, dict) and value.get("kind")
        generated = f"{metadata['generateName']}*" if metadata.get("generateName") else "?"
        # cut, since each message about a pod holds it
        yield f"{own}/{metadata.get('name') or generated}"[:500] if own else source, value
        return
    for index, item in enumerate(items):
        if kind and isinstance(item, dict) and "kind" not in item:
            item = {"apiVersion": value.get("apiVersion"), "kind": kind, **item}
        yield from _items(item, f"{source} item {index}")


def _find(source: str, value: Any, namespace: str, runtimes: Mapping[str, Object]) -> Found:
    is_empty = True
    try:
        if not isinstance(value, dict):
            raise InputError(f"expected {OBJECT}, found {type_name(value)}")
        workload = Workload(Section(value), source, namespace, runtimes)
        if not workload.kind:
            raise InputError("names no kind: it is not a Kubernetes object")
        workload = workload.part(workload.root, 1)  # its own namespace, if it has one
        expand = expander(workload)
        for found in expand(workload):
            is_empty = False
            yield found
    except InputError as error:
        yield Ignored(source, str(error), broken=True)
        return
    if is_empty:
        is_known = expand is not any_object
        lack = f", without which a {workload.kind} makes no pod: is a key misspelt or empty?"
        yield Ignored(source, "holds no pod template" + lack * is_known, broken=is_known)


def _misplaced(value: Object, pod: Object) -> Iterator[str]:
    """Yield a note about a profile that stands where nothing reads it."""
    labels = _metadata(value).get("labels")
    if isinstance(labels, dict) and PROFILE in labels and PROFILE not in podspec.labels(pod):
        where = "write it into metadata.labels of its pod template"
        yield f"label {PROFILE} of the {value['kind']} itself counts for nothing: {where}"
