"""Merge what the profile says in Kubernetes' words; what the job says itself stays.

Lists are merged by the keys of Kubernetes' strategic merge; an item that the pod has by its key is
the job's, whole, and so is a list without such a key. Left to other steps: node selectors, which
may contradict each other, and amounts of devices.
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from webhook.core import names, podspec
from webhook.core.draft import Draft, Path
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Object, Reason
from webhook.core.plan import Plan
from webhook.core.podspec import normalized_mount_path
from webhook.core.profiles.template import Keyed, identity, is_whole
from webhook.core.quantity import stored_quantity

STEP: Final = Row("profile")
_ELSEWHERE: Final = ("resources", "volumeMounts", "nodeSelector", "volumes", "initContainers")
"""Fields that are not merged by their keys alone."""
_OF_OTHER_STEPS: Final = {"resources", "nodeSelector", "spec"}
_NOT_ON_WINDOWS: Final = ("securityContext",)
_SOCKETS: Final = (names.ENV_NCCL_SOCKET_IFNAME, names.ENV_GLOO_SOCKET_IFNAME)
_FILLED_IN: Final = {"apiVersion": "v1", "defaultMode": 0o644}
"""What the API server writes where nothing is said, beside empty values."""


def inject(draft: Draft, plan: Plan) -> Iterator[Decision]:
    """Add what the pod lacks of the profile's ``container`` and ``pod``, and say what stays."""
    container, spec = plan.profile.merged
    pod = plan.profile.pod
    is_windows = podspec.is_windows(draft.pod)
    merge = Merge(draft, {*_ELSEWHERE, *(_NOT_ON_WINDOWS if is_windows else ())})
    own = plan.trainer(draft.pod)
    interfaces = _interfaces_of_the_pod(plan, own)
    given = {*interfaces, *_device_variables(plan, own)}
    merged = {**container, "env": _without(container.get("env"), given)}
    if not is_windows:
        merged |= _bearable(merge, merged, _contrary(merged, own, draft.pod))
        spec = spec | _bearable(merge, spec, _contrary_to_containers(spec, draft.pod))
    merge.into(own, merged, plan.in_trainer())
    merge.into(draft.pod, {**pod, "spec": spec}, ())
    if is_windows:
        yield from _left_out_of_windows(plan)
    else:
        yield from _Volumes(merge, plan).merge()
    for name in interfaces:
        yield _interface_left_out(plan, name)
    if merge.added:
        gets = f"the pod gets {_listed(merge.added)} of profile {plan.profile.name}"
        yield STEP.added(gets)
    elif not merge.own and not (container.keys() | pod.keys() | spec.keys()) - _OF_OTHER_STEPS:
        yield STEP.not_asked(f"profile {plan.profile.name} has nothing to merge")
    elif not merge.own:
        yield STEP.already_there(f"the pod has all that profile {plan.profile.name} gives already")
    if merge.own:
        yield STEP.kept(Reason.USER_VALUE, f"the pod's own stay: {_listed(merge.own)}")


@dataclass
class Merge:
    """Write what a pod lacks; *added* and *own*, what it says itself, as pairs of field and key."""

    draft: Draft
    left: Container[str]
    added: list[tuple[str, str]] = field(default_factory=list)
    own: list[tuple[str, str]] = field(default_factory=list)

    def into(self, have: Object, want: Mapping[str, Any], path: Path) -> None:
        """Merge an object of the profile into that of the pod at *path*."""
        for key, wanted in want.items():
            if key in self.left and path[:1] != ("metadata",):
                continue
            there = have.get(key)
            if type(wanted) is Keyed:
                self._list(there, wanted, path, key)
            elif there is None:
                self._set(wanted, path, key)
            elif isinstance(wanted, dict) and isinstance(there, dict) and not is_whole(key):
                self.into(there, wanted, (*path, key))
            elif not says(there, wanted):
                self.own.append(_name((*path, key)))

    def _set(self, wanted: Any, path: Path, key: str) -> None:
        if isinstance(wanted, dict) and not is_whole(key):
            self.into({}, wanted, (*path, key))
        else:
            self.draft.set_key(path, key, copied(wanted))
            self.added.append(_name((*path, key)))

    def _list(self, have: Any, want: Keyed, path: Path, key: str) -> None:
        there = {identity(key, each): each for each in have or ()}
        missing = []
        for which, wanted in want.items():
            if which not in there:
                missing.append(wanted)
                self.added.append((key, _shown(which)))
            elif not says(there[which], wanted):
                self.own.append((key, _shown(which)))
        if missing:
            self.draft.extend((*path, key), map(copied, missing))


