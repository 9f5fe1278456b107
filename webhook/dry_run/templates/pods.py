"""Make the pods that a controller would create of an object of the input.

A pod gets what its controller writes (shapes.yaml), as far as anything reads it, and what the API
server adds before it calls the webhook. What cannot be known yet is a placeholder: the zero uid, a
generateName without its random end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

import yaml

from webhook.core import podspec
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
Values: TypeAlias = Mapping[str, object]
"""What goes into the braces of shapes.yaml."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Hold an object of the input whose templates are looked for.

    *source*: how messages name the object of the input, ``Job/train``; *root* may be a part of it.
    *runtimes*: those of TrainJobs in the input, by ``ClusterTrainingRuntime/torch``. *copies*: how
    many objects like this one a wrapper makes.
    """

    root: Section
    source: str
    namespace: str
    runtimes: Mapping[str, Object]
    copies: int = 1

    @property
    def kind(self) -> str:
        """Return ``kind``."""
        return self.root.get("kind", "")

    @property
    def spec(self) -> Section:
        """Return ``spec``."""
        return self.root.node("spec")

    @property
    def name(self) -> str:
        """Return ``metadata.name``, or generateName with a placeholder."""
        metadata = self.root.node("metadata")
        generated = metadata.get("generateName", "")
        name = metadata.get("name", "") or (generated and generated + UNKNOWN_SUFFIX)
        return name or fail(metadata.at("name"), "a name", None)

    def part(self, root: Section, copies: int) -> Workload:
        """Return the workload of an object that this one holds, *copies* times."""
        namespace = root.node("metadata").get("namespace", "") or self.namespace
        return replace(self, root=root, namespace=namespace, copies=self.copies * copies)

    def several(
        self,
        template: Section,
        count: int,
        shapes: str,
        values: Values = {},  # noqa: B006  # nobody changes it
        *,
        second: Values = {},  # noqa: B006
        env: Object = {},  # noqa: B006
        alone: bool = True,
        copies: int = 1,
    ) -> Found:
        """Yield rank 0 of *count* pods of a template, and one other for the rest.

        *values*: what goes into the braces of the *shapes*; *second*: what differs in the other.
        *env*: further variables of the containers. Pods that are not ``alone`` in their job have
        one that stands for all. *copies*: of the group.
        """
        if count * copies * self.copies == 0:
            yield self.ignore(template.path, "is asked for 0 times: no pod is created")
            return
        shown = {0: count} if count == 1 or not alone else {0: 1, 1: count - 1}
        for index, like in shown.items():
            numbers = {"index": index, "next": index + 1, "first": "" if index else "master"}
            own = {**numbers, **values, **(second if index else {})}
            made = self._pod(template, shapes, own, env)
            yield self.template(template, made, like * copies)

    def _pod(self, template: Section, shapes: str, values: Values, env: Object) -> Object:
        """Make a pod of a template, as the *shapes* say. It shares nothing with the input."""
        own = {"job": self.name, "kind": self.kind.lower(), "namespace": self.namespace}
        shape = fill(shapes, {**own, "uid": UID, "suffix": UNKNOWN_SUFFIX, **values})
        pod = checked_pod(template)
        meta: Object = pod.get("metadata") or {}
        own_owner = (self.root.get("apiVersion", ""), self.kind, self.name)
        api_version, kind, name = shape["owner"].split() if "owner" in shape else own_owner
        owner = {"apiVersion": api_version, "kind": kind, "name": name, "uid": UID}
        metadata: Object = {
            **{key: shape.get(key) for key in ("name", "generateName")},
            "namespace": self.namespace,
            "labels": {**(meta.get("labels") or {}), **shape.get("labels", {})},
            "annotations": {**(meta.get("annotations") or {}), **shape.get("annotations", {})},
            "ownerReferences": [{**owner, "controller": True}],
        }
        spec = pod["spec"]
        spec |= {key: shape[key] for key in ("hostname", "subdomain") if key in shape}
        spec |= {key: text for key, text in shape.get("otherwise", {}).items() if not spec.get(key)}
        first = shape.get("first_env", {})
        for container in podspec.every_container(pod):
            last = {**shape.get("env", {}), **env} if container in podspec.containers(pod) else {}
            own_env = [each for each in podspec.env(container) if each.get("name") not in first]
            if first or last:
                container["env"] = [*variables(first), *own_env, *variables(last)]
        present = {key: value for key, value in metadata.items() if value}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": present, "spec": spec}

    def template(self, template: Section, pod: Object, replicas: int = 1) -> Template:
        """Finish *pod*, which stands for *replicas* pods, as the API server does.

        It copies each limit without a request into the requests. Source: kubernetes
        pkg/apis/core/v1/defaults.go SetDefaults_Pod.
        """
        for container in podspec.every_container(pod):
            resources = container.get("resources") or {}
            if limits := resources.get("limits"):
                resources["requests"] = {**limits, **(resources.get("requests") or {})}
        source = f"{self.source} {template.path}" if template.path else self.source
        namespace = pod["metadata"].get("namespace") or self.namespace
        number = min(replicas * self.copies, _MOST)
        return Template(source, namespace, pod, workload=self.source, replicas=number)

    def ignore(self, path: str, message: str) -> Ignored:
        """Return why the part at *path* gives no pod."""
        return Ignored(f"{self.source} {path}" if path else self.source, message)


@cache
def read_data(file: str) -> Mapping[str, Object]:
    """Return what a YAML file beside this one holds."""
    text = files("webhook.dry_run.templates").joinpath(file).read_text(encoding="utf-8")
    found: Mapping[str, Object] = yaml.load(text, Loader=yaml.CSafeLoader)
    return found


def fill(shapes: str, values: Values) -> Object:
    """Return the *shapes* of these names in one, with *values* in their braces."""
    made: Object = {}
    for name in shapes.split():
        for key, value in _filled(read_data("shapes.yaml")[name], values).items():
            made[key] = {**made.get(key, {}), **value} if isinstance(value, dict) else value
    return made


def _filled(shape: Object, values: Values) -> Object:
    """Fill the texts of a shape; leave out those that become empty."""
    made: Object = {}
    for key, value in shape.items():
        if isinstance(value, dict):
            made[key] = _filled(value, values)
        elif (text := value.format_map(values)) or not value:
            made[key] = text
    return made


def variables(values: Mapping[str, str | Object]) -> list[Object]:
    """Return entries of ``env``; an object is a ``valueFrom``."""
    return [
        {"name": name, "value" if isinstance(value, str) else "valueFrom": value}
        for name, value in values.items()
    ]


def checked_pod(template: Section) -> Object:
    """Return a copy of a template.

    Raises InputError unless it has a pod's structure, with at least one container.
    """
    value: Object = copied({key: template.value.get(key) for key in ("metadata", "spec")})
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
