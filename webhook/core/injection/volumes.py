"""Give the pod the profile's volumes, and the training container its mounts; sidecars.py mounts by the same code.

A path of the node is given only where the Configuration allows it. What a container has itself at a path stays there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from webhook.core import names as known_names
from webhook.core import podspec
from webhook.core.draft import Draft
from webhook.core.errors import Denied
from webhook.core.injection import pod_security
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.podspec import containers, normalized_mount_path
from webhook.core.profiles import ConfigMapSource, Profile, ProfileMount, ProfileVolume
from webhook.core.quantity import stored_quantity

STEP = "volumes"
_VOLUMES = ("spec", "volumes")
_LONGEST_NAME = 63
_DEFAULT_MODES = (None, 420)
"""Of the files of a ConfigMap. Source: kubernetes pkg/apis/core/v1 SetDefaults_ConfigMapVolumeSource."""


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Add the profile's mounts to the training container, and the volumes that they or nobody mounts.

    Raises Denied for a path of the node that the Configuration does not allow, and where the namespace's PodSecurity level would refuse
    it and the profile says ``podSecurity: deny``.
    """
    profile = plan.profile
    if not profile.volumes and not profile.mounts:
        return [
            Decision(
                STEP, Outcome.SKIPPED, Reason.NOT_ASKED, f"profile {profile.name} gives no volumes"
            )
        ]
    if podspec.is_windows(draft.pod):
        return [
            Decision(
                STEP,
                Outcome.SKIPPED,
                Reason.WINDOWS,
                "a Windows pod has no paths as the profile gives them",
            )
        ]
    there, blocked, missing = _taken_paths(draft.pod, plan)
    known = {volume.name for volume in profile.volumes} | {
        volume.get("name") for volume in podspec.volumes(draft.pod)
    }
    before = draft.edits
    names, found = add_volumes(draft, plan, STEP, _wanted(plan, missing))
    mounts, warnings = write_mounts(draft.pod, plan, STEP, missing, names)
    if mounts:
        draft.extend(("spec", "containers", plan.container, "volumeMounts"), mounts)
    if draft.edits > before:
        mounted = ", ".join([f"{mount['name']} at {mount['mountPath']}" for mount in mounts])
        what = (
            f"container {plan.container_name} mounts {mounted}" if mounted else _has(names.values())
        )
        found.insert(0, Decision(STEP, Outcome.INJECTED, Reason.ADDED, what))
    elif kept := [
        mount.mount_path
        for mount in profile.mounts
        if mount.mount_path in there and mount.name in known
    ]:
        message = f"container {plan.container_name} has mounts at {', '.join(kept)} already"
        found.append(Decision(STEP, Outcome.KEPT, Reason.ALREADY_THERE, message))
    elif names:
        found.append(
            Decision(STEP, Outcome.KEPT, Reason.ALREADY_THERE, f"{_has(names.values())} already")
        )
    elif not (found or warnings or blocked):
        found.append(
            Decision(
                STEP, Outcome.SKIPPED, Reason.NOT_ASKED, "the pod needs no volume of the profile"
            )
        )
    hidden = [mount for mount in profile.mounts if mount.mount_path in blocked]
    return [*found, *warnings, *[_at_device(plan, mount) for mount in hidden]]


def _taken_paths(pod: Object, plan: Plan) -> tuple[set[str], set[str], list[ProfileMount]]:
    """Return where the training container has mounts, and where block devices; and the profile's mounts at other paths."""
    own = containers(pod)[plan.container]
    there = {normalized_mount_path(mount["mountPath"]) for mount in podspec.mounts(own)}
    blocked = {normalized_mount_path(path) for path in podspec.device_paths(own)}
    return (
        there,
        blocked,
        [mount for mount in plan.profile.mounts if mount.mount_path not in there | blocked],
    )


def _wanted(plan: Plan, missing: Iterable[ProfileMount]) -> list[ProfileVolume]:
    """Return the volumes that the training container is to mount, and those that nobody does."""
    wanted = {*_unmounted(plan.profile), *(mount.name for mount in missing)}
    return [volume for volume in plan.profile.volumes if volume.name in wanted]


