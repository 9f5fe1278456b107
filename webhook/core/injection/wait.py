"""Add the wait container: an init container that waits until the published addresses are there, in a downward-API volume.

For the profiles that ask for it, the same container writes /etc/nccl.conf, see nccl_conf.py.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from webhook import __version__
from webhook.core import names, podspec
from webhook.core.addresses import DEFAULT
from webhook.core.draft import Draft
from webhook.core.errors import Denied
from webhook.core.model import Object, Reason
from webhook.core.plan import Plan
from webhook.core.profiles import INSTALLED
from webhook.core.workloads.training_pod import Rendezvous

FILES: Final = {
    path: f"metadata.annotations['{annotation}']"
    for path, annotation in (
        ("master-addr", names.MASTER_ADDR),
        ("master-host", names.MASTER_HOST),
        ("local-addr", names.LOCAL_ADDR),
        ("wait-ends", names.WAIT_ENDS),
    )
}
"""The files that the wait step reads, each with the annotation that it shows; it waits for the addresses."""
DEVICE_FILES: Final = {
    path: f"metadata.annotations['{annotation}']"
    for path, annotation in (
        ("nccl-ib-hca", names.NCCL_IB_HCA),
        ("ucx-net-devices", names.UCX_NET_DEVICES),
    )
}
"""The same of the device names, only in the volume of a pod that waits for them."""
_INHERITED = (
    "runAsUser",
    "runAsGroup",
    "runAsNonRoot",
    "seLinuxOptions",
    "seccompProfile",
    "appArmorProfile",
)
_DEFAULT_MODE: Final = 420
TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105  # a mount path
"""Where the ServiceAccount plugin mounts a token in every container that mounts nothing at exactly this path."""
_TOLD_IN: Final = "network-status"
"""The annotation that the script names."""
_COPIED = ("cpu", "memory", "ephemeral-storage")
_OWN_PROGRAM = ("fabric-injector", "wait")
"""What our own image runs in place of the script, ``fabric-injector wait NEED…``; it needs no shell."""
_MARK: Final = " # devices\n"
_NEEDS_AT: Final = 4
"""Place of the first need in the command: ``sh -c SCRIPT NAME NEED…``."""


@cache
def script(name: str = "wait.sh", *, devices: bool = False) -> str:
    """Return a shell script of this folder, without its comments; *devices*: with the lines for device names, which end in a mark."""
    text = files("webhook.core.injection").joinpath(name).read_text(encoding="ascii")
    lines = [line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("#")]
    return "".join(
        line.replace(_MARK, "\n") for line in lines if devices or not line.endswith(_MARK)
    )


def ensure(
    draft: Draft,
    plan: Plan,
    rendezvous: Rendezvous | None,
    needs: tuple[str, ...],
    nccl_conf: str | None = None,
) -> None:
    """Make the pod wait for the files in *needs*, ``("master-addr", "nccl-ib-hca")``; a container that is there is not moved.

    *nccl_conf*: the lines of /etc/nccl.conf that the container writes; None leaves them as they are, for the step that knows.
    Raises Denied where a container of the user's own has the wait container's name, which Kubernetes takes once in a pod, or where a
    container mounts a volume of the user's own by the name of the volume.
    """
    index = _find(draft.pod)
    everyone = (*podspec.containers(draft.pod), *podspec.init_containers(draft.pod))
    if sum([container.get("name") == names.WAIT_CONTAINER for container in everyone]) > (
        index is not None
    ):
        message = f"pod {plan.pod_name}: container {names.WAIT_CONTAINER} has the name of the wait step; give it another name"
        raise Denied("rendezvous" if needs else "nccl-conf", Reason.INVALID_POD, message)
    existing = podspec.init_containers(draft.pod)[index] if index is not None else {}
    if nccl_conf is None:
        nccl_conf = podspec.env_value(existing, names.ENV_NCCL_CONF) or ""
    if needs:
        _ensure_volume(draft, plan, needs)
    training = draft.pod["spec"]["containers"][plan.container]
    wanted = _container(training, plan, rendezvous, needs, nccl_conf)
    if index is None:
        draft.append(("spec", "initContainers"), wanted)
        return
    path = ("spec", "initContainers", index)
    if plan.profile.rendezvous.wait_image == INSTALLED and not plan.own_image:
        wanted["image"] = existing.get("image")  # only the webhook knows it, which was here before
    for key in ("image", "command", "env"):
        draft.set_key(path, key, wanted[key])
    there = [mount.get("mountPath") for mount in podspec.mounts(existing)]
    for mount in wanted["volumeMounts"]:
        if mount["mountPath"] not in there:
            draft.append((*path, "volumeMounts"), mount)


def remove(draft: Draft) -> None:
    """Remove the wait container, and the volume of the addresses unless another container mounts it."""
    while (index := _find(draft.pod)) is not None:
        draft.remove(("spec", "initContainers"), index)
    remove_volume(draft, names.WAIT_VOLUME)


def remove_volume(draft: Draft, name: str) -> None:
    """Remove the volume *name* unless a container mounts it."""
    everyone = (*podspec.containers(draft.pod), *podspec.init_containers(draft.pod))
    if any(
        mount.get("name") == name for container in everyone for mount in podspec.mounts(container)
    ):
        return
    for index, volume in reversed([*enumerate(podspec.volumes(draft.pod))]):
        if volume.get("name") == name:
            draft.remove(("spec", "volumes"), index)


def needs(pod: Object) -> list[str]:
    """Return what the wait container was told to wait for, ``["master-addr", "local-addr:own"]``; empty where there is none."""
    if (index := _find(pod)) is None:
        return []
    container = podspec.init_containers(pod)[index]
    command: list[str] = container["command"]
    return command[_needs_at(container) :]


def _find(pod: Object) -> int | None:
    for index, container in enumerate(podspec.init_containers(pod)):
        if container.get("name") == names.WAIT_CONTAINER and _needs_at(container):
            return index
    return None


def _needs_at(container: Object) -> int:
    """Return where the needs begin in the command of a wait container, of any release; 0 for one of the user's own."""
    command = container.get("command") or []
    if container.get("args") or container.get("restartPolicy"):  # with either it would not wait
        return 0
    if (*command[:2],) == _OWN_PROGRAM:
        return len(_OWN_PROGRAM)
    return _NEEDS_AT if command[_NEEDS_AT - 1 : _NEEDS_AT] == [names.WAIT_CONTAINER] else 0


