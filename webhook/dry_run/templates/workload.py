"""Hold an object of the input, and make the pods that its controller would create.

A pod gets what its controller writes, as far as anything reads it, and what the API server adds
before it calls the webhook. What cannot be known yet is a placeholder: the zero uid, a generateName
without its random end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from webhook.core.errors import InputError, MalformedReview
from webhook.core.model import Object
from webhook.core.pod_check import check_pod
from webhook.dry_run.templates.section import Section, fail

UID = "00000000-0000-0000-0000-000000000000"
UNKNOWN_SUFFIX = "xxxxx"
_MOST = 2**31 - 1
"""What a field ``replicas`` can hold; a product of several may be longer than any text."""


@dataclass(frozen=True, slots=True)
class Template:
    """Hold a pod as it would reach admission, and where its template stands in the input.

    *source*: ``Job/train spec.tasks[0].template``. *notes*: mistakes in the object around it, which
    admission never sees. *workload*: the object of the input, ``Job/train``. *replicas*: how many
    pods this one stands for, itself among them.
    """

    source: str
    namespace: str
    pod: Object
    notes: tuple[str, ...] = ()
    workload: str = ""
    replicas: int = 1


@dataclass(frozen=True, slots=True)
class Ignored:
    """Say why a part of the input gives no pod; *broken* where a cluster would refuse it."""

    source: str
    message: str
    broken: bool = False


Found: TypeAlias = Iterator[Template | Ignored]
Expand: TypeAlias = Callable[["Workload"], Found]
"""Find the pods of one kind of object."""
Peers: TypeAlias = Mapping[tuple[str, str], Mapping[str | None, Object]]
"""Objects by kind and name, then by namespace, so that each is found without a search."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Hold an object of the input whose templates are looked for.

    *source*: how messages name the object of the input, ``Job/train``; *root* may be a part of it.
    *peers*: the objects of the input. *expand* finds the pods of an object inside this one.
    *copies*: how many objects like this one a wrapper makes.
    """

    root: Section
    source: str
    namespace: str
    peers: Peers
    expand: Callable[[Workload], Found]
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
        """Return ``metadata.name``, or generateName with a placeholder."""
        metadata = self.root.node("metadata")
        generated = metadata.text("generateName")
        name = metadata.text("name") or (generated and generated + UNKNOWN_SUFFIX)
        return name or fail(metadata.at("name"), "a name", None)

    def part(self, root: Section, copies: int) -> Workload:
        """Return the workload of an object that this one holds, *copies* times."""
        namespace = root.node("metadata").text("namespace", self.namespace)
        return replace(self, root=root, namespace=namespace, copies=self.copies * copies)

    def owner(self) -> Object:
        """Return the ownerReference that a pod of this object carries."""
        return owner_reference(self.root.text("apiVersion"), self.kind, self.name)

    def pod(
        self,
        template: Section,
        name: str = "",
        *,
        generate_name: str = "",
        owner: Object | None = None,
        labels: Mapping[str, str] = {},
        annotations: Mapping[str, str] = {},
        hostname: str = "",
        subdomain: str = "",
    ) -> Object:
        """Make a pod from a template, owned by the workload unless another *owner* is given.

        The pod shares nothing with the input. Raises InputError where the template is not that of a
        pod.
        """
        pod = checked_pod(template)
        own, spec = pod.get("metadata") or {}, pod["spec"]
        metadata = {
            "name": name,
            "generateName": generate_name,
            "namespace": self.namespace,
            "labels": {**(own.get("labels") or {}), **labels},
            "annotations": {**(own.get("annotations") or {}), **annotations},
            "ownerReferences": [owner or self.owner()],
        }
        spec |= {"hostname": hostname} if hostname else {}
        spec |= {"subdomain": subdomain} if subdomain else {}
        present = {key: value for key, value in metadata.items() if value}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": present, "spec": spec}

    def template(self, template: Section, pod: Object, replicas: int = 1) -> Template:
        """Finish *pod*, which stands for *replicas* pods, as the API server does."""
        _default_requests(pod)
        source = f"{self.source} {template.path}" if template.path else self.source
        namespace = pod["metadata"].get("namespace") or self.namespace
        number = min(replicas * self.copies, _MOST)
        return Template(source, namespace, pod, workload=self.source, replicas=number)

    def several(
        self,
        holder: Section,
        make: Callable[[int], Object],
        *,
        key: str = "replicas",
        count: int | None = None,
        template: Section | None = None,
        alone: bool = True,
        copies: int = 1,
    ) -> Found:
        """Yield rank 0 of equal pods, and one other for the rest; *make* takes the index.

        *holder* says at *key* how many there are, unless *count* does; it holds the template. Pods
        that are not ``alone`` in their job have one that stands for all. *copies*: of the group.
        """
        count = holder.number(key) if count is None else count
        if count == 0:
            yield self.ignore(holder.at(key), "is 0: no pod is created")
            return
        shown = {0: count} if count == 1 or not alone else {0: 1, 1: count - 1}
        for index, like in shown.items():
            yield self.template(template or holder.node("template"), make(index), like * copies)

    def ignore(self, path: str, message: str) -> Ignored:
        """Return why the part at *path* gives no pod."""
        return Ignored(f"{self.source} {path}" if path else self.source, message)


def checked_pod(template: Section) -> Object:
    """Return a copy of a template.

    Raises InputError unless it has a pod's structure, with at least one container.
    """
    value: Object = copied(
        {key: template.value[key] for key in ("metadata", "spec") if key in template.value}
    )
    try:
        check_pod(value, template.path or "pod")
    except MalformedReview as error:
        raise InputError(str(error)) from error
    if not (value.get("spec") or {}).get("containers"):
        path = f"{template.at('spec')}.containers"
        raise InputError(f"{path}: expected at least one container, found none")
    return value


def copied(value: Any, holder: str = "") -> Any:
    """Copy a JSON value; what YAML aliases share becomes separate, and null amounts go.

    The API server reads a null amount as 0, and drops it from a custom resource.
    """
    if isinstance(value, dict):
        keeps_null = holder not in ("limits", "requests")
        items = value.items()
        return {key: copied(item, key) for key, item in items if keeps_null or item is not None}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def owner_reference(api_version: str, kind: str, name: str) -> Object:
    """Return the ownerReference of a controller."""
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": UID, "controller": True}


def all_containers(pod: Object) -> list[Object]:
    """Return init containers and containers."""
    return [*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]]


def variables(values: Mapping[str, str | Object]) -> list[Object]:
    """Return entries of ``env``; an object is a ``valueFrom``."""
    return [
        {"name": name, "value" if isinstance(value, str) else "valueFrom": value}
        for name, value in values.items()
    ]


def label_of_pod(key: str, holder: str = "labels") -> Object:
    """Return the ``valueFrom`` that reads a label of the pod, or one of its ``annotations``."""
    return {"fieldRef": {"fieldPath": f"metadata.{holder}['{key}']"}}


def append_env(containers: Iterable[Object], values: Mapping[str, str | Object]) -> None:
    """Append variables without looking for those already there, as most operators do."""
    for container in containers:
        append_to(container, "env", *variables(values))


def prepend_env(containers: Iterable[Object], values: Mapping[str, str | Object]) -> None:
    """Put variables first, in place of the user's of the same names."""
    for container in containers:
        others = [one for one in container.get("env") or () if one.get("name") not in values]
        container["env"] = variables(values) + others


def append_to(holder: Object, key: str, *items: Object | str) -> None:
    """Append to the list at *key*, making it where it is missing or null."""
    if items:
        holder[key] = [*(holder.get(key) or ()), *items]


def _default_requests(pod: Object) -> None:
    """Copy each limit without a request into the requests.

    Source: kubernetes pkg/apis/core/v1/defaults.go SetDefaults_Pod.
    """
    for container in all_containers(pod):
        resources = container.get("resources") or {}
        if limits := resources.get("limits"):
            resources["requests"] = {**limits, **(resources.get("requests") or {})}
