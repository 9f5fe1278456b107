"""Load the pods of tests/fixtures, as real training systems write them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import yaml

from webhook.core.model import Object

FIXTURES = Path(__file__).parent / "fixtures"


@cache
def _parsed(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return json.dumps(json.loads(text)["request"]["object"])
    return json.dumps(yaml.safe_load(text), default=str)


def load(name: str) -> Object:
    """Return a new copy of a fixture's pod: ``pods/jobset-0.yaml`` or ``live/statefulset/ddp-0.review.json``."""
    pod: Object = json.loads(_parsed(FIXTURES / name))
    return pod


def all_names() -> list[str]:
    """List every fixture that holds a pod as it reaches admission."""
    found = sorted(FIXTURES.glob("pods/*.yaml")) + sorted(FIXTURES.glob("live/**/*.review.json"))
    return [str(path.relative_to(FIXTURES)) for path in found if not path.name.startswith("jobs-")]


def add_env(pod: Object, name: str, value: str, container: int = 0) -> Object:
    """Append a literal variable to a container; return the pod."""
    pod["spec"]["containers"][container].setdefault("env", []).append({"name": name, "value": value})
    return pod


def drop_env(pod: Object, *names: str) -> Object:
    """Remove variables from all containers; return the pod."""
    for container in pod["spec"]["containers"]:
        container["env"] = [entry for entry in container.get("env") or [] if entry["name"] not in names]
    return pod


def set_command(pod: Object, *command: str) -> Object:
    """Give the first container this command and no arguments; return the pod."""
    pod["spec"]["containers"][0]["command"] = list(command)
    pod["spec"]["containers"][0].pop("args", None)
    return pod


def plain(labels: dict[str, str] | None = None, **spec: object) -> Object:
    """Return a pod of no controller with one container ``main``."""
    metadata = {"name": "plain", "namespace": "train", "labels": labels or {}}
    container = {"name": "main", "image": "registry.example.com/train/pytorch:2.6", "env": []}
    return {"metadata": metadata, "spec": {"containers": [container], **spec}}