def _ensure_volume(draft: Draft, plan: Plan, needs: tuple[str, ...]) -> None:
    """Add the volume, unless it is there; other files in it stay."""
    shows = [
        *FILES.items(),
        *((path, field) for path, field in DEVICE_FILES.items() if path in needs),
    ]
    items = [
        {"path": path, "fieldRef": {"apiVersion": "v1", "fieldPath": field}}
        for path, field in shows
    ]
    volume = {
        "name": names.WAIT_VOLUME,
        "downwardAPI": {"items": items, "defaultMode": _DEFAULT_MODE},
    }
    for index, existing in enumerate(podspec.volumes(draft.pod)):
        if existing.get("name") != names.WAIT_VOLUME:
            continue
        shown = (existing.get("downwardAPI") or {}).get("items")
        if shown is None and _is_mounted_by_user(draft.pod):
            message = f"volume {names.WAIT_VOLUME} has the name of the wait step's and holds something else"
            raise Denied(
                "rendezvous",
                Reason.INVALID_POD,
                f"pod {plan.pod_name}: {message}; give it another name",
            )
        if not shown or any(item not in shown for item in items):
            draft.replace(("spec", "volumes"), index, volume)
        return
    draft.append(("spec", "volumes"), volume)


def _is_mounted_by_user(pod: Object) -> bool:
    everyone = (*podspec.containers(pod), *podspec.init_containers(pod))
    return any(
        mount["name"] == names.WAIT_VOLUME
        for container in everyone
        if container.get("name") != names.WAIT_CONTAINER
        for mount in podspec.mounts(container)
    )


def _container(
    training: Object,
    plan: Plan,
    rendezvous: Rendezvous | None,
    needs: tuple[str, ...],
    nccl_conf: str,
) -> Object:
    settings = plan.profile.rendezvous
    told_in = plan.source.WORDS.told_in_short if settings.address_source != DEFAULT else _TOLD_IN
    image = settings.wait_image or training.get("image")
    if settings.wait_image == INSTALLED:
        image = plan.own_image or f"fabric-injector:{__version__}"
    command = (
        [*_OWN_PROGRAM, *needs]
        if settings.wait_image == INSTALLED
        else _command(needs, nccl_conf, told_in)
    )
    variables = {"NVIDIA_VISIBLE_DEVICES": "void"}
    if rendezvous is not None:
        variables = {
            "FABRIC_INJECTOR_JOB": rendezvous.job,
            "FABRIC_INJECTOR_RANK_ZERO": rendezvous.rank_zero,
            "FABRIC_INJECTOR_TIMEOUT": str(settings.timeout_seconds),
            **variables,
        }
        if told_in != _TOLD_IN:
            variables[names.ENV_ADDRESS_ANNOTATION] = told_in
    mounts = []
    if needs:
        mounts.append(
            {"name": names.WAIT_VOLUME, "mountPath": names.WAIT_MOUNT_PATH, "readOnly": True}
        )
    if nccl_conf:
        variables[names.ENV_NCCL_CONF] = nccl_conf
        mounts.append({"name": names.NCCL_CONF_VOLUME, "mountPath": names.NCCL_CONF_WRITE_PATH})
    # Else the plugin would mount a token there after us, which the container does not need, and the API server calls us again for
    # each pod that is changed after us.
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
    text = script("nccl_conf.sh") if nccl_conf else ""
    if needs:
        waiting = script(devices=any(path in needs for path in DEVICE_FILES))
        if " " in told_in:  # a place that is no annotation
            waiting = waiting.replace(f"that pod's {_TOLD_IN} annotation", told_in)
        text += waiting if told_in == _TOLD_IN else waiting.replace(_TOLD_IN, told_in)
    return ["sh", "-c", text, names.WAIT_CONTAINER, *needs]


def _resources(training: Object) -> Object:
    """Copy memory, cpu and storage: the pod's QoS class stays, and what refuses or takes the training container does so with this one.

    A LimitRange's defaults, which the training container has already, are then not added to this one after us.

    Whole cpus of a Guaranteed pod are pinned once: the kubelet's static policy gives an init container's cpus to the containers that
    follow. Source: kubernetes pkg/kubelet/cm/cpumanager/policy_static.go, cpusToReuse; run with kubelet 1.36 on one free cpu.
    """
    resources: Object = {}
    for kind, source in (
        ("limits", podspec.limits(training)),
        ("requests", podspec.requests(training)),
    ):
        copied = {name: source[name] for name in _COPIED if name in source}
        if copied:
            resources[kind] = copied
    return resources


def security_context(training: Object) -> Object:
    """Take the training container's user and confinement without its privileges: PodSecurity refuses nothing more for it."""
    theirs = training.get("securityContext") or {}
    context: Object = {
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    for key in _INHERITED:
        if theirs.get(key) is not None:
            value = theirs[key]
            context[key] = dict(value) if isinstance(value, dict) else value
    return context
