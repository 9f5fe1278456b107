"""Show the pod its labels, annotations and hugepages as files, where network-resources-injector puts them.

Source: network-resources-injector pkg/webhook/webhook.go addVolDownwardAPI; app-netutil lib/v1alpha/hugepages.go reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from webhook.core import names
from webhook.core.draft import Draft
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.podspec import (
    containers,
    has_env,
    init_containers,
    limits,
    mounts,
    normalized_mount_path,
    requests,
    volumes,
)
from webhook.core.profiles.grammar import HUGE_PAGES
from webhook.core.quantity import parse_quantity

STEP: Final = "pod-info"


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Mount the files that the profile offers in every container, completing what is mounted there already.

    Pods that get neither network nor device are left as they are, as network-resources-injector leaves them.
    """
    settings = plan.profile.pod_info
    if not (settings.hugepages or settings.labels or settings.annotations):
        return [Decision(STEP, Outcome.SKIPPED, Reason.NOT_ASKED, f"profile {plan.profile.name} offers no podInfo")]
    if not plan.attachments and not plan.profile.resources and not plan.profile.quantities:
        return [Decision(STEP, Outcome.SKIPPED, Reason.NOT_ASKED, "the pod has neither a network nor a device")]
    items = list(_items(draft, plan))
    if not items:
        return [Decision(STEP, Outcome.SKIPPED, Reason.NOT_ASKED, "no container asks for hugepages")]
    before = draft.edits
    decisions = _mount(draft, plan, items)
    if settings.hugepages:
        _name_containers(draft)
    files = ", ".join(item["path"] for item in items)
    if draft.edits > before:
        message = f"{names.POD_INFO_MOUNT_PATH} holds {files}"
        return [Decision(STEP, Outcome.INJECTED, Reason.ADDED, message), *decisions]
    message = f"{names.POD_INFO_MOUNT_PATH} is in use already"
    return [Decision(STEP, Outcome.KEPT, Reason.ALREADY_THERE, message), *decisions]


def _items(draft: Draft, plan: Plan) -> Iterator[Object]:
    settings = plan.profile.pod_info
    if settings.labels:
        yield {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}
    if settings.annotations:
        yield {"path": "annotations", "fieldRef": {"fieldPath": "metadata.annotations"}}
    if settings.hugepages:
        for container in containers(draft.pod):
            name = container.get("name") or ""
            for resource in _hugepages(container):
                size = resource.removeprefix(HUGE_PAGES).replace("i", "")
                for kind in ("request", "limit"):
                    reference = {"containerName": name, "resource": f"{kind}s.{resource}", "divisor": "1Mi"}
                    yield {"path": f"hugepages_{size}_{kind}_{name}", "resourceFieldRef": reference}


def _hugepages(container: Object) -> list[str]:
    """Return the hugepages resources of a container; the API server makes request and limit equal."""
    held = {**requests(container), **limits(container)}
    return sorted(
        resource for resource, amount in held.items() if resource.startswith(HUGE_PAGES) and not _is_zero(amount)
    )


def _is_zero(amount: Any) -> bool:
    try:
        return parse_quantity(amount) == 0
    except ValueError:  # the API server refuses such an amount in its own words
        return False


def _mount(draft: Draft, plan: Plan, items: list[Object]) -> list[Decision]:
    """Mount the volume in each container that has nothing at the path, and complete those that have a downward-API volume."""
    decisions = []
    volume_indexes: dict[str | None, int] = {}
    for index, volume in enumerate(volumes(draft.pod)):
        volume_indexes.setdefault(volume.get("name"), index)
    ours = None
    completed: set[int] = set()
    for index, container in enumerate(containers(draft.pod)):
        name = next((mount.get("name") for mount in mounts(container) if _is_pod_info(mount)), None)
        if name is None:
            ours = ours or _volume(draft, items)
            mount = {"name": ours, "readOnly": True, "mountPath": names.POD_INFO_MOUNT_PATH}
            draft.append(("spec", "containers", index, "volumeMounts"), mount)
        elif name in volume_indexes:
            volume_index = volume_indexes[name]
            if draft.get("spec", "volumes", volume_index, "downwardAPI") is not None:
                if volume_index not in completed:
                    completed.add(volume_index)
                    _complete(draft, volume_index, items)
                continue
            message = (
                f"pod {plan.pod_name}: container {container.get('name')} has volume {name} at {names.POD_INFO_MOUNT_PATH}, "
                "which is not a downwardAPI volume; podInfo files are left out there"
            )
            decisions.append(Decision(STEP, Outcome.WARNED, Reason.USER_VALUE, message))
    return decisions


def _is_pod_info(mount: Object) -> bool:
    path: str = mount["mountPath"]
    return "podnetinfo" in path and normalized_mount_path(path) == names.POD_INFO_MOUNT_PATH


def _volume(draft: Draft, items: list[Object]) -> str:
    """Return the name of the volume to mount: one that is mounted there, or that nobody mounts elsewhere, else a new one."""
    elsewhere: set[str] = set()
    here: set[str] = set()
    for container in (*containers(draft.pod), *init_containers(draft.pod)):
        for mount in mounts(container):
            (here if _is_pod_info(mount) else elsewhere).add(mount["name"])
    taken = set()
    for index, volume in enumerate(volumes(draft.pod)):
        name: str = volume.get("name") or ""
        taken.add(name)
        is_ours = name in here or (name.startswith(names.POD_INFO_VOLUME) and name not in elsewhere)
        if is_ours and volume.get("downwardAPI") is not None:
            _complete(draft, index, items)
            return name
    name, number = names.POD_INFO_VOLUME, 1
    while name in taken:
        number += 1
        name = f"{names.POD_INFO_VOLUME}-{number}"
    draft.append(("spec", "volumes"), {"name": name, "downwardAPI": {"items": [_copy(item) for item in items]}})
    return name


def _complete(draft: Draft, volume_index: int, items: list[Object]) -> None:
    path = ("spec", "volumes", volume_index, "downwardAPI")
    there = {item.get("path") for item in draft.get(*path, "items") or ()}
    for item in items:
        if item["path"] not in there:
            draft.append((*path, "items"), _copy(item))


def _copy(item: Object) -> Object:
    """Return a new object for the draft, which owns what it is given."""
    return {key: dict(value) if isinstance(value, dict) else value for key, value in item.items()}


def _name_containers(draft: Draft) -> None:
    for index, container in enumerate(containers(draft.pod)):
        if _hugepages(container) and not has_env(container, names.ENV_CONTAINER_NAME):
            entry = {"name": names.ENV_CONTAINER_NAME, "value": container.get("name")}
            draft.append(("spec", "containers", index, "env"), entry)
