"""Write NCCL's settings to /etc/nccl.conf too, for ranks that inherit no variable: mpirun, Slurm and ssh start them elsewhere.

NCCL reads the file after the environment and sets only what is not set: the first line that names a variable counts, and a variable
of the environment outweighs it. A mount hides the image's own file, so the wait container, which runs the training container's image
and mounts nothing there, writes our lines and then the image's. Source: NCCL src/misc/param.cc initEnvFunc, setEnvFile.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.errors import Denied
from webhook.core.injection import wait
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan

STEP: Final = "nccl-conf"
_MOST: Final = 1023
"""Characters of a name or a value that NCCL reads."""


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Mount a file of our settings and the image's at /etc/nccl.conf of the training container, where the profile asks for it.

    Raises Denied where the user's own volume has the name of the one for it.
    """
    training = podspec.containers(draft.pod)[plan.container]
    why = _why_not(draft, plan, training)
    lines = _lines(plan, training) if why is None else []
    if not lines:
        remove(draft, plan)
        nothing = "no interface is known to NCCL, and the profile sets none of its variables"
        return [why or Decision(STEP, Outcome.SKIPPED, Reason.NOT_ASKED, nothing)]
    before = draft.edits
    there = podspec.volume_named(draft.pod, names.NCCL_CONF_VOLUME)
    if there is not None and not _may_be_ours(there):
        message = f"volume {names.NCCL_CONF_VOLUME} has the name of the one for {names.NCCL_CONF_PATH} and holds something else"
        raise Denied(
            STEP, Reason.INVALID_POD, f"pod {plan.pod_name}: {message}; give it another name"
        )
    if there is None:
        draft.append(
            ("spec", "volumes"), {"name": names.NCCL_CONF_VOLUME, "emptyDir": {"sizeLimit": "1Mi"}}
        )
    wait.ensure(draft, plan, plan.rendezvous, tuple(wait.needs(draft.pod)), "\n".join(lines))
    if not _mounts(training):
        mount = {
            "name": names.NCCL_CONF_VOLUME,
            "mountPath": names.NCCL_CONF_PATH,
            "subPath": "nccl.conf",
            "readOnly": True,
        }
        draft.append(("spec", "containers", plan.container, "volumeMounts"), mount)
    told = f"{names.NCCL_CONF_PATH} of container {plan.container_name} gets {', '.join(line.partition('=')[0] for line in lines)}"
    if draft.edits == before:
        return [Decision(STEP, Outcome.KEPT, Reason.ALREADY_THERE, f"{told}: it is there already")]
    return [Decision(STEP, Outcome.INJECTED, Reason.ADDED, f"{told}, before the image's own lines")]


def remove(draft: Draft, plan: Plan | None = None) -> None:
    """Remove what an earlier injection left of this step; of a wait container that waits too, given the *plan*, only its part."""
    there = podspec.volume_named(draft.pod, names.NCCL_CONF_VOLUME)
    if there is None or not _may_be_ours(there):
        return
    waits = tuple(wait.needs(draft.pod))
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(draft.pod["spec"].get(kind) or ()):
            for position, mount in reversed([*enumerate(podspec.mounts(container))]):
                if mount["name"] == names.NCCL_CONF_VOLUME and _is_ours(mount["mountPath"]):
                    draft.remove(("spec", kind, index, "volumeMounts"), position)
    if waits and plan is not None:
        wait.ensure(draft, plan, plan.rendezvous, waits, "")
    else:
        wait.remove(draft)
    wait.remove_volume(draft, names.NCCL_CONF_VOLUME)


def _may_be_ours(volume: Object) -> bool:
    return volume.keys() <= {"name", "emptyDir"}


def _is_ours(path: str) -> bool:
    """Tell the mounts of this step from those of a user who has a volume of the same name."""
    return podspec.normalized_mount_path(path) in (
        names.NCCL_CONF_PATH,
        names.NCCL_CONF_WRITE_PATH,
        wait.TOKEN_PATH,
    )


def _why_not(draft: Draft, plan: Plan, training: Object) -> Decision | None:
    profile = plan.profile
    if not profile.nccl_conf:
        return Decision(
            STEP,
            Outcome.SKIPPED,
            Reason.NOT_ASKED,
            f"profile {profile.name} does not say ncclConf: true",
        )
    if podspec.is_windows(draft.pod):
        return Decision(
            STEP, Outcome.SKIPPED, Reason.WINDOWS, f"a Windows pod has no {names.NCCL_CONF_PATH}"
        )
    if profile.rendezvous.wait_image:
        message = (
            f"profile {profile.name} says ncclConf: true, and rendezvous.waitImage, which rules it out: in another image the wait step "
            f"cannot read the training image's own {names.NCCL_CONF_PATH}; leave one of the two out"
        )
        return Decision(STEP, Outcome.SKIPPED, Reason.DISABLED, message)
    if podspec.has_env(training, names.ENV_NCCL_CONF_FILE):
        message = f"container {plan.container_name} sets {names.ENV_NCCL_CONF_FILE} itself"
        return Decision(STEP, Outcome.KEPT, Reason.USER_VALUE, message)
    for mount in _mounts(training):
        if mount["name"] != names.NCCL_CONF_VOLUME:
            message = f"container {plan.container_name} mounts volume {mount['name']} at {mount['mountPath']}"
            return Decision(STEP, Outcome.KEPT, Reason.USER_VALUE, message)
    return None


def _mounts(training: Object) -> list[Object]:
    """Return what is mounted at the file already, or at its folder."""
    paths = ("/etc", names.NCCL_CONF_PATH)
    return [
        mount
        for mount in podspec.mounts(training)
        if "etc" in mount["mountPath"]
        and podspec.normalized_mount_path(mount["mountPath"]) in paths
    ]


def _lines(plan: Plan, training: Object) -> list[str]:
    """Return NCCL's settings as the training container has them: its own value wins; one that is not known here is left out."""
    wanted = {name: value for name, value in plan.profile.env.items() if name.startswith("NCCL_")}
    if plan.rendezvous_network is not None and plan.rendezvous_network.interface:
        wanted.setdefault(names.ENV_NCCL_SOCKET_IFNAME, f"={plan.rendezvous_network.interface}")
    lines = []
    own = {entry["name"]: entry for entry in podspec.env(training) if entry["name"] in wanted}
    for name, ours in wanted.items():
        value = podspec.literal(own[name]) if name in own else ours
        if value is not None and len(value) <= _MOST and "$" not in value and value.isprintable():
            lines.append(f"{name}={value}")
    return lines
