"""Tell a job on one node from one on several."""

from __future__ import annotations

from webhook.core import podspec
from webhook.core.model import Object


def is_single_node(pod: Object) -> bool:
    """Tell a job of one node by its variables: PET_NNODES, then WORLD_SIZE, then PET_STANDALONE."""
    told: dict[str, list[str]] = {"PET_NNODES": [], "WORLD_SIZE": [], "PET_STANDALONE": []}
    for container in podspec.containers(pod):
        # Of entries of one name the last counts.
        values = {entry["name"]: entry for entry in podspec.env(container) if entry["name"] in told}
        for name, entry in values.items():
            if not entry.get("valueFrom") and (value := entry.get("value")):
                told[name].append(value)
    for name, single in (("PET_NNODES", ("1", "1:1")), ("WORLD_SIZE", ("1",))):
        if told[name]:
            return all(value in single for value in told[name])
    return any(
        len(value) > len("false") or value.lower() not in ("0", "false")
        for value in told["PET_STANDALONE"]
    )