def refused_volumes(pod: Object, plan: Plan) -> list[str]:
    """Name the volumes that the pod would get as paths of the node, ``["volume sys (hostPath /sys)"]``; PodSecurity refuses them."""
    taken = {volume.get("name"): volume for volume in podspec.volumes(pod)}
    return [
        _as_refused(volume.name, volume.host_path.path)
        for volume in _wanted(plan, _taken_paths(pod, plan)[2])
        if volume.host_path is not None and not _place(taken, volume)[1]
    ]


def _as_refused(name: str, path: str) -> str:
    return f"volume {name} (hostPath {path})"


def add_volumes(
    draft: Draft, plan: Plan, step: str, wanted: Iterable[ProfileVolume]
) -> tuple[dict[str, str], list[Decision]]:
    """Add the volumes that the pod lacks; return the name that each one has there, and what is told of those that are left out.

    Raises Denied as `inject` does.
    """
    names: dict[str, str] = {}
    told: list[Decision] = []
    new: list[ProfileVolume] = []
    taken = {volume.get("name"): volume for volume in podspec.volumes(draft.pod)}
    level = pod_security.refusing_level(plan)
    for volume in wanted:
        name, is_there = _place(taken, volume)
        if not is_there:
            if level and volume.host_path is not None:
                told += pod_security.refuse(
                    plan, step, _as_refused(volume.name, volume.host_path.path)
                )
                continue
            new.append(volume)
            taken[name] = {
                "name": name,
                **_source(volume),
            }  # no other volume of the profile may get this name as well
        names[volume.name] = name
    check_allowed(
        plan,
        step,
        [
            f"volume {volume.name}: {why}"
            for volume in new
            if volume.host_path is not None
            and (why := plan.allowed.refuses_path(volume.host_path.path))
        ],
    )
    if new:
        draft.extend(_VOLUMES, [{"name": names[volume.name], **_source(volume)} for volume in new])
    return names, told


def new_host_paths(pod: Object, wanted: Iterable[ProfileVolume]) -> list[str]:
    """Return the paths of the node that the pod would get by these volumes, and has not yet."""
    taken = {volume.get("name"): volume for volume in podspec.volumes(pod)}
    return [
        volume.host_path.path
        for volume in wanted
        if volume.host_path is not None and not _place(taken, volume)[1]
    ]


def named_by(profile: Profile, mounts: Iterable[ProfileMount]) -> list[ProfileVolume]:
    """Return the profile's volumes that *mounts* name."""
    named = {mount.name for mount in mounts}
    return [volume for volume in profile.volumes if volume.name in named]


def write_mounts(
    pod: Object, plan: Plan, step: str, mounts: Iterable[ProfileMount], names: Mapping[str, str]
) -> tuple[list[Object], list[Decision]]:
    """Return *mounts* as containers have them, and warnings; *names* are those of the profile's volumes in the pod.

    A volume that is neither the profile's nor the pod's is not mounted: the API server would refuse the pod.
    """
    of_profile = {volume.name for volume in plan.profile.volumes}
    given = {volume.get("name") for volume in podspec.volumes(pod)}
    written: list[Object] = []
    absent: list[str] = []
    for mount in mounts:
        if mount.name in names:
            written.append(_mount(mount, names[mount.name]))
        elif mount.name not in of_profile:
            if mount.name in given:
                written.append(_mount(mount, mount.name))
            else:
                absent.append(mount.name)
    warnings = [
        Decision(step, Outcome.WARNED, Reason.NO_VOLUME, _no_volume(plan, name))
        for name in dict.fromkeys(absent)
    ]
    return written, warnings


def check_allowed(plan: Plan, step: str, refused: Sequence[str]) -> None:
    """Raise Denied where the Configuration refuses what this pod would get, with all that it does not allow of the profile."""
    if refused:
        lacking = "; ".join(plan.profile.not_allowed(plan.allowed))
        message = (
            f"pod {plan.pod_name}: profile {plan.profile.name}: {lacking}; an admin of the cluster allows all of it there "
            f"({known_names.CONFIG_FILE} of ConfigMap {known_names.CONFIG_MAP}; with Helm the value allowed), or removes it from "
            "the profile"
        )
        raise Denied(step, Reason.NOT_ALLOWED, message)


