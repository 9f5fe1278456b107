"""Build pods: those of tests/fixtures, as training systems write them, and small ones.

A pod is a map; each function that returns one returns a new one, which the test may change.
`tests.hostile` makes what nobody means.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from webhook.core import names
from webhook.core.model import Object
from webhook.core.quantity import parse_quantity

FIXTURES = Path(__file__).parents[1] / "fixtures"


@cache
def _parsed(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return json.dumps(json.loads(text)["request"]["object"])
    return json.dumps(yaml.load(text, yaml.CSafeLoader), default=str)


def load(name: str) -> Object:
    """Return a fixture's pod: ``pods/jobset-0.yaml`` or ``live/statefulset/ddp-0.review.json``."""
    pod: Object = json.loads(_parsed(FIXTURES / name))
    return pod


def all_names() -> list[str]:
    """List every fixture that holds a pod as it reaches admission."""
    found = sorted(FIXTURES.glob("pods/*.yaml")) + sorted(FIXTURES.glob("live/**/*.review.json"))
    return [str(path.relative_to(FIXTURES)) for path in found if not path.name.startswith("jobs-")]


def add_env(pod: Object, name: str, value: str, container: int = 0) -> Object:
    """Append a literal variable to a container; return the pod."""
    pod["spec"]["containers"][container].setdefault("env", []).append(
        {"name": name, "value": value}
    )
    return pod


def drop_env(pod: Object, *names: str) -> Object:
    """Remove variables from all containers; return the pod."""
    for container in pod["spec"]["containers"]:
        container["env"] = [
            entry for entry in container.get("env") or [] if entry["name"] not in names
        ]
    return pod


def set_command(pod: Object, *command: str) -> Object:
    """Give the first container this command and no arguments; return the pod."""
    pod["spec"]["containers"][0]["command"] = list(command)
    pod["spec"]["containers"][0].pop("args", None)
    return pod


def minimal_container(name: str = "trainer", /, **tweaks: Any) -> Object:
    """Return a container with nothing but name and image, and *tweaks* as further fields."""
    return {"name": name, "image": "registry.example.com/train:1", **copy.deepcopy(tweaks)}


def minimal_pod(
    *containers_of_pod: Object,
    labels: Mapping[str, Any] | None = None,
    annotations: Mapping[str, Any] | None = None,
    metadata: Object | None = None,
    **tweaks: Any,
) -> Object:
    """Return a pod of these containers, or of one ``trainer``; *tweaks* are fields of its spec."""
    marks = {"labels": labels, "annotations": annotations}
    given = {
        **{key: dict(value) for key, value in marks.items() if value is not None},
        **(metadata or {}),
    }
    spec = {"containers": list(containers_of_pod) or [minimal_container()], **tweaks}
    pod = {"metadata": {"name": "train-0", "namespace": "research", **given}, "spec": spec}
    return {"apiVersion": "v1", "kind": "Pod", **copy.deepcopy(pod)}


def plain(labels: dict[str, str] | None = None, **spec: Any) -> Object:
    """Return a pod of no controller; tests/peer has recorded what is made of it."""
    metadata = {"name": "plain", "namespace": "train", "labels": labels or {}}
    container = minimal_container("main", image="registry.example.com/train/pytorch:2.6", env=[])
    return {"metadata": metadata, "spec": {"containers": [container], **spec}}


def member_metadata(
    name: str,
    role: str,
    job: str,
    *,
    network: str = "default/rdma-net@net1/any",
    address: str = "",
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """Return what the webhook writes on a job's pod; with *address*, Multus has attached it."""
    waits_for = "master-addr,local-addr" if role == "master" else "master-addr"
    marks = {names.RENDEZVOUS_NETWORK: network, names.WAITS_FOR: waits_for, **(annotations or {})}
    if address:
        entry = {"name": "default/rdma-net", "interface": "net1", "ips": [address]}
        marks[names.NETWORK_STATUS] = json.dumps([entry])
    return {
        "name": name,
        "labels": {names.JOB: job, names.RENDEZVOUS: role},
        "annotations": marks,
    }


def member_pod(
    name: str,
    role: str = "worker",
    job: str = "j-1",
    *,
    network: str = "default/rdma-net@net1/any",
    address: str = "",
    annotations: Mapping[str, str] | None = None,
    **metadata: Any,
) -> Object:
    """Return the metadata of a job's pod as the API server holds it; see `member_metadata`."""
    created = {
        "namespace": "ml",
        "uid": f"uid-{name}",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    marks = member_metadata(
        name, role, job, network=network, address=address, annotations=annotations
    )
    return {"metadata": {**created, **marks, **metadata}}


def is_within(part: Any, whole: Any) -> bool:
    """Tell whether all of *part* is in *whole*; lists item by item, quantities in any form."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(
            is_within(value, whole[key]) if key in whole else not value
            for key, value in part.items()
        )
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) == len(whole) and all(map(is_within, part, whole))
    with suppress(ValueError, TypeError):
        return part == whole or parse_quantity(part) == parse_quantity(whole)
    return False