class _Volumes:
    """Merge mounts, init containers, and the volumes that they need."""

    def __init__(self, merge: Merge, plan: Plan) -> None:
        self._merge, self._plan = merge, plan
        self._profile, self._draft = plan.profile, merge.draft
        self._in_pod = {each.get("name"): each for each in podspec.volumes(self._draft.pod)}
        self._foreign = {
            name
            for name, ours in self._profile.volumes.items()
            if name in self._in_pod and not _is_same(self._in_pod[name], ours)
        }
        self._absent: list[str] = []
        self._needed: set[str] = set()

    def merge(self) -> Iterator[Decision]:
        """Write all of them; warn of mounts of volumes that neither the profile nor the pod has."""
        if not (self._profile.volumes or self._profile.mounts or self._profile.sidecars):
            return
        mounts = self._usable(self._free_mounts())
        sidecars = [self._sidecar(each) for each in self._new_sidecars()]
        self._write_volumes()
        if mounts:
            self._merge.added += [("volumeMounts", mount["mountPath"]) for mount in mounts]
            self._draft.extend(self._plan.in_trainer("volumeMounts"), mounts)
        if sidecars:
            self._draft.extend(("spec", "initContainers"), sidecars)
        for name in dict.fromkeys(self._absent):
            message = (
                f"volume {name}, which profile {self._profile.name} mounts, is neither the "
                "profile's nor the pod's; the mount is left out: write the volume in one of them"
            )
            yield STEP.warned(self._plan, Reason.NO_VOLUME, message)

    def _free_mounts(self) -> list[Object]:
        """Return the mounts at paths where the training container has neither mount nor device."""
        own = self._plan.trainer(self._draft.pod)
        there: dict[str, Object] = {
            normalized_mount_path(each["mountPath"]): each for each in podspec.mounts(own)
        }
        there |= {normalized_mount_path(path): {} for path in podspec.device_paths(own)}
        free = []
        for path, mount in self._profile.mounts.items():
            if path not in there:
                free.append(mount)
            elif not says(there[path], mount):
                self._merge.own.append(("volumeMounts", path))
        return free

    def _usable(self, mounts: list[Object]) -> list[Object]:
        """Return copies of the mounts whose volume is the profile's, or one of the pod's own."""
        found = []
        for mount in mounts:
            name = mount["name"]
            if name in self._foreign:
                continue
            if name in self._profile.volumes or name in self._in_pod:
                self._needed.add(name)
                found.append(copied(mount))
            else:
                self._absent.append(name)
        return found

    def _new_sidecars(self) -> Iterator[Object]:
        pod = self._draft.pod
        there = {each.get("name"): each for each in podspec.every_container(pod)}
        for name, sidecar in self._profile.sidecars.items():
            if name in there:
                if not _is_run(there[name], sidecar):
                    self._merge.own.append(("initContainers", name))
            elif brought := find_brought(pod, self._plan, sidecar):
                self._merge.own.append(("initContainers", f"{name} (as {brought})"))
            else:
                self._merge.added.append(("initContainers", name))
                yield sidecar

    def _sidecar(self, sidecar: Object) -> Object:
        made: Object = copied(sidecar)
        if mounts := sidecar.get("volumeMounts"):
            made["volumeMounts"] = self._usable(mounts)
        return made

    def _write_volumes(self) -> None:
        """Add the volumes that something mounts now, and those that nothing of the profile does."""
        mounted = {
            mount["name"]
            for each in (*self._profile.sidecars.values(), self._profile.container)
            for mount in podspec.mounts(each)
        }
        new = []
        for name, volume in self._profile.volumes.items():
            if name in self._foreign:
                self._merge.own.append(("volumes", name))
            elif name not in self._in_pod and (name in self._needed or name not in mounted):
                self._merge.added.append(("volumes", name))
                new.append(copied(volume))
        if new:
            self._draft.extend(("spec", "volumes"), new)


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


def _is_run(there: Object, sidecar: Object) -> bool:
    """Tell whether a container of the pod runs as the profile's, as far as its name means more."""
    return all(there.get(key) == sidecar.get(key) for key in ("image", "restartPolicy"))


def _is_same(there: Object, ours: Object) -> bool:
    """Tell whether a volume of the pod has the content of the profile's."""
    return says(there, ours) and says(ours, there)


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


def _interface_left_out(plan: Plan, name: str) -> Decision:
    message = (
        f"{name}={plan.profile.env[name]} of profile {plan.profile.name} is left out: it names an "
        "interface of the pod network, and the pod uses the node's; set it in the pod if the node "
        "has it too"
    )
    return STEP.warned(plan, Reason.HOST_NETWORK, message)


def _device_variables(plan: Plan, own: Object) -> list[str]:
    """Return the variables to which `device_variables` has given the names of devices."""
    if not plan.profile.device_variables:
        return []
    return [each["name"] for each in podspec.env(own) if podspec.names_devices(each)]


def _without(env: Keyed | None, names_left: set[str]) -> Keyed:
    if not env or names_left.isdisjoint(env):
        return env or Keyed()
    return Keyed({name: each for name, each in env.items() if name not in names_left})


