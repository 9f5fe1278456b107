"""Run the profile's sidecars beside the training container, as init containers that restart always.

They stand last: Kubernetes starts them once the pod's own init containers and the wait step are
done, before the training container, so that none of those waits for them. A later pass leaves them
where they are. Source: KEP-753; Kubernetes 1.29 has it on.
"""

from collections.abc import Iterable
from typing import Final

from webhook.core import podspec
from webhook.core.draft import Draft
from webhook.core.injection import pod_security, volumes
from webhook.core.injection.ipc_lock import is_not_root
from webhook.core.injection.row import Row, stated
from webhook.core.injection.wait import security_context
from webhook.core.model import Decision, Object, Reason
from webhook.core.plan import Plan
from webhook.core.podspec import normalized_mount_path
from webhook.core.profiles import ProfileSidecar, ProfileVolume
from webhook.core.profiles.grammar import split_image

STEP: Final = Row("sidecars")


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Append the sidecars that the pod does not run yet, by their name or by their image.

    Raises Denied for an image or a path of the node that the Configuration does not allow, and
    where the namespace's PodSecurity level would refuse a sidecar and the profile says
    ``podSecurity: deny``.
    """
    profile = plan.profile
    if not profile.sidecars:
        return [STEP.not_asked(f"profile {profile.name} gives no sidecars")]
    if podspec.is_windows(draft.pod):
        return [STEP.skipped(Reason.WINDOWS, "a Windows pod runs no sidecar of the profile")]
    everyone = {each.get("name"): each for each in podspec.containers(draft.pod)}
    everyone |= {each.get("name"): each for each in podspec.init_containers(draft.pod)}
    level = pod_security.refusing_level(plan)
    found: list[Decision] = []
    added: list[str] = []
    for sidecar in profile.sidecars:
        if sidecar.name in everyone:
            found.append(_kept(sidecar, everyone[sidecar.name]))
        elif brought := find_brought(draft.pod, plan, sidecar):
            message = (
                f"container {brought} of the pod's own runs the image of sidecar {sidecar.name}, "
                "which is left out"
            )
            found.append(STEP.kept(Reason.USER_VALUE, message))
        elif refused := _refused(draft.pod, plan, sidecar, level):
            found += pod_security.refuse(plan, STEP, refused)
        else:
            found += _add(draft, plan, sidecar, level)
            added.append(sidecar.name)
    if added:
        run = "run" if len(added) > 1 else "runs"
        message = f"{', '.join(added)} {run} beside container {plan.container_name}"
        found.insert(0, STEP.added(message))
    return found


def refused_sidecars(pod: Object, plan: Plan, level: str) -> list[str]:
    """Name the new sidecars that *level* refuses: ``["sidecar one (privileged)"]``."""
    there = {each.get("name") for each in podspec.every_container(pod)}
    return [
        refused
        for sidecar in plan.profile.sidecars
        if sidecar.name not in there
        and not find_brought(pod, plan, sidecar)
        and (refused := _refused(pod, plan, sidecar, level))
    ]


def _kept(sidecar: ProfileSidecar, there: Object) -> Decision:
    name = sidecar.name
    if there.get("image") == sidecar.image and podspec.is_sidecar(there):
        return STEP.already_there(f"the pod has sidecar {name} already")
    message = f"the pod has a container {name} of its own, in place of the profile's sidecar"
    return STEP.kept(Reason.USER_VALUE, message)


def find_brought(pod: Object, plan: Plan, sidecar: ProfileSidecar) -> str:
    """Return the name of the pod's own container that runs the sidecar's image; empty where none.

    Two daemons of one image would compete for the same cards and ports. Containers of the profile's
    own sidecars are not meant, nor the training container, nor an init container that ends before
    the training begins.
    """
    training = plan.trainer(pod)
    ours = {each.name for each in plan.profile.sidecars}
    repository = _repository(sidecar.image)
    for container in podspec.running_containers(pod):
        if (
            container is not training
            and container.get("name") not in ours
            and _runs_image_of(container, sidecar, repository)
        ):
            return str(container.get("name"))
    return ""


def _runs_image_of(container: Object, sidecar: ProfileSidecar, ours: list[str]) -> bool:
    """Tell whether the container's image is the sidecar's in any version, maybe from a mirror.

    A mirror has another registry, and folders before the repository: the last two parts of its path
    tell the image. The last part alone may be another one's, ``daemon``, unless the container
    mounts something where the sidecar does, too. *ours*: the sidecar's repository.
    """
    theirs = _repository(container.get("image") or "")
    if not theirs or theirs[-1:] != ours[-1:]:
        return False
    if theirs[-2:] == ours[-2:]:
        return True
    wanted = {mount.mount_path for mount in sidecar.mounts}
    return any(
        normalized_mount_path(mount["mountPath"]) in wanted for mount in podspec.mounts(container)
    )


def _repository(image: str) -> list[str]:
    """Return the path of an image's repository, ``["team", "one"]``; nothing for no reference."""
    try:
        name, _ = split_image(image)
    except ValueError:
        return []
    first, *rest = name.split("/")
    is_registry = bool(rest) and (first == "localhost" or "." in first or ":" in first)
    return rest if is_registry else [first, *rest]


