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
from webhook.core.quantity import stored_quantity

STEP: Final = Row("profile")
_CONTEXT: Final = "securityContext"
_SOCKETS: Final = (names.ENV_NCCL_SOCKET_IFNAME, names.ENV_GLOO_SOCKET_IFNAME)
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
    if left := {*interfaces, *_published(own)}:
        env = {name: each for name, each in container.get("env", {}).items() if name not in left}
        container = {**container, "env": Keyed(env)}
    if own_context := container.get(_CONTEXT):
        container = merge.bear(container, _contrary(own_context, own, draft.pod))
    if pod_context := spec.get(_CONTEXT):
        spec = merge.bear(spec, _contrary_to_containers(pod_context, draft.pod))
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

    def bear(self, wanted: Object, refused: set[str]) -> Object:
        """Return *wanted* without what of its securityContext is *refused* beside the job's."""
        context = wanted[_CONTEXT]
        if refused.isdisjoint(context):
            return wanted
        self.own += [(_CONTEXT, key) for key in context if key in refused]
        left = {key: value for key, value in context.items() if key not in refused}
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
    there |= {normalized_mount_path(path): {} for path in podspec.device_paths(own)}
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
        elif brought := find_brought(pod, plan, sidecar):
            merge.own.append(("initContainers", f"{name} (as {brought})"))
        else:
            merge.added.append(("initContainers", name))
            yield sidecar


def says(have: Any, want: Any) -> bool:
    """Tell whether *have* says all that *want* says, whatever the API server has filled in."""
    if isinstance(want, dict):
        return isinstance(have, dict) and all(
            _agrees(key, have.get(key, _FILLED_IN.get(key)), value) for key, value in want.items()
        )
    if isinstance(want, list):
        return isinstance(have, list) and len(have) == len(want) and all(map(says, have, want))
    return bool(have == want or not (have or want))


def _agrees(key: str, have: Any, want: Any) -> bool:
    if key in ("path", "mountPath") and isinstance(have, str) and isinstance(want, str):
        return normalized_mount_path(have) == normalized_mount_path(want)
    if key == "sizeLimit":
        return stored_quantity(have) == stored_quantity(want)
    return says(have, want)


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
    values = {name: plan.profile.env.get(name, "") for name in _SOCKETS}
    return [
        name
        for name, value in values.items()
        if value and not value.startswith("^") and not podspec.has_env(own, name)
    ]


def _published(own: Object) -> list[str]:
    """Return the variables to which other steps have given something of the pod's own."""
    every = filter(podspec.is_published, podspec.references(own))
    return [each["name"] for each in every if not podspec.takes_rank_zero(each)]


def _contrary(want: Object, own: Object, pod: Object) -> set[str]:
    """Name what a container's context may not get: the pod's own context says other.

    Also what the API server or the kubelet refuses beside what the job says.
    """
    have = own.get(_CONTEXT) or {}
    above = (pod.get("spec") or {}).get(_CONTEXT) or {}
    found = _contrary_users(want, have, above)
    found |= {
        key
        for key, value in want.items()
        if have.get(key) is None and above.get(key) is not None and not says(above[key], value)
    }
    capabilities = (have.get("capabilities") or {}).get("add") or ()
    is_powerful = have.get("privileged") or "CAP_SYS_ADMIN" in capabilities
    if is_powerful and want.get("allowPrivilegeEscalation") is False:
        found.add("allowPrivilegeEscalation")
    if have.get("allowPrivilegeEscalation") is False and want.get("privileged"):
        found.add("privileged")
    return found


def _contrary_users(want: Object, own: Object, above: Object) -> set[str]:
    """Name what of *want* the kubelet refuses beside the job's own: root that is not to be root."""
    user = podspec.of_context(own, above, "runAsUser")
    non_root = podspec.of_context(own, above, "runAsNonRoot")
    if user == 0 and want.get("runAsNonRoot"):
        return {"runAsNonRoot"}
    return {"runAsUser"} if non_root and user is None and want.get("runAsUser") == 0 else set()


def _contrary_to_containers(want: Object, pod: Object) -> set[str]:
    """Name what the pod's context may not get: a container of the job, or its host, forbids it."""
    spec = pod["spec"]
    above = spec.get(_CONTEXT) or {}
    found: set[str] = set()
    for container in podspec.every_container(pod):
        found |= _contrary_users(want, container.get(_CONTEXT) or {}, above)
    shared = (
        *(("net.",) if spec.get("hostNetwork") else ()),
        *(("kernel.", "fs.") if spec.get("hostIPC") else ()),
    )
    if any(str(each.get("name")).startswith(shared) for each in want.get("sysctls") or ()):
        found.add("sysctls")
    return {key for key in found if above.get(key) is None}


def find_brought(pod: Object, plan: Plan, sidecar: Object) -> str:
    """Return the name of the pod's own container that runs the sidecar's image; empty where none.

    Two daemons of one image would compete for the same cards and ports. Containers of the profile's
    own sidecars are not meant, nor the training container, nor an init container that ends before
    the training begins.
    """
    training = plan.trainer(pod)
    for container in podspec.running_containers(pod):
        is_other = container is not training and container.get("name") not in plan.profile.sidecars
        if is_other and _runs_image_of(container, sidecar):
            return str(container.get("name"))
    return ""


def _runs_image_of(container: Object, sidecar: Object) -> bool:
    """Tell whether the container's image is the sidecar's in any version, maybe from a mirror.

    A mirror has another registry, and folders before the repository: the last two parts of its path
    tell the image. The last part may be another one's, ``daemon``, unless the container mounts
    something where the sidecar does, too.
    """
    theirs, ours = _repository(container.get("image") or ""), _repository(sidecar["image"])
    places = [
        {normalized_mount_path(mount["mountPath"]) for mount in podspec.mounts(each)}
        for each in (container, sidecar)
    ]
    is_alike = theirs == ours or not places[0].isdisjoint(places[1])
    return theirs[-1] == ours[-1] and is_alike


def _repository(image: str) -> list[str]:
    """Return the last two parts of an image's path without its version, ``["team", "one"]``."""
    *folders, last = image.partition("@")[0].split("/")
    return [*folders[-1:], last.partition(":")[0]]


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
