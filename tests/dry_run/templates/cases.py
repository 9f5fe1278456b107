"""Manifests as rows of the YAML files beside this: a manifest goes in, pods or a reason come out.

A row is written by ``of`` (apiVersion, kind, name), ``spec`` and ``metadata``, or as a whole
``manifest``; ``beside`` are other objects of the input. What stands before the rows is there for
its anchors.
"""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.tables import read
from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads import TrainingPod, recognise
from webhook.core.yaml_reader import Document
from webhook.dry_run.templates import Template, Templates, find_templates

_SHIPPED = "is shown with the one that Trainer ships"


def rows(file: str, *says: str) -> dict[str, Object]:
    """Read the rows of a file, each with its ``manifest``; *says*: what they may hold besides."""
    *_, made = read(__file__, f"{file}.yaml")
    known_keys = {"of", "spec", "metadata", "manifest", *says}
    assert [row for row in made.values() if row.keys() - known_keys] == [], f"of {known_keys}"
    return {title: {"manifest": _manifest(row), **row} for title, row in made.items()}


def _manifest(row: Object) -> Any:
    if "of" not in row:
        return row.get("manifest")
    api_version, kind, name = row["of"].split()
    return workload(api_version, kind, name, row["spec"], **row.get("metadata", {}))


def each_row(found: dict[str, Object]) -> Callable[[Any], Any]:
    """Give a test each row, named by its title."""
    return pytest.mark.parametrize("row", found.values(), ids=found)


def workload(
    api_version: str, kind: str, name: str, spec: Any, namespace: str = "train", **metadata: Any
) -> Object:
    named = {"name": name, "namespace": namespace, **metadata}
    return {"apiVersion": api_version, "kind": kind, "metadata": named, "spec": spec}


def find(*manifests: Any, **options: Any) -> Templates:
    return find_templates(map(Document, copy.deepcopy(manifests)), **options)


def whole(found: Templates) -> list[Template]:
    """Return the pods of an input in which nothing but Trainer's own runtime is missing."""
    assert [each.message for each in found.ignored if _SHIPPED not in each.message] == []
    return list(found.pods)


def names(found: Templates) -> list[str]:
    return [podspec.display_name(each.pod) for each in found.pods]


def lacking(part: Any, whole: Any, path: str = "") -> list[str]:
    """Tell what of *part* is not in *whole*; null is an absent key, lists match one by one."""
    if isinstance(part, dict) and isinstance(whole, dict):
        inner = ((key, value, whole.get(key)) for key, value in part.items())
    elif isinstance(part, list) and isinstance(whole, list) and len(part) == len(whole):
        inner = ((at, a, b) for at, (a, b) in enumerate(zip(part, whole, strict=True)))
    else:
        return [] if part == whole else [f"{path}: {whole!r}, not {part!r}"]
    return [told for key, a, b in inner for told in lacking(a, b, f"{path}.{key}")]


def view(found: Template) -> Object:
    """Return what rows say of a pod: what it is made of, and what is known of it."""
    member, first = recognise(found.pod), facts(found.pod)["containers"][0]
    rendezvous = member.rendezvous if isinstance(member, TrainingPod) else None
    return {
        **facts(found.pod),
        "env": first["env"],
        "variables": [each["name"] for each in podspec.env(podspec.containers(found.pod)[0])],
        "metadata": found.pod["metadata"],
        "spec": found.pod["spec"],
        "system": member.system,
        "role": rendezvous.role if rendezvous else None,
        "replicas": found.replicas,
        "source": found.source,
        "notes": list(found.notes),
    }


def facts(pod: Object) -> Object:
    """Return what recognition and injection read of a pod, so that pods can be compared."""
    metadata, spec = pod["metadata"], pod["spec"]
    owners = [each for each in metadata.get("ownerReferences") or () if each.get("controller")]
    return {
        **{key: metadata.get(key) for key in ("name", "generateName", "namespace")},
        **{key: spec.get(key) for key in ("hostname", "subdomain")},
        "labels": _without_uids(metadata.get("labels")),
        "annotations": _without_uids(metadata.get("annotations")),
        "owner": [[each.get(key) for key in ("apiVersion", "kind", "name")] for each in owners],
        "containers": [_container(each) for each in spec["containers"]],
    }


def _container(each: Object) -> Object:
    requests, mounts = each.get("resources", {}).get("requests", {}), each.get("volumeMounts") or ()
    return {
        **{key: each.get(key) for key in ("name", "image", "command", "args")},
        "env": {entry["name"]: _source(entry) for entry in each.get("env") or ()},
        "devices": {key: str(value) for key, value in requests.items() if "/" in key},
        "mounts": [mount["mountPath"] for mount in mounts if _is_own(mount["mountPath"])],
    }


def _source(entry: Object) -> Any:
    reference = (entry.get("valueFrom") or {}).get("fieldRef")
    return reference["fieldPath"] if reference else entry.get("valueFrom") or entry.get("value")


def _without_uids(texts: dict[str, str] | None) -> dict[str, str]:
    """Return labels or annotations without what nobody can know."""
    unknown = ("uid", "scheduling.k8s.io/group-name")
    return {key: value for key, value in (texts or {}).items() if not key.endswith(unknown)}


def _is_own(path: str) -> bool:
    """Tell a mount of the template from what a real cluster adds to every pod."""
    return path != "/etc/volcano" and not path.startswith("/var/run/secrets/")
