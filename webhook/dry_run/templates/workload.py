"""Hold an object of the input and the pods found in it, as all files of this folder need them.

A pod is completed by what its controller writes, as far as anything reads it, and by what the API server does before it calls the
webhook.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from webhook.core.errors import InputError, MalformedReview
from webhook.core.model import Object
from webhook.core.pod_check import check_pod
from webhook.dry_run.templates.pod_parts import (
    UNKNOWN_SUFFIX,
    copied,
    default_requests,
    fill_amounts,
    owner_reference,
)
from webhook.dry_run.templates.section import Section, fail

_MOST = 2**31 - 1
"""What a field ``replicas`` can hold; a product of several may be longer than any text."""


@dataclass(frozen=True, slots=True)
class Template:
    """Hold a pod as it would reach admission, and the place of its template in the input: ``Job/train spec.tasks[0].template``.

    *notes*: mistakes in the object around it, which admission never sees. *workload*: the object of the input, ``Job/train``.
    *replicas*: for how many pods this one stands: itself, and those like it that are not shown.
    """

    source: str
    namespace: str
    pod: Object
    notes: tuple[str, ...] = ()
    workload: str = ""
    replicas: int = 1


@dataclass(frozen=True, slots=True)
class Ignored:
    """Hold why a part of the input gives no pod; *broken* where the API server or a controller would refuse it."""

    source: str
    message: str
    broken: bool = False


Found: TypeAlias = Iterator[Template | Ignored]
Expand: TypeAlias = Callable[["Workload"], Found]
"""Find the pods of one kind of object."""
Peers: TypeAlias = Mapping[tuple[str, str], Mapping[str | None, Object]]
"""Objects by kind and name, and those by namespace: an input of thousands is not looked through for each of them."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Hold an object of the input whose templates are looked for.

    *source*: how messages name the object of the input, ``Job/train``; *root* may be a part of it. *peers*: the objects of the
    input. *expand* finds the pods of an object inside this one. *pod_labels*: what a wrapper adds to every template. *copies*: how
    many objects like this one a wrapper makes, of which one is shown.
    """

    root: Section
    source: str
    namespace: str
    peers: Peers
    expand: Callable[[Workload], Found]
    pod_labels: Mapping[str, str] = field(default_factory=dict)
    copies: int = 1

    @property
    def kind(self) -> str:
        """Return ``kind``."""
        return self.root.text("kind")

    @property
    def spec(self) -> Section:
        """Return ``spec``."""
        return self.root.node("spec")

    @property
    def name(self) -> str:
        """Return ``metadata.name``; where it is generated, generateName with a placeholder."""
        metadata = self.root.node("metadata")
        name = metadata.text("name") or metadata.text("generateName")
        if not name:
            fail(metadata.at("name"), "a name", None)
        return name if metadata.text("name") else name + UNKNOWN_SUFFIX

    @property
    def annotations(self) -> dict[str, str]:
        """Return ``metadata.annotations``."""
        return self.root.node("metadata").texts("annotations")

    def part(
        self, root: Section, pod_labels: Mapping[str, str] | None = None, copies: int = 1
    ) -> Workload:
        """Return the workload of an object that this one holds, *copies* times."""
        namespace = root.node("metadata").text("namespace", self.namespace)
        labels = {**self.pod_labels, **(pod_labels or {})}
        return replace(
            self, root=root, namespace=namespace, pod_labels=labels, copies=self.copies * copies
        )

    def owner(self) -> Object:
        """Return the ownerReference that a pod of this object carries."""
        return owner_reference(self.root.text("apiVersion"), self.kind, self.name)

    def pod(
        self,
        template: Section,
        *,
        name: str = "",
        generate_name: str = "",
        owner: Object | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> Object:
        """Make a pod from a template, as controllers do: its labels, annotations, finalizers and spec, and what they add.

        The pod shares nothing with the input. Raises InputError where the template is not that of a pod.
        """
        pod = checked_pod(template, self.root.text("apiVersion"))
        own = pod.get("metadata") or {}
        metadata: Object = {"name": name} if name else {}
        if generate_name:
            metadata["generateName"] = generate_name
        metadata["namespace"] = self.namespace
        for key, added in (
            ("labels", {**self.pod_labels, **(labels or {})}),
            ("annotations", annotations or {}),
        ):
            merged = {**(own.get(key) or {}), **added}
            if merged:
                metadata[key] = merged
        if owner is not None:
            metadata["ownerReferences"] = [owner]
        if own.get("finalizers"):
            metadata["finalizers"] = own["finalizers"]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod["spec"]}

    def template(self, template: Section, pod: Object, replicas: int = 1) -> Template:
        """Finish *pod* as the API server does before it calls the webhook, and say where it came from.

        *replicas*: for how many pods of this object it stands.
        """
        default_requests(pod)
        source = f"{self.source} {template.path}" if template.path else self.source
        namespace = pod["metadata"].get("namespace") or self.namespace
        return Template(
            source,
            namespace,
            pod,
            workload=self.source,
            replicas=min(replicas * self.copies, _MOST),
        )

    def ignore(self, path: str, message: str) -> Ignored:
        """Return why the part at *path* gives no pod."""
        return Ignored(f"{self.source} {path}" if path else self.source, message)


def by_name(values: Iterable[Any]) -> Peers:
    """Return the objects among *values* that have a kind and a name; of several that are the same, the first."""
    found: dict[tuple[str, str], dict[str | None, Object]] = {}
    for value in values:
        metadata = value.get("metadata") if isinstance(value, dict) else None
        if isinstance(metadata, dict):
            key = value.get("kind"), metadata.get("name"), metadata.get("namespace")
            match key:
                case str(kind), str(name), str() | None as namespace:
                    found.setdefault((kind, name), {}).setdefault(namespace, value)
    return found


def checked_pod(template: Section, api_version: str = "v1") -> Object:
    """Return a copy of a template, which an object of *api_version* holds.

    Raises InputError unless it has a pod's structure, with at least one container.
    """
    value = copied(
        {key: template.value[key] for key in ("metadata", "spec") if key in template.value}
    )
    fill_amounts(value, is_custom="." in api_version.partition("/")[0])
    try:
        check_pod(value, template.path or "pod")
    except MalformedReview as error:
        raise InputError(str(error)) from error
    if not (value.get("spec") or {}).get("containers"):
        raise InputError(
            f"{template.at('spec')}.containers: expected at least one container, found none"
        )
    return value  # type: ignore[no-any-return]  # JSON boundary


def shown_indices(replicas: int, *, alone: bool = True) -> Iterator[tuple[int, int]]:
    """Yield which of *replicas* equal pods to show, and for how many each stands: rank 0 for itself, and one other for the rest.

    Unless they are *alone*, the first stands for all.
    """
    if replicas and not alone:
        yield 0, replicas
    elif replicas:
        yield 0, 1
        if replicas > 1:
            yield 1, replicas - 1
