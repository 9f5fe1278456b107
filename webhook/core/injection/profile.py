"""Merge what the profile says in Kubernetes' words; what the job says itself stays.

Lists are merged by the keys of Kubernetes' strategic merge. An item that the pod has by its key is
the job's, whole; so is a list without such a key. Other steps merge node selectors, which may
contradict each other, and amounts of devices.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from webhook.core import names, podspec
from webhook.core.draft import Draft, Path
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Object, Reason
from webhook.core.plan import Plan
from webhook.core.podspec import normalized_mount_path
from webhook.core.profiles.template import ONE_OF_SEVERAL, Keyed, keyed

STEP: Final = Row("profile")
_CONTEXT: Final = "securityContext"
_SOCKETS: Final = (names.ENV_NCCL_SOCKET_IFNAME, names.ENV_GLOO_SOCKET_IFNAME)
_REFUSED: Final = (
    {"runAsUser": 0, "runAsNonRoot": True},
    {"privileged": True, "allowPrivilegeEscalation": False},
)
"""What a securityContext may not say together."""
_FILLED_IN: Final = {"apiVersion": "v1", "defaultMode": 0o644}
"""What the API server writes into absent fields, beside empty values."""


def inject(draft: Draft, plan: Plan) -> Iterator[Decision]:
    """Add what the pod lacks of the profile's ``container`` and ``pod``, and say what stays."""
    profile = plan.profile
    container, spec = profile.merged
    has_volumes = bool(profile.volumes or profile.mounts or profile.sidecars)
    metadata = profile.pod.get("metadata") or {}
    if not (container or spec or metadata or has_volumes):
        return
    own = plan.trainer(draft.pod)
    merge = Merge(draft)
    interfaces = _interfaces_of_the_pod(plan, own)
    if interfaces:
        given = container["env"].items()
        env = {name: each for name, each in given if name not in interfaces}
        container = {**container, "env": Keyed(env)}
    context, above = _context(own), _context(draft.pod["spec"])
    if wanted := container.get(_CONTEXT):
        container = merge.bear(container, context, {*above, *_refused(wanted, above, context)})
    if wanted := spec.get(_CONTEXT):
        refused = {"sysctls"} if plan.host_network or draft.get("spec", "hostIPC") else set()
        for each in podspec.every_container(draft.pod):
            refused |= _refused(wanted, above, _context(each))
        spec = merge.bear(spec, above, refused)
    merge.into(own, container, plan.in_trainer())
    if metadata or spec:
        merge.into(draft.pod, {"metadata": metadata, "spec": spec}, ())
    if has_volumes:
        yield from _merge_volumes(merge, plan)
    for name in interfaces:
        message = (
            f"{name}={profile.env[name]} of profile {profile.name} is left out: it names an "
            "interface of the pod network, and the pod uses the node's; set it in the pod if the "
            "node has it too"
        )
        yield STEP.warned(plan, Reason.HOST_NETWORK, message)
    if merge.added:
        yield STEP.added(f"the pod gets {_listed(merge.added)} of profile {profile.name}")
    elif not merge.own:
        yield STEP.already_there(f"the pod has all that profile {profile.name} gives already")
    if merge.own:
        yield STEP.kept(Reason.USER_VALUE, f"the pod's own stay: {_listed(merge.own)}")


