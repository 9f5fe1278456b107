"""Run the profile's sidecars beside the training container, as init containers with ``restartPolicy: Always``.

They stand last: Kubernetes starts them once the pod's own init containers and the wait step are done, before the training container, so
that none of those waits for them. A later pass leaves them where they are. Source: KEP-753; Kubernetes 1.29 has it on.
"""

from __future__ import annotations

from collections.abc import Iterable

from webhook.core import podspec
from webhook.core.draft import Draft
from webhook.core.injection import pod_security, volumes
from webhook.core.injection.ipc_lock import is_not_root
from webhook.core.injection.wait import security_context
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.podspec import normalized_mount_path
from webhook.core.profiles import ProfileSidecar
from webhook.core.profiles.grammar import split_image

STEP = "sidecars"
_INIT_CONTAINERS = ("spec", "initContainers")


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Append the sidecars that the pod does not run yet, by their name or, under another one, by their image.

    Raises Denied for an image or a path of the node that the Configuration does not allow, and where the namespace's PodSecurity level
    would refuse a sidecar and the profile says ``podSecurity: deny``.
    """
    profile = plan.profile
    if not profile.sidecars:
        return [
            Decision(
                STEP, Outcome.SKIPPED, Reason.NOT_ASKED, f"profile {profile.name} gives no sidecars"
            )
        ]
    if podspec.is_windows(draft.pod):
        return [
            Decision(
                STEP,
                Outcome.SKIPPED,
                Reason.WINDOWS,
                "a Windows pod runs no sidecar of the profile",
            )
        ]
    everyone = {each.get("name"): each for each in podspec.containers(draft.pod)}
    everyone |= {each.get("name"): each for each in podspec.init_containers(draft.pod)}
    level = pod_security.refusing_level(plan)
    found: list[Decision] = []
    added: list[str] = []
    for sidecar in profile.sidecars:
        if sidecar.name in everyone:
            found.append(_kept(sidecar, everyone[sidecar.name]))
        elif brought := find_brought(draft.pod, plan, sidecar):
            message = f"container {brought} of the pod's own runs the image of sidecar {sidecar.name}, which is left out"
            found.append(Decision(STEP, Outcome.KEPT, Reason.USER_VALUE, message))
        elif level and (why := _refused(draft.pod, plan, sidecar, level)):
            found += pod_security.refuse(plan, STEP, f"sidecar {sidecar.name} ({why})")
        else:
            found += _add(draft, plan, sidecar, level)
            added.append(sidecar.name)
    if added:
        message = f"{', '.join(added)} {'run' if len(added) > 1 else 'runs'} beside container {plan.container_name}"
        found.insert(0, Decision(STEP, Outcome.INJECTED, Reason.ADDED, message))
    return found


def refused_sidecars(pod: Object, plan: Plan, level: str) -> list[str]:
    """Name the sidecars that the pod would get, and PodSecurity refuses at *level*: ``["sidecar daemon (privileged)"]``."""
    there = {each.get("name") for each in (*podspec.containers(pod), *podspec.init_containers(pod))}
    return [
        f"sidecar {sidecar.name} ({why})"
        for sidecar in plan.profile.sidecars
        if sidecar.name not in there
        and not find_brought(pod, plan, sidecar)
        and (why := _refused(pod, plan, sidecar, level))
    ]


def _kept(sidecar: ProfileSidecar, there: Object) -> Decision:
    if there.get("image") == sidecar.image and podspec.is_sidecar(there):
        return Decision(
            STEP, Outcome.KEPT, Reason.ALREADY_THERE, f"the pod has sidecar {sidecar.name} already"
        )
    message = (
        f"the pod has a container {sidecar.name} of its own, in place of the profile's sidecar"
    )
    return Decision(STEP, Outcome.KEPT, Reason.USER_VALUE, message)


def find_brought(pod: Object, plan: Plan, sidecar: ProfileSidecar) -> str:
    """Return the name of a container of the pod's own that runs the sidecar's image under another name; empty where none does.

    Two daemons of one image would compete for the same cards and ports. Containers of the profile's own sidecars are not meant, nor the
    training container, nor an init container that ends before the training begins.
    """
    training = podspec.containers(pod)[plan.container]
    ours = {each.name for each in plan.profile.sidecars}
    repository = _repository(sidecar.image)
    last = "".join(repository[-1:])
    for container in podspec.running_containers(pod):
        if last not in (container.get("image") or ""):
            continue  # most, of which no more is asked
        name = container.get("name")
        if (
            container is not training
            and name not in ours
            and _runs_image_of(container, sidecar, repository)
        ):
            return str(name)
    return ""


def _runs_image_of(container: Object, sidecar: ProfileSidecar, ours: list[str]) -> bool:
    """Tell whether the container's image is the sidecar's in any version, maybe from a mirror.

    A mirror has another registry, and folders before the repository: the last two parts of its path tell the image. The last part alone
    may be another one's, ``daemon``, unless the container mounts something where the sidecar does, too.
    *ours*: the sidecar's repository.
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
    """Return the path of an image's repository without registry, tag and digest, ``["team", "daemon"]``; nothing for no reference."""
    try:
        name, _ = split_image(image)
    except ValueError:
        return []
    first, *rest = name.split("/")
    is_registry = bool(rest) and (first == "localhost" or "." in first or ":" in first)
    return rest if is_registry else [first, *rest]


