"""Say in a few words what the pods of a workload get: network, device, memory, and where they meet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from webhook.core import names, podspec
from webhook.core.model import Decision, Object, Outcome
from webhook.core.networks.annotation import parse_networks
from webhook.dry_run.judge import PodResult

_FEW = 3
_DONE = (Outcome.INJECTED, Outcome.KEPT)


def added(pods: Sequence[PodResult], meets: str) -> dict[str, str]:
    """Return what the pods get, each text empty where they get nothing: ``{"network": "default/rdma-net", "device": "", ...}``."""
    changed = [pod for pod in pods if pod.allowed and pod.after != pod.before]
    return {
        "network": _listed(name for pod in changed for name in _networks(pod)),
        "device": _listed(device for pod in changed for device in _devices(pod)),
        "memory": _listed(text for pod in changed for text in _memory(pod)),
        "rendezvous": meets if changed else "",
    }


def _listed(texts: Iterable[str]) -> str:
    found = list(dict.fromkeys(texts))
    if len(found) <= _FEW:
        return ", ".join(found)
    return f"{len(found)}: {found[0]} … {found[-1]}"


def _decision(pod: PodResult, step: str) -> Decision | None:
    return next(
        (each for each in pod.decisions if each.step == step and each.outcome in _DONE), None
    )


def _networks(pod: PodResult) -> Iterator[str]:
    if _decision(pod, "networks") is None:
        return
    with suppress(ValueError):
        value = podspec.annotations(pod.after).get(names.NETWORKS, "")
        for element in parse_networks(value, pod.namespace).elements:
            yield f"{element.namespace}/{element.name}"


def _devices(pod: PodResult) -> Iterator[str]:
    before = {
        container.get("name"): _limits(container) for container in podspec.containers(pod.before)
    }
    for container in podspec.containers(pod.after):
        had = before.get(container.get("name"), {})
        for name, quantity in _limits(container).items():
            if had.get(name) != quantity and "/" in name:
                yield f"{name}: {quantity}"


def _limits(container: Object) -> Object:
    return (container.get("resources") or {}).get("limits") or {}


def _memory(pod: PodResult) -> Iterator[str]:
    had = {volume.get("name") for volume in podspec.volumes(pod.before)}
    for volume in podspec.volumes(pod.after):
        if volume.get("name") == names.SHM_VOLUME and names.SHM_VOLUME not in had:
            size = (volume.get("emptyDir") or {}).get("sizeLimit")
            yield (
                f"{names.SHM_MOUNT_PATH} of {size}"
                if size
                else f"{names.SHM_MOUNT_PATH} without a limit"
            )
    if (found := _decision(pod, "ipc-lock")) and found.outcome is Outcome.INJECTED:
        yield "may be locked"
