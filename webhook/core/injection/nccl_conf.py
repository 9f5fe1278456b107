"""Write NCCL's settings to /etc/nccl.conf too, for ranks that inherit no variable.

mpirun, Slurm and ssh start such ranks. NCCL reads the file after the environment, which outweighs
it; the first line that names a variable counts. A mount hides the image's own file. So the wait
container, which runs the training image and mounts nothing there, writes our lines and then the
image's. Source: NCCL src/misc/param.cc initEnvFunc, setEnvFile.
"""

from collections.abc import Iterable
from typing import Final

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.injection import wait
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Object, Reason
from webhook.core.plan import Plan

STEP: Final = Row("nccl-conf")
_MOST: Final = 1023
"""Characters of a name or a value that NCCL reads."""


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Mount our settings and the image's at /etc/nccl.conf, where the profile asks for it.

    Raises Denied where the user's own volume has the name of the one for it.
    """
    training = plan.trainer(draft.pod)
    is_asked = plan.profile.nccl_conf
    why = _why_not(plan, training) if is_asked else None
    lines = _lines(plan, training) if is_asked and why is None else []
    if not lines:
        return [why] if why is not None else []
    before = draft.edits
    name = names.NCCL_CONF_VOLUME
    there = podspec.volume_named(draft.pod, name)
    if there is not None and not _may_be_ours(there):
        message = (
            f"volume {name} has the name of the one for {names.NCCL_CONF_PATH} and holds something "
            "else; give it another name"
        )
        raise STEP.denied(plan, Reason.INVALID_POD, message)
    if there is None:
        draft.append(("spec", "volumes"), {"name": name, "emptyDir": {"sizeLimit": "1Mi"}})
    wait.ensure(draft, plan, tuple(wait.needs(draft.pod)), "\n".join(lines))
    if not _mounts(training):
        mount = {
            "name": name,
            "mountPath": names.NCCL_CONF_PATH,
            "subPath": "nccl.conf",
            "readOnly": True,
        }
        draft.append(plan.in_trainer("volumeMounts"), mount)
    written = ", ".join([line.partition("=")[0] for line in lines])
    told = f"{names.NCCL_CONF_PATH} of container {plan.container_name} gets {written}"
    if draft.edits == before:
        return [STEP.already_there(f"{told}: it is there already")]
    return [STEP.added(f"{told}, before the image's own lines")]


def remove(draft: Draft) -> None:
    """Remove what an earlier injection left of this step, beside the wait container."""
    there = podspec.volume_named(draft.pod, names.NCCL_CONF_VOLUME)
    if there is None or not _may_be_ours(there):
        return
    for kind in ("containers", "initContainers"):
        for index in range(len(draft.pod["spec"].get(kind) or ())):
            draft.drop(("spec", kind, index, "volumeMounts"), _is_our_mount)
    wait.remove_volume(draft, names.NCCL_CONF_VOLUME)


def _may_be_ours(volume: Object) -> bool:
    return volume.keys() <= {"name", "emptyDir"}


def _is_our_mount(mount: Object) -> bool:
    """Tell the mounts of this step from those of a user who has a volume of the same name."""
    ours = (names.NCCL_CONF_PATH, names.NCCL_CONF_WRITE_PATH, wait.TOKEN_PATH)
    path = podspec.normalized_mount_path(mount["mountPath"])
    return mount["name"] == names.NCCL_CONF_VOLUME and path in ours


def _why_not(plan: Plan, training: Object) -> Decision | None:
    profile, who = plan.profile, f"container {plan.container_name}"
    if profile.rendezvous.wait_image:
        message = (
            f"profile {profile.name} says ncclConf: true, and rendezvous.waitImage, which rules it "
            "out: in another image the wait step cannot read the training image's own "
            f"{names.NCCL_CONF_PATH}; leave one of the two out"
        )
        return STEP.skipped(Reason.DISABLED, message)
    if podspec.has_env(training, names.ENV_NCCL_CONF_FILE):
        return STEP.kept(Reason.USER_VALUE, f"{who} sets {names.ENV_NCCL_CONF_FILE} itself")
    for mount in _mounts(training):
        if mount["name"] != names.NCCL_CONF_VOLUME:
            message = f"{who} mounts volume {mount['name']} at {mount['mountPath']}"
            return STEP.kept(Reason.USER_VALUE, message)
    return None


def _mounts(training: Object) -> list[Object]:
    """Return what is mounted at the file already, or at its folder."""
    paths = ("/etc", names.NCCL_CONF_PATH)
    return [
        mount
        for mount in podspec.mounts(training)
        if podspec.normalized_mount_path(mount["mountPath"]) in paths
    ]


def _lines(plan: Plan, training: Object) -> list[str]:
    """Return NCCL's settings as the container has them, without values that are not known here."""
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