def _bearable(merge: Merge, wanted: Object, contrary: set[str]) -> Object:
    """Return the securityContext without what the job's own contradicts, and note that."""
    context = wanted.get("securityContext") or {}
    left = [key for key in context if key in contrary]
    merge.own += [("securityContext", key) for key in left]
    return {"securityContext": {k: v for k, v in context.items() if k not in left}} if left else {}


def _contrary(wanted: Object, own: Object, pod: Object) -> set[str]:
    """Name what a container's context may not get: the pod's own context says other.

    Also what the API server or the kubelet refuses beside what the job says.
    """
    want, have = wanted.get("securityContext") or {}, own.get("securityContext") or {}
    above = (pod.get("spec") or {}).get("securityContext") or {}
    found = {
        key
        for key, value in want.items()
        if have.get(key) is None and above.get(key) is not None and not says(above[key], value)
    }
    found |= _contrary_users(want, have, above)
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
    found = set()
    if user == 0 and want.get("runAsNonRoot"):
        found.add("runAsNonRoot")
    if non_root and user is None and want.get("runAsUser") == 0:
        found.add("runAsUser")
    return found


def _contrary_to_containers(wanted: Object, pod: Object) -> set[str]:
    """Name what the pod's context may not get: a container of the job, or its host, forbids it."""
    want, spec = wanted.get("securityContext") or {}, pod.get("spec") or {}
    above = spec.get("securityContext") or {}
    found: set[str] = set()
    for container in podspec.every_container(pod):
        found |= _contrary_users(want, container.get("securityContext") or {}, above)
    shared = (
        *(("net.",) if spec.get("hostNetwork") else ()),
        *(("kernel.", "fs.") if spec.get("hostIPC") else ()),
    )
    if any(str(each.get("name")).startswith(shared) for each in want.get("sysctls") or ()):
        found.add("sysctls")
    return {key for key in found if above.get(key) is None}


def _left_out_of_windows(plan: Plan) -> Iterator[Decision]:
    profile = plan.profile
    contexts = [
        part.get("securityContext") for part in (profile.container, profile.pod.get("spec") or {})
    ]
    if profile.volumes or profile.mounts or profile.sidecars or any(contexts):
        message = (
            "a Windows pod has no paths, security contexts and sidecars as the profile gives them"
        )
        yield STEP.skipped(Reason.WINDOWS, message)


def find_brought(pod: Object, plan: Plan, sidecar: Object) -> str:
    """Return the name of the pod's own container that runs the sidecar's image; empty where none.

    Two daemons of one image would compete for the same cards and ports. Containers of the profile's
    own sidecars are not meant, nor the training container, nor an init container that ends before
    the training begins.
    """
    training = plan.trainer(pod)
    repository = _repository(sidecar["image"])
    for container in podspec.running_containers(pod):
        if (
            container is not training
            and container.get("name") not in plan.profile.sidecars
            and _runs_image_of(container, sidecar, repository)
        ):
            return str(container.get("name"))
    return ""


def _runs_image_of(container: Object, sidecar: Object, ours: list[str]) -> bool:
    """Tell whether the container's image is the sidecar's in any version, maybe from a mirror.

    A mirror has another registry, and folders before the repository: the last two parts of its path
    tell the image. The last part alone may be another one's, ``daemon``, unless the container
    mounts something where the sidecar does, too. *ours*: the sidecar's repository.
    """
    theirs = _repository(container.get("image") or "")
    if theirs[-1:] != ours[-1:]:
        return False
    if theirs[-2:] == ours[-2:]:
        return True
    wanted = {normalized_mount_path(mount["mountPath"]) for mount in podspec.mounts(sidecar)}
    return any(
        normalized_mount_path(mount["mountPath"]) in wanted for mount in podspec.mounts(container)
    )


def _repository(image: str) -> list[str]:
    """Return the path of an image's repository, ``["team", "one"]``."""
    path, _, _ = image.partition("@")
    folder, slash, last = path.rpartition("/")
    first, *rest = f"{folder}{slash}{last.partition(':')[0]}".split("/")
    is_registry = bool(rest) and (first == "localhost" or "." in first or ":" in first)
    return rest if is_registry else [first, *rest]


def _name(path: Path) -> tuple[str, str]:
    """Name what stands at *path*, ``("annotations", "a.b/c")``."""
    steps = [str(step) for step in path if isinstance(step, str)]
    for holder in ("annotations", "labels", "affinity", "dnsConfig", "securityContext"):
        if holder in steps[:-1]:
            return holder, ".".join(steps[steps.index(holder) + 1 :])
    return steps[-1], ""


def _shown(which: Any) -> str:
    """Show the key of an item; one of several values would be long."""
    return "" if isinstance(which, tuple) else str(which)


def _listed(found: list[tuple[str, str]]) -> str:
    """List fields and keys: ``env A, B, tolerations``."""
    by_field: dict[str, dict[str, None]] = {}
    for field_name, key in found:
        by_field.setdefault(field_name, {})[key] = None
    return ", ".join(f"{name} {', '.join(keys)}".strip() for name, keys in by_field.items())