def _refused(pod: Object, plan: Plan, sidecar: ProfileSidecar, level: str) -> str:
    """Say what of a sidecar PodSecurity refuses at *level*; empty where it takes it."""
    if why := pod_security.privileges_refused(sidecar, level):
        return why
    paths = volumes.new_host_paths(pod, volumes.named_by(plan.profile, sidecar.mounts))
    return f"hostPath {', '.join(paths)}" if paths else ""


def _add(draft: Draft, plan: Plan, sidecar: ProfileSidecar, level: str) -> list[Decision]:
    if why := plan.allowed.refuses_image(sidecar.image):
        volumes.check_allowed(plan, STEP, [f"sidecar {sidecar.name}: {why}"])
    names, told = volumes.add_volumes(
        draft, plan, STEP, volumes.named_by(plan.profile, sidecar.mounts)
    )
    training = podspec.containers(draft.pod)[plan.container]
    mounts, warnings = volumes.write_mounts(draft.pod, plan, STEP, sidecar.mounts, names)
    container = _container(sidecar, mounts, _security_context(sidecar, training, level))
    draft.append(_INIT_CONTAINERS, container)
    if (sidecar.privileged or sidecar.capabilities) and is_not_root(
        {}, draft.get("spec", "securityContext") or {}
    ):
        message = (
            f"pod {plan.pod_name}: the pod runs as non-root, and so sidecar {sidecar.name}, where what it may do is inert; "
            "leave runAsUser and runAsNonRoot to the containers"
        )
        warnings.append(Decision(STEP, Outcome.WARNED, Reason.NOT_ROOT, message))
    return [*told, *warnings]


def _container(sidecar: ProfileSidecar, mounts: list[Object], context: Object) -> Object:
    container: Object = {"name": sidecar.name, "image": sidecar.image}
    if sidecar.command:
        container["command"] = list(sidecar.command)
    if sidecar.args:
        container["args"] = list(sidecar.args)
    if sidecar.env:
        container["env"] = [{"name": name, "value": value} for name, value in sidecar.env.items()]
    if sidecar.resources:
        container["resources"] = {
            "limits": dict(sidecar.resources),
            "requests": dict(sidecar.resources),
        }
    if context:
        container["securityContext"] = context
    if mounts:
        container["volumeMounts"] = mounts
    container["restartPolicy"] = "Always"
    return container


def _security_context(sidecar: ProfileSidecar, training: Object, level: str) -> Object:
    """Write what the profile gives; at level restricted also the confinement that PodSecurity asks of each container."""
    context: Object = {}
    if level == "restricted":
        context = security_context(training)
        del context["readOnlyRootFilesystem"]
    if sidecar.privileged:
        context["privileged"] = True
    if sidecar.capabilities:
        context["capabilities"] = {
            **(context.get("capabilities") or {}),
            "add": list(sidecar.capabilities),
        }
    return context