def _unmounted(profile: Profile) -> set[str]:
    """Return the volumes that nothing of the profile mounts: they are for what the user mounts."""
    mounted = {mount.name for mount in profile.mounts}
    for sidecar in profile.sidecars:
        mounted |= {mount.name for mount in sidecar.mounts}
    return {volume.name for volume in profile.volumes} - mounted


def _place(taken: Mapping[str | None, Object], volume: ProfileVolume) -> tuple[str, bool]:
    """Return the name of the volume in the pod, and whether it is there; one of the user's own by that name keeps it."""
    name, number = volume.name, 1
    while name in taken:
        if _is_same(taken[name], volume):
            return name, True
        number += 1
        suffix = f"-{number}"
        name = f"{volume.name[: _LONGEST_NAME - len(suffix)]}{suffix}"
    return name, False


def _is_same(existing: Object, volume: ProfileVolume) -> bool:
    """Tell whether a volume of the pod is the profile's, also once the API server has filled in its defaults."""
    wanted = _source(volume)
    (kind,) = wanted
    if {key for key, value in existing.items() if value is not None} != {"name", kind}:
        return False
    found = existing[kind]
    if not isinstance(found, dict):
        return False
    if volume.host_path is not None:
        path = found.get("path")
        return (
            isinstance(path, str)
            and normalized_mount_path(path) == volume.host_path.path
            and (found.get("type") or "") == volume.host_path.type
        )
    if volume.empty_dir is not None:
        limit = found.get("sizeLimit")
        same_limit = (
            limit is None
            if volume.empty_dir.size_limit is None
            else stored_quantity(limit) == stored_quantity(volume.empty_dir.size_limit)
        )
        return same_limit and (found.get("medium") or "") == volume.empty_dir.medium
    source = _config_map(volume)
    return (
        found.get("name") == source.name
        and bool(found.get("optional")) == source.optional
        and not found.get("items")
        and found.get("defaultMode") in _DEFAULT_MODES
    )


def _source(volume: ProfileVolume) -> Object:
    """Write what a volume is made of, as a new object."""
    made: Object
    if volume.host_path is not None:
        made = {"path": volume.host_path.path}
        if volume.host_path.type:
            made["type"] = volume.host_path.type
        return {"hostPath": made}
    if volume.empty_dir is not None:
        made = {}
        if volume.empty_dir.medium:
            made["medium"] = volume.empty_dir.medium
        if volume.empty_dir.size_limit:
            made["sizeLimit"] = volume.empty_dir.size_limit
        return {"emptyDir": made}
    source = _config_map(volume)
    made = {"name": source.name}
    if source.optional:
        made["optional"] = True
    return {"configMap": made}


def _config_map(volume: ProfileVolume) -> ConfigMapSource:
    """Return the source of a volume that has neither of the others: each has exactly one."""
    return cast(ConfigMapSource, volume.config_map)


def _mount(mount: ProfileMount, volume: str) -> Object:
    made: Object = {"name": volume, "mountPath": mount.mount_path}
    if mount.read_only:
        made["readOnly"] = True
    if mount.sub_path:
        made["subPath"] = mount.sub_path
    return made


def _has(names: Iterable[str]) -> str:
    return f"the pod has volumes {', '.join(names)}"


def _at_device(plan: Plan, mount: ProfileMount) -> Decision:
    """Source: kubernetes pkg/apis/core/validation ValidateVolumeMounts, "must not already exist as a path in volumeDevices"."""
    message = (
        f"pod {plan.pod_name}: container {plan.container_name} has a volumeDevice at {mount.mount_path}, where profile "
        f"{plan.profile.name} mounts {mount.name}; Kubernetes takes one of the two, and the mount is left out: give the device another "
        "devicePath"
    )
    return Decision(STEP, Outcome.WARNED, Reason.USER_VALUE, message)


def _no_volume(plan: Plan, name: str) -> str:
    return (
        f"pod {plan.pod_name}: volume {name}, which profile {plan.profile.name} mounts, is neither the profile's nor the pod's; "
        "it is left out: write it under volumes of the profile, or in the pod"
    )
