"""Give the pod the profile's volumes, and the training container its mounts.

sidecars.py mounts by the same code. A path of the node is given only where the Configuration allows
it. What a container has itself at a path stays there.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Final, cast

from webhook.core import names as known_names
from webhook.core import podspec
from webhook.core.draft import Draft
from webhook.core.errors import Denied
from webhook.core.injection import pod_security
from webhook.core.injection.row import Row, stated
from webhook.core.model import Decision, Object, Reason
from webhook.core.plan import Plan
from webhook.core.podspec import normalized_mount_path
from webhook.core.profiles import ConfigMapSource, ProfileMount, ProfileVolume
from webhook.core.quantity import stored_quantity

STEP: Final = Row("volumes")
_LONGEST_NAME: Final = 63
_DEFAULT_MODES: Final = (None, 420)
"""Of a ConfigMap. Source: kubernetes pkg/apis/core/v1 SetDefaults_ConfigMapVolumeSource."""


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Add the profile's mounts to the trainer, and the volumes that they or nobody mounts.

    Raises Denied for a path of the node that the Configuration does not allow, and where the
    namespace's PodSecurity level would refuse it and the profile says ``podSecurity: deny``.
    """
    profile = plan.profile
    if not profile.volumes and not profile.mounts:
        return [STEP.not_asked(f"profile {profile.name} gives no volumes")]
    if podspec.is_windows(draft.pod):
        message = "a Windows pod has no paths as the profile gives them"
        return [STEP.skipped(Reason.WINDOWS, message)]
    there, blocked = _taken_paths(draft.pod, plan)
    missing = _missing(draft.pod, plan)
    known = {volume.name for volume in profile.volumes} | by_name(draft.pod).keys()
    before = draft.edits
    names, found = add_volumes(draft, plan, STEP, _wanted(plan, missing))
    mounts, warnings = write_mounts(draft.pod, plan, STEP, missing, names)
    if mounts:
        draft.extend(plan.in_trainer("volumeMounts"), mounts)
    has = f"the pod has volumes {', '.join(names.values())}"
    if draft.edits > before:
        mounted = ", ".join([f"{mount['name']} at {mount['mountPath']}" for mount in mounts])
        what = f"container {plan.container_name} mounts {mounted}" if mounted else has
        found.insert(0, STEP.added(what))
    elif kept := [
        mount.mount_path
        for mount in profile.mounts
        if mount.mount_path in there and mount.name in known
    ]:
        message = f"container {plan.container_name} has mounts at {', '.join(kept)} already"
        found.append(STEP.already_there(message))
    elif names:
        found.append(STEP.already_there(f"{has} already"))
    elif not (found or warnings or blocked):
        found.append(STEP.not_asked("the pod needs no volume of the profile"))
    hidden = [mount for mount in profile.mounts if mount.mount_path in blocked]
    return [*found, *warnings, *[_at_device(plan, mount) for mount in hidden]]


def by_name(pod: Object) -> dict[str | None, Object]:
    """Return the volumes of the pod by their names."""
    return {volume.get("name"): volume for volume in podspec.volumes(pod)}


def numbered(name: str) -> Iterator[str]:
    """Yield the names that a volume of ours may get, the wanted one first: ``shm``, ``shm-2``."""
    yield name
    for number in count(2):  # pragma: no branch - it never ends
        suffix = f"-{number}"
        yield f"{name[: _LONGEST_NAME - len(suffix)]}{suffix}"


def _taken_paths(pod: Object, plan: Plan) -> tuple[set[str], set[str]]:
    """Return where the training container has mounts, and where block devices."""
    own = plan.trainer(pod)
    there = {normalized_mount_path(mount["mountPath"]) for mount in podspec.mounts(own)}
    return there, {normalized_mount_path(path) for path in podspec.device_paths(own)}


def _missing(pod: Object, plan: Plan) -> list[ProfileMount]:
    """Return the profile's mounts at paths that the training container leaves free."""
    taken = set[str]().union(*_taken_paths(pod, plan))
    return [mount for mount in plan.profile.mounts if mount.mount_path not in taken]


def _wanted(plan: Plan, missing: Iterable[ProfileMount]) -> list[ProfileVolume]:
    """Return the volumes that the training container is to mount, and those that nothing mounts.

    What nothing of the profile mounts is for the user to mount.
    """
    profile = plan.profile
    mounted = {mount.name for sidecar in profile.sidecars for mount in sidecar.mounts}
    mounted |= {mount.name for mount in profile.mounts}
    missed = {mount.name for mount in missing}
    return [
        volume for volume in profile.volumes if volume.name in missed or volume.name not in mounted
    ]


def refused_volumes(pod: Object, plan: Plan) -> list[str]:
    """Name the new volumes that PodSecurity refuses: ``["volume sys (hostPath /sys)"]``."""
    new = new_host_paths(pod, _wanted(plan, _missing(pod, plan)))
    return [_as_refused(name, path) for name, path in new.items()]


def _as_refused(name: str, path: str) -> str:
    return f"volume {name} (hostPath {path})"


