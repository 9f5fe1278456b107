"""Say why a pod of ours is not ready, as `kubectl describe` would."""

from __future__ import annotations

from typing import NamedTuple

from webhook.core.model import Object


class OwnPod(NamedTuple):
    """Hold whose pod it is (a ReplicaSet's name), and *why* it is not ready; empty where it is."""

    owner: str
    why: str


def read_own_pod(obj: Object) -> OwnPod | None:
    """Keep what matters; None for a pod that is not a ReplicaSet's, or is being deleted."""
    metadata = obj["metadata"]
    owner = next((each for each in metadata.get("ownerReferences") or () if each.get("kind") == "ReplicaSet"), None)
    if owner is None or metadata.get("deletionTimestamp"):
        return None
    return OwnPod(owner.get("name") or "", _why(obj.get("status") or {}))


def _why(status: Object) -> str:
    conditions = {each.get("type"): each for each in status.get("conditions") or ()}
    if (conditions.get("Ready") or {}).get("status") == "True":
        return ""
    scheduled = conditions.get("PodScheduled") or {}
    if scheduled.get("status") == "False":
        return _told(scheduled)
    for container in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        waiting = (container.get("state") or {}).get("waiting") or {}
        ended = (container.get("lastState") or {}).get("terminated") or {}
        if ended.get("exitCode"):
            return f"container {container.get('name')} ended with {ended['exitCode']}, {container.get('restartCount')} restarts"
        if waiting.get("message"):
            return _told(waiting)
    return "not ready yet"


def _told(holder: Object) -> str:
    return ": ".join(str(holder[key]) for key in ("reason", "message") if holder.get(key))