@dataclass
class Merge:
    """Write what a pod lacks; *added* and *own*, what it says itself, as pairs of field and key."""

    draft: Draft
    added: list[tuple[str, str]] = field(default_factory=list)
    own: list[tuple[str, str]] = field(default_factory=list)

    def bear(self, wanted: Object, have: Object, refused: set[str]) -> Object:
        """Return *wanted* without what of its securityContext is *refused* beside *have*."""
        left = {
            key: value for key, value in wanted[_CONTEXT].items() if key not in refused - {*have}
        }
        self.own += [(_CONTEXT, key) for key in wanted[_CONTEXT] if key not in left]
        return {**wanted, _CONTEXT: left}

    def into(self, have: Object, want: Mapping[str, Any], path: Path) -> None:
        """Merge an object of the profile into that of the pod at *path*."""
        for key, wanted in want.items():
            there = have.get(key)
            is_map = isinstance(wanted, dict) and key not in ONE_OF_SEVERAL
            if type(wanted) is Keyed:
                self._list(there, wanted, path, key)
            elif is_map and isinstance(there, dict | None):
                self.into(there or {}, wanted, (*path, key))
            elif there is None:
                self.draft.set_key(path, key, copied(wanted))
                self.added.append(_name((*path, key)))
            elif not says(there, wanted):
                self.own.append(_name((*path, key)))

    def _list(self, have: Any, want: Keyed, path: Path, key: str) -> None:
        there = keyed(key, have)
        missing = []
        for which, wanted in want.items():
            shown = "" if isinstance(which, tuple) else str(which)
            if which not in there:
                missing.append(copied(wanted))
                self.added.append((key, shown))
            elif not says(there[which], wanted):
                self.own.append((key, shown))
        if missing:
            self.draft.extend((*path, key), missing)


def _merge_volumes(merge: Merge, plan: Plan) -> Iterator[Decision]:
    """Merge mounts, init containers, and the volumes that they need.

    Warn of mounts of volumes that neither the profile nor the pod has.
    """
    profile, draft = plan.profile, merge.draft
    there = {each.get("name"): each for each in podspec.volumes(draft.pod)}
    foreign = {
        name
        for name, ours in profile.volumes.items()
        if name in there and not (says(there[name], ours) and says(ours, there[name]))
    }
    known = {*profile.volumes, *there} - foreign
    mounts, sidecars = [*_free_mounts(merge, plan)], [*_new_sidecars(merge, plan)]
    wanted = [mount["name"] for each in sidecars for mount in podspec.mounts(each)]
    wanted = [*(mount["name"] for mount in mounts), *wanted]
    mounted = {
        mount["name"]
        for each in (*profile.sidecars.values(), profile.container)
        for mount in podspec.mounts(each)
    }
    new = []
    for name, volume in profile.volumes.items():
        if name in foreign:
            merge.own.append(("volumes", name))
        elif name not in there and (name in wanted or name not in mounted):
            merge.added.append(("volumes", name))
            new.append(copied(volume))
    mounts = [copied(mount) for mount in mounts if mount["name"] in known]
    merge.added += [("volumeMounts", mount["mountPath"]) for mount in mounts]
    sidecars = [copied(each) for each in sidecars]
    for each in sidecars:
        if inside := each.get("volumeMounts"):
            each["volumeMounts"] = [mount for mount in inside if mount["name"] in known]
    for path, values in (
        (("spec", "volumes"), new),
        (plan.in_trainer("volumeMounts"), mounts),
        (("spec", "initContainers"), sidecars),
    ):
        if values:
            draft.extend(path, values)
    for name in dict.fromkeys(name for name in wanted if name not in {*known, *foreign}):
        message = (
            f"volume {name}, which profile {profile.name} mounts, is neither the "
            "profile's nor the pod's; the mount is left out: write the volume in one of them"
        )
        yield STEP.warned(plan, Reason.NO_VOLUME, message)


def _free_mounts(merge: Merge, plan: Plan) -> Iterator[Object]:
    """Yield the mounts at paths where the training container has neither mount nor device."""
    own = plan.trainer(merge.draft.pod)
    there: dict[str, Object] = {
        normalized_mount_path(each["mountPath"]): each for each in podspec.mounts(own)
    }
    devices = own.get("volumeDevices") or ()
    there |= {normalized_mount_path(device["devicePath"]): {} for device in devices}
    for path, mount in plan.profile.mounts.items():
        if path not in there:
            yield mount
        elif not says(there[path], mount):
            merge.own.append(("volumeMounts", path))


