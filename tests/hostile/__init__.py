"""The one generator of pods, reviews and API objects that nobody means.

`forged` uses our own names where a user may use them too; `broken` changes types and texts;
`large` repeats one place, or makes it long. All are judged in the cluster that is made here.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from tests.profiles import profiles
from tests.worlds import namespace, network
from webhook.core import names
from webhook.core.model import Object
from webhook.world.objects import ObjectsWorld

Place: TypeAlias = tuple[Any, ...]
"""The keys and indexes that lead to a place of a JSON value."""

PROFILES = profiles(Path(__file__).with_name("profiles.yaml").read_text("utf-8"))
SPACES = {
    "plain": {},
    "full": {},
    "everyone": {},
    "installed": {names.POD_SECURITY_ENFORCE: "baseline"},
    "own": {},
}
"""The namespaces, each with the profile of its name, and their further labels."""


def world(train: str = "plain", **more: str) -> ObjectsWorld:
    """Return a cluster with all namespaces and networks; ``train`` has the profile *train*.

    Each namespace is labelled with *more* too, as ``mode="observe"``.
    """
    objects = [network(f"rails/rail-{number}", f"nvidia.com/rail_{number}") for number in range(2)]
    objects.append(namespace("train", train, **more))
    for name, labels in SPACES.items():
        space = namespace(name, name, **more)
        space["metadata"]["labels"].update(labels)
        objects.append(space)
    return ObjectsWorld(objects)


def review(pod: Object) -> bytes:
    """Return the API server's question about *pod*."""
    request = {
        "uid": "d15da131-33e5-4793-a38e-1c77b3690cde",
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": "train",
        "operation": "CREATE",
        "object": pod,
    }
    value = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def places(value: Any, path: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield every place of a JSON value with what stands there, the outermost first."""
    yield path, value
    keys: Iterable[Any] = ()
    if isinstance(value, dict):
        keys = value
    elif isinstance(value, list):
        keys = range(len(value))
    for key in keys:
        yield from places(value[key], (*path, key))


def replaced(value: Any, path: Place, new: Any) -> Any:
    """Return *value* with *new* at this place; only what stands on the way to it is copied."""
    if not path:
        return new
    changed = copy.copy(value)
    changed[path[0]] = replaced(value[path[0]], path[1:], new)
    return changed