def add_volumes(
    draft: Draft, plan: Plan, step: Row, wanted: Iterable[ProfileVolume]
) -> tuple[dict[str, str], list[Decision]]:
    """Add the volumes that the pod lacks; return the name of each there, and what is left out.

    Raises Denied as `inject` does.
    """
    names: dict[str, str] = {}
    told: list[Decision] = []
    new: list[Object] = []
    taken = by_name(draft.pod)
    level = pod_security.refusing_level(plan)
    is_allowed = True
    for volume in wanted:
        name, is_there = _place(taken, volume)
        if not is_there:
            host_path = volume.host_path
            if level and host_path is not None:
                told += pod_security.refuse(plan, step, _as_refused(volume.name, host_path.path))
                continue
            if host_path is not None and plan.allowed.refuses_path(host_path.path):
                is_allowed = False
            # Once it is among the taken, no other volume of the profile gets its name.
            taken[name] = {"name": name, **_source(volume)}
            new.append(taken[name])
        names[volume.name] = name
    if not is_allowed:
        raise not_allowed(plan, step)
    if new:
        draft.extend(("spec", "volumes"), new)
    return names, told


def new_host_paths(pod: Object, wanted: Iterable[ProfileVolume]) -> dict[str, str]:
    """Return the paths of the node that the pod would get by these volumes, and has not yet."""
    taken = by_name(pod)
    return {
        volume.name: volume.host_path.path
        for volume in wanted
        if volume.host_path is not None and not _place(taken, volume)[1]
    }


def write_mounts(
    pod: Object, plan: Plan, step: Row, mounts: Iterable[ProfileMount], names: Mapping[str, str]
) -> tuple[list[Object], list[Decision]]:
    """Return *mounts* as containers have them, and warnings; *names*: of the profile's volumes.

    A volume that is neither the profile's nor the pod's is not mounted: the API server would refuse
    the pod.
    """
    profile = plan.profile
    of_profile = {volume.name for volume in profile.volumes}
    places = {name: name for name in by_name(pod) if name not in of_profile} | {**names}
    written = [
        stated(
            name=places[mount.name],
            mountPath=mount.mount_path,
            readOnly=mount.read_only,
            subPath=mount.sub_path,
        )
        for mount in mounts
        if mount.name in places
    ]
    absent = [mount.name for mount in mounts if mount.name not in {*places, *of_profile}]
    warnings = []
    for name in dict.fromkeys(absent):
        message = (
            f"volume {name}, which profile {profile.name} mounts, is neither the profile's nor "
            "the pod's; it is left out: write it under volumes of the profile, or in the pod"
        )
        warnings.append(step.warned(plan, Reason.NO_VOLUME, message))
    return written, warnings


def not_allowed(plan: Plan, step: Row) -> Denied:
    """Refuse a pod for all of its profile that the Configuration does not allow."""
    lacking = "; ".join(plan.profile.not_allowed(plan.allowed))
    message = (
        f"profile {plan.profile.name}: {lacking}; an admin of the cluster allows all of it there "
        f"({known_names.CONFIG_FILE} of ConfigMap {known_names.CONFIG_MAP}; with Helm the value "
        "allowed), or removes it from the profile"
    )
    return step.denied(plan, Reason.NOT_ALLOWED, message)


def _place(taken: Mapping[str | None, Object], volume: ProfileVolume) -> tuple[str, bool]:
    """Return the name of the volume in the pod, and whether it is there.

    One of the user's own by that name keeps it.
    """
    for name in numbered(volume.name):  # pragma: no branch - it never ends
        if name not in taken:
            break
        if _is_same(taken[name], volume):
            return name, True
    return name, False


def _is_same(existing: Object, volume: ProfileVolume) -> bool:
    """Tell whether a volume of the pod is the profile's, whatever the API server has filled in."""
    (kind,) = _source(volume)
    if {key for key, value in existing.items() if value is not None} != {"name", kind}:
        return False
    found = existing[kind]
    if not isinstance(found, dict):
        return False
    if volume.host_path is not None:
        return (
            normalized_mount_path(found.get("path") or "") == volume.host_path.path
            and (found.get("type") or "") == volume.host_path.type
        )
    if volume.empty_dir is not None:
        limit, wanted = found.get("sizeLimit"), volume.empty_dir.size_limit
        return (
            (limit is None) == (wanted is None)
            and stored_quantity(limit) == stored_quantity(wanted)
            and (found.get("medium") or "") == volume.empty_dir.medium
        )
    source = _config_map(volume)
    return (
        found.get("name") == source.name
        and bool(found.get("optional")) == source.optional
        and not found.get("items")
        and found.get("defaultMode") in _DEFAULT_MODES
    )


def _source(volume: ProfileVolume) -> Object:
    """Write what a volume is made of, as a new object."""
    if (path := volume.host_path) is not None:
        return {"hostPath": stated(path=path.path, type=path.type)}
    if (empty := volume.empty_dir) is not None:
        return {"emptyDir": stated(medium=empty.medium, sizeLimit=empty.size_limit)}
    source = _config_map(volume)
    return {"configMap": stated(name=source.name, optional=source.optional)}


def _config_map(volume: ProfileVolume) -> ConfigMapSource:
    """Return the source of a volume that has neither of the others: each has exactly one."""
    return cast(ConfigMapSource, volume.config_map)


def _at_device(plan: Plan, mount: ProfileMount) -> Decision:
    """Warn of a mount at a device: Kubernetes takes one of the two.

    Source: kubernetes pkg/apis/core/validation ValidateVolumeMounts, "must not already exist as a
    path in volumeDevices".
    """
    message = (
        f"container {plan.container_name} has a volumeDevice at {mount.mount_path}, where profile "
        f"{plan.profile.name} mounts {mount.name}; Kubernetes takes one of the two, and the mount "
        "is left out: give the device another devicePath"
    )
    return STEP.warned(plan, Reason.USER_VALUE, message)
