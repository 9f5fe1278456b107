"""Look at the two Deployments: whether their pods are ready, and whether one node's failure ends all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from webhook.core.cluster.nodes import Place, place_of
from webhook.core.model import Object
from webhook.diagnose.check.needs import Deployment, Role, deployments
from webhook.diagnose.common import APPLY
from webhook.diagnose.finding import Code, Finding, ok
from webhook.diagnose.lease import LEASE_STALE, judge_lease
from webhook.diagnose.snapshot import Snapshot
from webhook.diagnose.wording import counted
from webhook.kube.catalogue import PODS

DEPLOYMENT_MISSING = Code(
    "deployment-missing",
    "deployments",
    "The Deployment does not exist in this namespace.",
    f"give --system-namespace, or apply the manifests again: {APPLY}",
)
DEPLOYMENT_NOT_READY = Code(
    "deployment-not-ready",
    "deployments",
    "Replicas of the Deployment are not ready, or its rollout does not end.",
    "look at its pods with kubectl describe, and at their logs",
)
REPLICA_SINGLE = Code(
    "replica-single",
    "deployments",
    "The failure of one node ends all of the Deployment.",
    "set replicas: 2",
)
LEASE_AHEAD = Code(
    "lease-ahead",
    "lease",
    "The Lease was renewed at a time to come.",
    "set the clock of the node that the controller runs on",
)
_TASKS: Mapping[Role, str] = {
    "webhook": "no pod of a labelled namespace can be created",
    "controller": "no address is published, and no certificate renewed",
}


class OwnPod(NamedTuple):
    """Hold whose pod it is (a ReplicaSet's name), why it is not ready, its node, where it may go."""

    owner: str
    why: str
    node: str
    place: Place


def check_deployments(snapshot: Snapshot) -> Iterator[Finding]:
    """Say of both whether they run, and why not."""
    found = deployments(snapshot)
    for role, task in _TASKS.items():
        if not any(each.role == role for each in found):
            message = f"there is none in namespace {snapshot.system_namespace}: {task}"
            yield DEPLOYMENT_MISSING.fail(f"Deployment of the {role}", message)
    if not found:
        return
    pods = snapshot.list_all(PODS, read_own_pod, snapshot.system_namespace, partly=True)
    for each in found:
        own = [pod for pod in pods if pod.owner.rpartition("-")[0] == each.name]
        yield _look(snapshot, each, own)


def check_lease(snapshot: Snapshot) -> Iterator[Finding]:
    """Say whether a controller leads."""
    state = judge_lease(snapshot.lease(), snapshot.now)
    subject = f"Lease {snapshot.system_namespace}/fabric-injector"
    if not state.leads:
        consequence = "no address is published, and members of training jobs wait"
        yield LEASE_STALE.fail(subject, f"{state.message}: {consequence}")
    elif state.is_ahead:
        yield LEASE_AHEAD.warn(subject, state.message)
    else:
        yield ok("lease", subject, state.message)


def _look(snapshot: Snapshot, deployment: Deployment, pods: Sequence[OwnPod]) -> Finding:
    subject = f"Deployment {deployment.namespace}/{deployment.name}"
    kubectl, task = f"kubectl -n {deployment.namespace}", _TASKS[deployment.role]
    reasons = dict.fromkeys(pod.why for pod in pods if pod.why)
    why = f" ({'; '.join(reasons)})" if reasons else ""
    if deployment.wanted == 0:
        action = f"{kubectl} scale deployment {deployment.name} --replicas=2"
        return DEPLOYMENT_NOT_READY.fail(subject, f"is scaled to 0 replicas: {task}", action)
    ready = f"{deployment.ready} of {counted(deployment.wanted, 'replica')} ready"
    describe = f"look at {kubectl} describe pods, and at their logs"
    if deployment.ready == 0:
        return DEPLOYMENT_NOT_READY.fail(subject, f"{ready}{why}: {task}", describe)
    if deployment.ready < deployment.wanted:
        return DEPLOYMENT_NOT_READY.warn(subject, f"{ready}{why}", describe)
    if deployment.waiting:
        message = f"{ready}, and {counted(deployment.waiting, 'pod')} of its rollout not{why}"
        return DEPLOYMENT_NOT_READY.warn(subject, message, describe)
    if deployment.wanted == 1:
        return REPLICA_SINGLE.warn(subject, f"{ready}: nobody takes over while its node fails")
    if free := _free_nodes(snapshot, pods):
        message = (
            f"{ready}, all on node {pods[0].node}, and {counted(free, 'other node')} may take one"
        )
        restart = f"{kubectl} rollout restart deployment/{deployment.name}"
        return REPLICA_SINGLE.warn(subject, message, restart)
    return ok("deployments", subject, ready)


def _free_nodes(snapshot: Snapshot, pods: Sequence[OwnPod]) -> int:
    """Count the other nodes that may take a pod, where all are on one."""
    used = {pod.node for pod in pods}
    if len(pods) < 2 or len(used) > 1:  # one pod, or several nodes
        return 0
    return sum(
        node.name not in used and all(pod.place.admits(node) for pod in pods)
        for node in snapshot.nodes()
    )


def read_own_pod(obj: Object) -> OwnPod | None:
    """Keep what matters; None for a pod that is not a ReplicaSet's, or is being deleted."""
    metadata = obj["metadata"]
    owners = metadata.get("ownerReferences") or ()
    owner = next((each for each in owners if each.get("kind") == "ReplicaSet"), None)
    if owner is None or metadata.get("deletionTimestamp"):
        return None
    node = (obj.get("spec") or {}).get("nodeName") or ""
    return OwnPod(owner.get("name") or "", _reason(obj.get("status") or {}), node, place_of(obj))


def _reason(status: Object) -> str:
    conditions = {each.get("type"): each for each in status.get("conditions") or ()}
    if (conditions.get("Ready") or {}).get("status") == "True":
        return ""
    scheduled = conditions.get("PodScheduled") or {}
    if scheduled.get("status") == "False":
        return _reason_and_message(scheduled)
    for container in [
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    ]:
        waiting = (container.get("state") or {}).get("waiting") or {}
        ended = (container.get("lastState") or {}).get("terminated") or {}
        if ended.get("exitCode"):
            restarts = f"{container.get('restartCount')} restarts"
            return f"container {container.get('name')} ended with {ended['exitCode']}, {restarts}"
        if waiting.get("message"):
            return _reason_and_message(waiting)
    return "not ready yet"


def _reason_and_message(holder: Object) -> str:
    return ": ".join(str(holder[key]) for key in ("reason", "message") if holder.get(key))
