"""Add the wait container, an init container that waits until the published addresses are there.

They come in a downward-API volume. For the profiles that ask for it, the same container writes
/etc/nccl.conf, see nccl_conf.py.
"""

from copy import deepcopy
from importlib.resources import files
from typing import Final

from webhook import __version__
from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.injection.row import Row, stated
from webhook.core.model import Object, Reason
from webhook.core.plan import Plan
from webhook.core.profiles import INSTALLED

FILES: Final = {
    "master-addr": f"metadata.annotations['{names.MASTER_ADDR}']",
    "master-host": f"metadata.annotations['{names.MASTER_HOST}']",
    "local-addr": f"metadata.annotations['{names.LOCAL_ADDR}']",
    "wait-ends": f"metadata.annotations['{names.WAIT_ENDS}']",
}
"""The files that the wait step reads, each with the annotation that it shows."""
DEVICE_FILES: Final = {
    "nccl-ib-hca": f"metadata.annotations['{names.NCCL_IB_HCA}']",
    "ucx-net-devices": f"metadata.annotations['{names.UCX_NET_DEVICES}']",
}
"""The same of the device names, only in the volume of a pod that waits for them."""
FIELDS: Final = FILES | DEVICE_FILES
_INHERITED = (
    "runAsUser",
    "runAsGroup",
    "runAsNonRoot",
    "seLinuxOptions",
    "seccompProfile",
    "appArmorProfile",
)
TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105  # a mount path
"""Where the ServiceAccount plugin mounts a token in every container that mounts nothing there."""
_TOLD_IN: Final = "network-status"
"""The annotation that the script names."""
_COPIED = ("cpu", "memory", "ephemeral-storage")
_OWN_PROGRAM = ("fabric-injector", "wait")
"""What our own image runs in place of the script, without a shell."""
_NEEDS_AT: Final = 4
"""Place of the first need in the command: ``sh -c SCRIPT NAME NEED…``."""


def _read(name: str) -> str:
    """Return a shell script of this folder, without its comments."""
    text = files("webhook.core.injection").joinpath(name).read_text(encoding="ascii")
    lines = text.splitlines(keepends=True)
    return "".join([line for line in lines if not line.lstrip().startswith("#")])


SCRIPT: Final = _read("wait.sh")
NCCL_CONF_SCRIPT: Final = _read("nccl_conf.sh")
"""Read at import: when the first pod comes, no file descriptor may be left."""


def field_entry(variable: str, file: str) -> Object:
    """Write a variable that takes its value from the annotation that *file* shows."""
    reference = {"apiVersion": "v1", "fieldPath": FIELDS[file]}
    return {"name": variable, "valueFrom": {"fieldRef": reference}}


def ensure(draft: Draft, plan: Plan, needs: tuple[str, ...], nccl_conf: str | None = None) -> None:
    """Make the pod wait for the files in *needs*, ``("master-addr", "nccl-ib-hca")``.

    A container that is there is not moved. *nccl_conf*: the lines of /etc/nccl.conf that the
    container writes; None leaves them as they are, for the step that knows.

    Raises Denied where the user's own container or volume has the name of the wait container's.
    """
    path, there = ("spec", "initContainers"), podspec.init_containers(draft.pod)
    index = next((at for at, each in enumerate(there) if _needs_at(each)), None)
    everyone = podspec.every_container(draft.pod)
    named = [one for one in everyone if one.get("name") == names.WAIT_CONTAINER]
    if len(named) > (index is not None):
        step = Row("rendezvous" if needs else "nccl-conf")
        message = f"container {names.WAIT_CONTAINER} has the name of the wait step"
        raise step.denied(plan, Reason.INVALID_POD, f"{message}; give it another name")
    existing = named[0] if named else {}
    if nccl_conf is None:
        nccl_conf = podspec.env_value(existing, names.ENV_NCCL_CONF) or ""
    if needs:
        _ensure_volume(draft, plan, needs)
    wanted = _container(plan.trainer(draft.pod), plan, needs, nccl_conf)
    if index is None:
        place = len(there)  # behind all but the profile's own, which stay last
        while place and there[place - 1].get("name") in plan.profile.sidecars:
            place -= 1
        draft.insert(path, place, wanted)
        return
    if plan.profile.rendezvous.wait_image == INSTALLED and not plan.own_image:
        wanted["image"] = existing.get("image")  # only the webhook knows it, which was here before
    for key in ("image", "command", "env"):
        draft.set_key((*path, index), key, wanted[key])
    mounted = [mount.get("mountPath") for mount in podspec.mounts(existing)]
    missing = [mount for mount in wanted["volumeMounts"] if mount["mountPath"] not in mounted]
    if missing:
        draft.extend((*path, index, "volumeMounts"), missing)


def remove(draft: Draft) -> None:
    """Remove the wait container, and the volume of the addresses unless another one mounts it."""
    draft.drop(("spec", "initContainers"), lambda container: _needs_at(container) > 0)
    remove_volume(draft, names.WAIT_VOLUME)


def remove_volume(draft: Draft, name: str) -> None:
    """Remove the volume *name* unless a container mounts it."""
    if not any(_mounts(container, name) for container in podspec.every_container(draft.pod)):
        draft.drop(("spec", "volumes"), lambda volume: volume.get("name") == name)


def needs(pod: Object) -> list[str]:
    """Return what the wait container waits for, ``["master-addr", "local-addr:own"]``.

    Empty where there is none.
    """
    for container in podspec.init_containers(pod):
        if at := _needs_at(container):
            command: list[str] = container["command"]
            return command[at:]
    return []


