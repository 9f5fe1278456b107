"""Manifests as rows of the YAML files beside this: a manifest goes in, pods or a reason come out.

A row is written by ``of`` (apiVersion, kind, name), ``spec`` and ``metadata``, or as a whole
``manifest``; ``beside`` are other objects of the input. What stands before the rows is there for
its anchors.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads import TrainingPod, recognise
from webhook.dry_run.templates import Template, Templates, find_templates

UNKNOWABLE = {
    "controller-revision-hash",
    "leaderworkerset.sigs.k8s.io/template-revision-hash",
    "jobset.sigs.k8s.io/job-key",
    "scheduling.k8s.io/group-name",
    "grove.io/pod-template-hash",
}
"""Hashes, and keys that hold a uid or depend on an operator's flags."""


def rows(file: str, *says: str) -> dict[str, Object]:
    """Read the rows of a file, each with its ``manifest``; *says*: what they may hold besides."""
    *_, found = yaml.safe_load(Path(__file__).with_name(f"{file}.yaml").read_text())
    made = json.loads(json.dumps(found))  # anchors share what a test may change
    known_keys = {"of", "spec", "metadata", "manifest", *says}
    assert [row for row in made.values() if row.keys() - known_keys] == [], f"of {known_keys}"
    return {title: {"manifest": _manifest(row), **row} for title, row in made.items()}


def _manifest(row: Object) -> Any:
    if "of" not in row:
        return row["manifest"]
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
    return find_templates(copy.deepcopy(list(manifests)), **options)


def names(found: Templates) -> list[str]:
    return [podspec.display_name(each.pod) for each in found.pods]


def lacking(part: Any, whole: Any, path: str = "") -> list[str]:
    """Tell what of *part* is not in *whole*; null is an absent key, lists match one by one."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return [
            told
            for key, value in part.items()
            for told in lacking(value, whole.get(key), f"{path}.{key}")
        ]
    if isinstance(part, list) and isinstance(whole, list) and len(part) == len(whole):
        pairs = enumerate(zip(part, whole, strict=True))
        return [told for at, (a, b) in pairs for told in lacking(a, b, f"{path}[{at}]")]
    return [] if part == whole else [f"{path}: {whole!r}, not {part!r}"]


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
    volumes = [volume["name"] for volume in spec.get("volumes") or ()]
    return {
        **{key: metadata.get(key) for key in ("name", "generateName", "namespace", "finalizers")},
        **{key: spec.get(key) for key in ("hostname", "subdomain")},
        "labels": known(metadata.get("labels")),
        "annotations": known(metadata.get("annotations")),
        "owner": [[each.get(key) for key in ("apiVersion", "kind", "name")] for each in owners],
        "restartPolicy": spec.get("restartPolicy", "Always"),
        "volumes": [name for name in volumes if _is_own(name)],
        "containers": [_container(each) for each in spec["containers"]],
        "initContainers": [_container(each) for each in spec.get("initContainers") or ()],
    }


def _container(each: Object) -> Object:
    requests, mounts = each.get("resources", {}).get("requests", {}), each.get("volumeMounts") or ()
    return {
        **{key: each.get(key) for key in ("name", "image", "command", "args")},
        "env": {entry["name"]: _source(entry) for entry in each.get("env") or ()},
        "devices": {key: str(value) for key, value in requests.items() if "/" in key},
        "mounts": [mount["mountPath"] for mount in mounts if _is_own(mount["name"])],
    }


def _source(entry: Object) -> Any:
    reference = (entry.get("valueFrom") or {}).get("fieldRef")
    return reference["fieldPath"] if reference else entry.get("valueFrom") or entry.get("value")


def known(texts: dict[str, str] | None) -> dict[str, str]:
    """Return labels or annotations without what nobody can know; a uid is just one."""
    return {
        key: "uid" if key.endswith("uid") and "template" not in key else value
        for key, value in (texts or {}).items()
        if key not in UNKNOWABLE
    }


def _is_own(volume: str) -> bool:
    return not volume.startswith("kube-api-access-")
