"""Look at the two Deployments, and whether a controller leads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.core.wording import counted
from webhook.diagnose.check.needs import Deployment, Role, deployments
from webhook.diagnose.common import APPLY, LEASE_STALE, judge_lease
from webhook.diagnose.finding import Code, Finding, ok
from webhook.diagnose.snapshot import Snapshot

DEPLOYMENT_MISSING = Code(
    "deployments/deployment-missing",
    "The Deployment does not exist in this namespace.",
    f"give --system-namespace, or apply the manifests again: {APPLY}",
)
DEPLOYMENT_NOT_READY = Code(
    "deployments/deployment-not-ready",
    "Replicas of the Deployment are not ready, or its rollout does not end.",
    "look at its pods with kubectl describe, and at their logs",
)
_TASKS: Mapping[Role, str] = {
    "webhook": "no pod of a labelled namespace can be created",
    "controller": "no address is published, and no certificate renewed",
}


def check_deployments(snapshot: Snapshot) -> Iterator[Finding]:
    """Say of both whether they run."""
    found = deployments(snapshot)
    for role, task in _TASKS.items():
        if not any(each.role == role for each in found):
            message = f"there is none in namespace {snapshot.system_namespace}: {task}"
            yield DEPLOYMENT_MISSING.fail(f"Deployment of the {role}", message)
    for each in found:
        yield _judge(each)


def _judge(deployment: Deployment) -> Finding:
    subject = f"Deployment {deployment.namespace}/{deployment.name}"
    kubectl, task = f"kubectl -n {deployment.namespace}", _TASKS[deployment.role]
    if deployment.wanted == 0:
        action = f"{kubectl} scale deployment {deployment.name} --replicas=2"
        return DEPLOYMENT_NOT_READY.fail(subject, f"is scaled to 0 replicas: {task}", action)
    ready = f"{deployment.ready} of {counted(deployment.wanted, 'replica')} ready"
    describe = f"look at {kubectl} describe pods, and at their logs"
    if deployment.ready == 0:
        return DEPLOYMENT_NOT_READY.fail(subject, f"{ready}: {task}", describe)
    if deployment.ready >= deployment.wanted and not deployment.waiting:
        return ok("deployments", subject, ready)
    if deployment.ready >= deployment.wanted:
        ready += f", and {counted(deployment.waiting, 'pod')} of its rollout not"
    return DEPLOYMENT_NOT_READY.warn(subject, ready, describe)


def check_lease(snapshot: Snapshot) -> Iterator[Finding]:
    """Say whether a controller leads."""
    state = judge_lease(snapshot.lease(), snapshot.now)
    subject = f"Lease {snapshot.system_namespace}/fabric-injector"
    if state.leads:
        yield ok("lease", subject, state.message)
    else:
        consequence = "no address is published, and members of training jobs wait"
        yield LEASE_STALE.fail(subject, f"{state.message}: {consequence}")