def _refused(pod: Object, plan: Plan, sidecar: ProfileSidecar, level: str) -> str:
    """Name the sidecar, and what of it PodSecurity refuses at *level*; empty where it takes it."""
    if not level:
        return ""
    why = pod_security.privileges_refused(sidecar, level)
    if not why and (paths := volumes.new_host_paths(pod, _volumes_of(plan, sidecar))):
        why = f"hostPath {', '.join(paths.values())}"
    return f"sidecar {sidecar.name} ({why})" if why else ""


def _volumes_of(plan: Plan, sidecar: ProfileSidecar) -> list[ProfileVolume]:
    named = {mount.name for mount in sidecar.mounts}
    return [volume for volume in plan.profile.volumes if volume.name in named]


def _add(draft: Draft, plan: Plan, sidecar: ProfileSidecar, level: str) -> list[Decision]:
    if plan.allowed.refuses_image(sidecar.image):
        raise volumes.not_allowed(plan, STEP)
    names, told = volumes.add_volumes(draft, plan, STEP, _volumes_of(plan, sidecar))
    mounts, warnings = volumes.write_mounts(draft.pod, plan, STEP, sidecar.mounts, names)
    container = stated(
        name=sidecar.name,
        image=sidecar.image,
        command=list(sidecar.command),
        args=list(sidecar.args),
        env=[{"name": name, "value": value} for name, value in sidecar.env.items()],
        resources=stated(limits=dict(sidecar.resources), requests=dict(sidecar.resources)),
        securityContext=_security_context(sidecar, plan.trainer(draft.pod), level),
        volumeMounts=mounts,
        restartPolicy="Always",
    )
    draft.append(("spec", "initContainers"), container)
    is_inert = is_not_root({}, draft.get("spec", "securityContext") or {})
    if is_inert and (sidecar.privileged or sidecar.capabilities):
        message = (
            f"the pod runs as non-root, and so sidecar {sidecar.name}, where what it may do is "
            "inert; leave runAsUser and runAsNonRoot to the containers"
        )
        warnings.append(STEP.warned(plan, Reason.NOT_ROOT, message))
    return [*told, *warnings]


def _security_context(sidecar: ProfileSidecar, training: Object, level: str) -> Object:
    """Write what the profile gives; at restricted also the confinement of that level."""
    context: Object = {}
    if level == "restricted":
        context = security_context(training)
        del context["readOnlyRootFilesystem"]
    if sidecar.privileged:
        context["privileged"] = True
    if sidecar.capabilities:
        capabilities = context.setdefault("capabilities", {})
        capabilities["add"] = list(sidecar.capabilities)
    return context
