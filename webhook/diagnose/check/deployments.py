"""Look at the two Deployments: which they are, whether their pods are ready, and where they find the profiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from webhook.core import names
from webhook.core.cluster.nodes import NodeOffer, Place, place_of
from webhook.core.model import Object
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import Finding
from webhook.diagnose.wording import counted
from webhook.world.profiles_read import FROM_OBJECTS, ProfilesPlace, option_of, read_place

Role = Literal["webhook", "controller"]
_COMMANDS: dict[str, Role] = {"serve": "webhook", "control": "controller"}
_TASKS: dict[Role, str] = {
    "webhook": "no pod of a labelled namespace can be created",
    "controller": "no address is published, and no certificate renewed",
}


@dataclass(frozen=True, slots=True)
class Deployment:
    """Hold what is kept of a Deployment of ours; *profiles*: where a webhook reads them.

    *waiting*: its pods that are not available.
    *keeps_certificates*: it does not leave them to somebody else, such as cert-manager. *pod_opt_in*: it was given ``--pod-opt-in``.
    """

    name: str
    role: Role
    wanted: int = 1
    ready: int = 0
    waiting: int = 0
    image: str = ""
    account: str = "default"
    profiles: ProfilesPlace = FROM_OBJECTS
    keeps_certificates: bool = True
    pod_opt_in: bool = False
    priority_class: str = ""


class OwnPod(NamedTuple):
    """Hold whose pod it is (a ReplicaSet's name), *why* it is not ready (empty where it is), its node, and where it may go."""

    owner: str
    why: str
    node: str = ""
    place: Place = Place(frozenset(), frozenset())


def read_deployment(obj: Object) -> Deployment | None:
    """Keep what matters; None for a Deployment that runs neither ``serve`` nor ``control``."""
    metadata, spec, status = (
        obj.get("metadata") or {},
        obj.get("spec") or {},
        obj.get("status") or {},
    )
    pod = (spec.get("template") or {}).get("spec") or {}
    for container in pod.get("containers") or ():
        arguments = [*(container.get("command") or ()), *(container.get("args") or ())]
        role = next((_COMMANDS[each] for each in arguments if each in _COMMANDS), None)
        if (
            role is None
            or "injector" not in f"{metadata.get('name')} {container.get('image')} {arguments}"
        ):
            continue
        replicas = spec.get("replicas")
        return Deployment(
            metadata.get("name") or "",
            role,
            1 if replicas is None else replicas,
            status.get("readyReplicas") or 0,
            status.get("unavailableReplicas") or 0,
            container.get("image") or "",
            pod.get("serviceAccountName") or "default",
            read_place(pod, container, arguments),
            option_of(
                container, arguments, "--certificates", "FABRIC_INJECTOR_CONTROL_CERTIFICATES"
            )
            != "none",
            "--pod-opt-in" in arguments
            or option_of(
                container, arguments, "--pod-opt-in", "FABRIC_INJECTOR_CONTROL_POD_OPT_IN"
            ).lower()
            in ("1", "true"),
            pod.get("priorityClassName") or "",
        )
    return None


def read_own_pod(obj: Object) -> OwnPod | None:
    """Keep what matters, as `kubectl describe` would tell it; None for a pod that is not a ReplicaSet's, or is being deleted."""
    metadata = obj["metadata"]
    owner = next(
        (
            each
            for each in metadata.get("ownerReferences") or ()
            if each.get("kind") == "ReplicaSet"
        ),
        None,
    )
    if owner is None or metadata.get("deletionTimestamp"):
        return None
    node = (obj.get("spec") or {}).get("nodeName") or ""
    return OwnPod(owner.get("name") or "", _reason(obj.get("status") or {}), node, place_of(obj))


def check_deployments(
    deployments: Sequence[Deployment],
    pods: Sequence[OwnPod],
    namespace: str,
    nodes: Sequence[NodeOffer] = (),
) -> Iterator[Finding]:
    """Say of both whether they run, and why not, and whether the failure of one of the *nodes* would end all of one."""
    for role in _TASKS:
        found = [each for each in deployments if each.role == role]
        if not found:
            message = f"there is none in namespace {namespace}: {_TASKS[role]}"
            yield Finding("fail", Code.DEPLOYMENT_MISSING, f"Deployment of the {role}", message)
        for each in found:
            yield _look(
                each,
                [pod for pod in pods if pod.owner.rpartition("-")[0] == each.name],
                namespace,
                nodes,
            )
    if len({each.image for each in deployments}) > 1:
        images = ", ".join(f"{each.name}: {each.image}" for each in deployments)
        yield Finding("warn", Code.IMAGES_DIFFER, "Deployments", f"run different images ({images})")


def check_opt_in(deployments: Sequence[Deployment]) -> Iterator[Finding]:
    """Warn of a controller that leaves pods alone which the webhook is called for, since they opted in themselves."""
    for each in deployments:
        if each.role == "controller" and not each.pod_opt_in:
            message = f"lacks --pod-opt-in: pods with label {names.PROFILE} in unlabelled namespaces are injected, and wait in vain"
            yield Finding("fail", Code.OPTED_IN_NOT_SERVED, f"Deployment {each.name}", message)


def _look(
    deployment: Deployment, pods: Sequence[OwnPod], namespace: str, nodes: Sequence[NodeOffer]
) -> Finding:
    reasons = dict.fromkeys(pod.why for pod in pods if pod.why)  # those of a rollout under way too
    why = f" ({'; '.join(reasons)})" if reasons else ""
    subject = f"Deployment {namespace}/{deployment.name}"
    if deployment.wanted == 0:
        action = f"`kubectl -n {namespace} scale deployment {deployment.name} --replicas=2`"
        message = f"is scaled to 0 replicas: {_TASKS[deployment.role]}"
        return Finding("fail", Code.DEPLOYMENT_DOWN, subject, message, action)
    told = f"{deployment.ready} of {counted(deployment.wanted, 'replica')} ready"
    if deployment.ready == 0:
        action = f"look at `kubectl -n {namespace} describe pods`, and at their logs"
        return Finding(
            "fail", Code.DEPLOYMENT_DOWN, subject, f"{told}{why}: {_TASKS[deployment.role]}", action
        )
    if deployment.ready < deployment.wanted:
        action = f"look at `kubectl -n {namespace} get pods`"
        return Finding("warn", Code.DEPLOYMENT_DEGRADED, subject, f"{told}{why}", action)
    if deployment.waiting:
        waiting = f"{counted(deployment.waiting, 'pod')} of image {deployment.image} not ready{why}"
        message = f"{told}, but its rollout is not done: {waiting}"
        action = f"wait; if it stays so, look at `kubectl -n {namespace} describe pods`: is the image the right one?"
        return Finding("warn", Code.ROLLOUT_UNFINISHED, subject, message, action)
    if deployment.wanted < 2:
        return Finding(
            "warn", Code.REPLICA_SINGLE, subject, f"{told}: nobody takes over while its node fails"
        )
    together = {pod.node for pod in pods}
    others = [
        node
        for node in nodes
        if node.name not in together and all(pod.place.admits(node) for pod in pods)
    ]
    if len(pods) > 1 and len(together) == 1 and others:
        free = counted(len(others), "other node")
        message = f"{told}, all on node {pods[0].node}, though {free} may take one: nobody takes over while it fails"
        action = f"`kubectl -n {namespace} rollout restart deployment/{deployment.name}`"
        return Finding("warn", Code.REPLICAS_TOGETHER, subject, message, action)
    return Finding("ok", Code.DEPLOYMENT_READY, subject, told)


def _reason(status: Object) -> str:
    conditions = {each.get("type"): each for each in status.get("conditions") or ()}
    if (conditions.get("Ready") or {}).get("status") == "True":
        return ""
    scheduled = conditions.get("PodScheduled") or {}
    if scheduled.get("status") == "False":
        return _told(scheduled)
    for container in [
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    ]:
        waiting = (container.get("state") or {}).get("waiting") or {}
        ended = (container.get("lastState") or {}).get("terminated") or {}
        if ended.get("exitCode"):
            return f"container {container.get('name')} ended with {ended['exitCode']}, {container.get('restartCount')} restarts"
        if waiting.get("message"):
            return _told(waiting)
    return "not ready yet"


def _told(holder: Object) -> str:
    return ": ".join(str(holder[key]) for key in ("reason", "message") if holder.get(key))