def _needs_at(container: Object) -> int:
    """Return where the needs begin in the command of a wait container, of any release; else 0."""
    command = container.get("command") or []
    if container.get("name") != names.WAIT_CONTAINER:
        return 0
    if container.get("args") or container.get("restartPolicy"):  # with either it would not wait
        return 0
    if (*command[:2],) == _OWN_PROGRAM:
        return len(_OWN_PROGRAM)
    return _NEEDS_AT if command[_NEEDS_AT - 1 : _NEEDS_AT] == [names.WAIT_CONTAINER] else 0


def _mounts(container: Object, volume: str) -> bool:
    return any(mount["name"] == volume for mount in podspec.mounts(container))


def _ensure_volume(draft: Draft, plan: Plan, needs: tuple[str, ...]) -> None:
    """Add the volume, unless it is there; other files in it stay."""
    shown = FILES | {path: field for path, field in DEVICE_FILES.items() if path in needs}
    items = [
        {"path": path, "fieldRef": {"apiVersion": "v1", "fieldPath": field}}
        for path, field in shown.items()
    ]
    volume = {"name": names.WAIT_VOLUME, "downwardAPI": {"items": items, "defaultMode": 0o644}}
    there = [each.get("name") for each in podspec.volumes(draft.pod)]
    if names.WAIT_VOLUME not in there:
        draft.append(("spec", "volumes"), volume)
        return
    index = there.index(names.WAIT_VOLUME)
    present = draft.get("spec", "volumes", index, "downwardAPI", "items")
    if present is None and any(
        _mounts(container, names.WAIT_VOLUME)
        for container in podspec.every_container(draft.pod)
        if container.get("name") != names.WAIT_CONTAINER
    ):
        message = f"volume {names.WAIT_VOLUME} has the name of the wait step's and holds something"
        raise Row("rendezvous").denied(
            plan, Reason.INVALID_POD, f"{message} else; give it another name"
        )
    if not present or any(item not in present for item in items):
        draft.replace(("spec", "volumes"), index, volume)


def _container(training: Object, plan: Plan, needs: tuple[str, ...], nccl_conf: str) -> Object:
    settings, rendezvous = plan.profile.rendezvous, plan.rendezvous
    words = plan.source.words
    told_in = words.place or words.told.partition("/")[2]
    image = str(settings.wait_image) or training.get("image")
    command = _command(needs, nccl_conf, told_in)
    if settings.wait_image == INSTALLED:
        image = plan.own_image or f"fabric-injector:{__version__}"
        command = [*_OWN_PROGRAM, *needs]
    variables = {}
    if rendezvous is not None:
        variables["FABRIC_INJECTOR_JOB"] = rendezvous.job
        variables["FABRIC_INJECTOR_RANK_ZERO"] = rendezvous.rank_zero
        variables["FABRIC_INJECTOR_TIMEOUT"] = str(settings.timeout_seconds)
    variables["NVIDIA_VISIBLE_DEVICES"] = "void"
    if rendezvous is not None and told_in != _TOLD_IN:
        variables[names.ENV_ADDRESS_ANNOTATION] = told_in
    mounts = []
    if needs:
        mounts.append(
            {"name": names.WAIT_VOLUME, "mountPath": names.WAIT_MOUNT_PATH, "readOnly": True}
        )
    if nccl_conf:
        variables[names.ENV_NCCL_CONF] = nccl_conf
        mounts.append({"name": names.NCCL_CONF_VOLUME, "mountPath": names.NCCL_CONF_WRITE_PATH})
    # Else the plugin would mount a token there after us, which the container does not need, and the
    # API server calls us again for each pod that is changed after us.
    mounts.append({"name": mounts[0]["name"], "mountPath": TOKEN_PATH, "readOnly": True})
    container: Object = {
        "name": names.WAIT_CONTAINER,
        "image": image,
        "command": command,
        "env": [{"name": name, "value": value} for name, value in variables.items()],
        "resources": _resources(training),
        "securityContext": security_context(training),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts,
    }
    if (policy := training.get("imagePullPolicy")) and not settings.wait_image:
        container["imagePullPolicy"] = policy
    return container


def _command(needs: tuple[str, ...], nccl_conf: str, told_in: str) -> list[str]:
    """Return script and needs; *told_in*: the annotation at which a person is to look."""
    text = NCCL_CONF_SCRIPT if nccl_conf else ""
    waiting = SCRIPT if needs else ""
    if " " in told_in:  # a place that is no annotation
        waiting = waiting.replace(f"that pod's {_TOLD_IN} annotation", told_in)
    text += waiting.replace(_TOLD_IN, told_in)
    return ["sh", "-c", text, names.WAIT_CONTAINER, *needs]


def _resources(training: Object) -> Object:
    """Copy memory, cpu and storage: the pod's QoS class stays.

    What refuses or takes the training container does so with this one. A LimitRange's defaults,
    which the training container has already, are not added to this one after us.

    Whole cpus of a Guaranteed pod are pinned once: the kubelet's static policy gives an init
    container's cpus to the containers that follow. Source: kubernetes
    pkg/kubelet/cm/cpumanager/policy_static.go, cpusToReuse; run with kubelet 1.36 on one free cpu.
    """
    limits, requests = podspec.limits(training), podspec.requests(training)
    return stated(
        limits={name: limits[name] for name in _COPIED if name in limits},
        requests={name: requests[name] for name in _COPIED if name in requests},
    )


def security_context(training: Object) -> Object:
    """Take the training container's user and confinement without its privileges.

    PodSecurity refuses nothing more for it.
    """
    theirs = training.get("securityContext") or {}
    inherited = {key: theirs[key] for key in _INHERITED if theirs.get(key) is not None}
    return {
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
        **(deepcopy(inherited) if inherited else {}),
    }