def _new_sidecars(merge: Merge, plan: Plan) -> Iterator[Object]:
    """Yield the init containers that the pod lacks: by their names, and by what they run."""
    pod = merge.draft.pod
    there = {each.get("name"): each for each in podspec.every_container(pod)}
    for name, sidecar in plan.profile.sidecars.items():
        if name in there:
            if any(there[name].get(key) != sidecar.get(key) for key in ("image", "restartPolicy")):
                merge.own.append(("initContainers", name))
        elif brought := _brought(pod, plan, sidecar):
            merge.own.append(("initContainers", f"{name} (as {brought})"))
        else:
            merge.added.append(("initContainers", name))
            yield sidecar


def says(have: Any, want: Any) -> bool:
    """Tell whether *have* says all that *want* says, whatever the API server has filled in."""
    if isinstance(want, dict):
        return isinstance(have, dict) and all(
            says(have.get(key, _FILLED_IN.get(key)), value) for key, value in want.items()
        )
    if isinstance(want, list):
        return isinstance(have, list) and len(have) == len(want) and all(map(says, have, want))
    return bool(have == want or not (have or want))


def copied(value: Any) -> Any:
    """Return a value of the profile for the pod, which may be changed."""
    if isinstance(value, dict):
        return {key: copied(inner) for key, inner in value.items()}
    return [copied(inner) for inner in value] if isinstance(value, list) else value


def _interfaces_of_the_pod(plan: Plan, own: Object) -> list[str]:
    """Return the profile's variables that name interfaces of the pod network, ``eth0``.

    On the node they are others, or absent. A list of those that are not to be used, ``^lo,docker``,
    holds there too.
    """
    if not plan.host_network or plan.profile.rendezvous.address_source == "multus":
        return []
    named = {name: plan.profile.env.get(name) or "^" for name in _SOCKETS}
    chosen = [name for name, value in named.items() if not value.startswith("^")]
    return [name for name in chosen if not podspec.has_env(own, name)]


def _context(holder: Object) -> Object:
    """Return what a securityContext of the job says."""
    context = holder.get(_CONTEXT) or {}
    return {key: value for key, value in context.items() if value is not None}


def _refused(context: Object, *of_the_job: Object) -> set[str]:
    """Name what of the profile's context is refused beside those of the job."""
    merged = dict(context)
    for each in of_the_job:
        merged |= each
    return {key for pair in _REFUSED if pair.items() <= merged.items() for key in pair}


def _brought(pod: Object, plan: Plan, sidecar: Object) -> str:
    """Return the name of the pod's own container that runs the sidecar's image; empty where none.

    Two daemons of one image would compete for the same cards and ports. Containers of the profile's
    own sidecars are not meant, nor the training container, nor an init container that ends before
    the training begins.
    """
    training, image = plan.trainer(pod), _image_name(sidecar)
    for container in podspec.running_containers(pod):
        is_other = container is not training and container.get("name") not in plan.profile.sidecars
        if is_other and _image_name(container) == image:
            return str(container.get("name"))
    return ""


def _image_name(container: Object) -> str:
    """Return the last part of an image's path: of any version, and maybe from a mirror."""
    path: str = (container.get("image") or "").partition("@")[0]
    return path.rpartition("/")[2].partition(":")[0]


def _name(path: Path) -> tuple[str, str]:
    """Name what stands at *path*, ``("annotations", "a.b/c")``."""
    steps = [str(step) for step in path if isinstance(step, str)]
    for holder in ("annotations", "labels", "affinity", "dnsConfig", _CONTEXT):
        if holder in steps[:-1]:
            return holder, ".".join(steps[steps.index(holder) + 1 :])
    return steps[-1], ""


def _listed(found: list[tuple[str, str]]) -> str:
    """List fields and keys: ``env A, B, tolerations``."""
    by_field: dict[str, dict[str, None]] = {}
    for field_name, key in found:
        by_field.setdefault(field_name, {})[key] = None
    return ", ".join(f"{name} {', '.join(keys)}".strip() for name, keys in by_field.items())
