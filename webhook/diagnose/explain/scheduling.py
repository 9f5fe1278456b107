"""Say why a pod was not scheduled: nodes, claims, scheduler, queue; and what its node lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from webhook.core.claim_templates import is_template_name, template_name
from webhook.core.cluster.nodes import judge_supply
from webhook.core.model import Object
from webhook.core.quantity import format_quantity
from webhook.diagnose.common import CLAIM_TEMPLATE_MISSING, RESOURCE_TOO_SMALL, SHORTAGES
from webhook.diagnose.explain import queues
from webhook.diagnose.explain.queues import QUEUE_WAITING
from webhook.diagnose.explain.snapshot import JobSnapshot, ObservedJob
from webhook.diagnose.finding import Code, Finding
from webhook.diagnose.jobs import ObservedPod
from webhook.diagnose.wording import common_form, event_time

UNSCHEDULABLE = Code(
    "unschedulable",
    "scheduling",
    "The scheduler finds no node for the pod.",
    "change the pod or the nodes by what the scheduler says",
)
SCHEDULER_SILENT = Code(
    "scheduler-silent",
    "scheduling",
    "The pod is on no node, and no scheduler says why.",
    "is the scheduler that the pod names running?",
)
SCHEDULING_GATED = Code(
    "scheduling-gated",
    "scheduling",
    "A scheduling gate holds the pod back.",
    "whoever set the gate must remove it; Kueue removes its own once it admits the pod's Workload",
)
CLAIM_SELECTOR_FAILS = Code(
    "claim-selector-fails",
    "claims",
    "A CEL selector of a claim's request cannot be evaluated, so the pod stays Pending.",
    "correct the selector in the claim template, the DeviceClass or the profile",
)
RESOURCE_TAKEN = Code(
    "resource-taken",
    "scheduling",
    "Too little of the resource is free on the nodes that the pod can take.",
    "wait, or free the resource on the nodes",
)
CLAIM_MISSING = Code(
    "claim-missing",
    "claims",
    "A ResourceClaim that the pod names does not exist, so the pod stays Pending.",
    "create it, or correct the name",
)
CLAIM_UNALLOCATED = Code(
    "claim-unallocated",
    "claims",
    "A claim of the pod has no device, since the scheduler has found none that is free and fits.",
    "compare the claim's requests with kubectl get resourceslices, and with other claims",
)
NODE_NOT_READY = Code(
    "node-not-ready",
    "scheduling",
    "The pod's node is not Ready, or does not exist any more.",
    "look at the node's kubelet",
)
_INSUFFICIENT = re.compile(r"Insufficient ([\w./-]*\w)")
_PREEMPTION = re.compile(r"(?:\. no new claims to deallocate,|\.)? preemption: .*$", re.DOTALL)
"""What a scheduler adds to every reason: that nothing can be preempted."""
_BEYOND = re.compile(
    r"0/(\d+) nodes are available: \1 Insufficient [\w./-]+(?:, \1 Insufficient [\w./-]+)*\..*"
    r"preemption: 0/\1 nodes are available: \1 Preemption is not helpful",
    re.DOTALL,
)
"""Said where every node is too small, whatever runs on it. Source: noderesources/fit.go (1.33)."""
_MOST_SAID = 2000
_QUOTA = re.compile(r"quota|ClusterQueue|flavor|queue", re.IGNORECASE)
_CEL = re.compile(r"selector #\d+: CEL (?:runtime|compile) error")
"""Source: kubernetes dynamic-resource-allocation structured/allocator.go."""
_REMEDIES = {  # of several the first counts
    "persistentvolumeclaim": "create what is named, or correct the pod's volume",
    "were unschedulable": "nodes are cordoned: kubectl uncordon NODE lets pods on them again",
}
_TAINTED = "untolerated taint"
_SOON_SECONDS = 30.0
_ON_NO_NODE = "is on no node yet"
_GANG = re.compile(
    r"can possibly be assigned|pod group is not ready|minAvailable|gang unschedulable|"
    r"optimistic rejection|gets rejected|minMember",
    re.IGNORECASE,
)
"""What schedulers say of a pod of a gang for which there would be a node."""
_NO_NODE = re.compile(r"nodes? are available|node\(s\)|Insufficient|didn't|untolerated")


def why_unscheduled(snapshot: JobSnapshot, job: ObservedJob) -> Iterator[Finding]:
    """Look at pods on no node. Of a gang, one that only waits for others is a warning."""
    queue, remedy = _queue_message(snapshot, job)
    scheduler = scheduler_messages(job.warnings)
    pending: list[tuple[ObservedPod, bool, list[Finding]]] = []
    for pod in job.live:
        if pod.node:
            continue
        said = scheduler.get(pod.name, "")
        found = list(_pending(snapshot, job, pod, queue, said, remedy))
        pending.append((pod, _could_be_placed(pod, said, found), found))
    is_blocked = any(
        not could and any(one.level == "fail" for one in found) for _, could, found in pending
    )
    for _, could, found in pending:
        if could and is_blocked:
            action = "correct what is found of the pods of its gang that cannot be placed"
            message = "could be placed, and waits for the rest of its gang"
            found = [replace(one, level="warn", message=message, remedy=action) for one in found]
        yield from found


def _could_be_placed(pod: ObservedPod, said: str, found: Iterable[Finding]) -> bool:
    """Tell a pod that its scheduler holds back only for others of its gang.

    Source: Volcano's job_info.go, coscheduling's core.go.
    """
    if not found or any(one.code is not UNSCHEDULABLE for one in found):
        return False
    scheduled = pod.condition("PodScheduled")
    said = str(scheduled.get("message") or "") or said
    return scheduled.get("reason") == "Schedulable" or _waits_for_gang(said)


def _waits_for_gang(said: str) -> bool:
    return _GANG.search(said) is not None and _NO_NODE.search(said) is None


def _pending(
    snapshot: JobSnapshot, job: ObservedJob, pod: ObservedPod, queue: str, said: str, remedy: str
) -> Iterator[Finding]:
    """Look at a pod on no node.

    *queue*: what its queue says; *remedy*: what to do of that, empty for what the text shows.
    """
    if gates := (pod.pod.get("spec") or {}).get("schedulingGates"):
        yield _gated(pod, [str(each.get("name")) for each in gates], queue, remedy)
        return
    scheduled = pod.condition("PodScheduled")
    text = str(scheduled.get("message") or "")
    waits_for_claims = list(_claims(snapshot, job, pod, text or said))
    yield from waits_for_claims
    if scheduled.get("status") != "False":
        text = ""
    is_beyond = _BEYOND.search((text or said)[:_MOST_SAID]) is not None
    text = common_form(_PREEMPTION.sub("", text or said), pod.name)
    missing = list(_offered_nowhere(snapshot, pod))
    for code, message in missing:
        yield code.fail(pod, message, detail=f"the scheduler says: {text}" if text else "")
    if missing:
        return
    if is_beyond:
        yield RESOURCE_TOO_SMALL.fail(pod, f"asks for more than any node has: {text}")
    elif text:
        yield _unscheduled(pod, text, queue)
    elif queue:
        action = remedy or _quota_action(queue)
        yield QUEUE_WAITING.fail(pod, _ON_NO_NODE, action, detail=queue)
    elif snapshot.age(pod) > _SOON_SECONDS:
        name = (pod.pod.get("spec") or {}).get("schedulerName") or "default-scheduler"
        message = f"{_ON_NO_NODE}, and no scheduler says why"
        yield SCHEDULER_SILENT.warn(pod, message, f"see that scheduler {name} is running")


def _gated(pod: ObservedPod, gates: list[str], queue: str, remedy: str) -> Finding:
    by_kueue = queues.is_gated(pod.pod)
    said = f": {queue}" if by_kueue and queue else ""
    message = f"is held back by scheduling gate {', '.join(gates)}{said}"
    action = "whoever set the gate must remove it"
    if by_kueue:
        action = "look at its Workload and LocalQueue: Kueue has not admitted it"
        if said:
            action = remedy or _quota_action(queue)
    return SCHEDULING_GATED.found("fail" if said else "warn", pod, message, action)


def _unscheduled(pod: ObservedPod, text: str, queue: str) -> Finding:
    """Say what the scheduler's *text* means, and what to do."""
    resources = list(dict.fromkeys(_INSUFFICIENT.findall(text)))
    code, action = UNSCHEDULABLE, UNSCHEDULABLE.action
    if queue and not resources and queue not in text:
        text = f"{text}; and of its group: {queue}"  # Volcano gives the reason to the group alone
    if _CEL.search(text):
        code, action = CLAIM_SELECTOR_FAILS, CLAIM_SELECTOR_FAILS.action
    elif resources:
        code, action = RESOURCE_TAKEN, f"wait, or free {', '.join(resources)} on the nodes"
    elif remedies := [remedy for sign, remedy in _REMEDIES.items() if sign in text]:
        action = remedies[0]
    elif _TAINTED in text and text.count("node(s)") == text.count(_TAINTED):
        action = "give the job, or its profile, a toleration of the nodes' taint"
    elif _waits_for_gang(text):
        action = "see why the rest of its gang is not there: its pods, quota and policies"
    if _QUOTA.search(text):
        code, action = QUEUE_WAITING, _quota_action(text)
    return code.fail(pod, _ON_NO_NODE, action, detail=text)


def _quota_action(text: str) -> str:
    if "/" in text:
        return "give the queue or quota the resources that the pods ask for since they are injected"
    return QUEUE_WAITING.action


def _offered_nowhere(snapshot: JobSnapshot, pod: ObservedPod) -> Iterator[tuple[Code, str]]:
    if snapshot.nodes is None:
        return
    chosen = ((pod.pod.get("spec") or {}).get("nodeSelector") or {}).items()
    for resource, amount in pod.devices.items():
        supply = judge_supply(snapshot.nodes, resource, amount, chosen, snapshot.device_offers)
        if supply.shortage and not supply.uncounted:
            message = f"asks for {format_quantity(amount)} {resource}, and {supply.message}"
            yield SHORTAGES[supply.shortage], message


def _queue_message(snapshot: JobSnapshot, job: ObservedJob) -> tuple[str, str]:
    """Return what Kueue says of the job, and what to do; else what Kueue or Volcano said last."""
    for workload in job.workloads or ():
        hold = queues.hold_of(workload, snapshot.now)
        if hold is not None and hold.said:
            return hold.said, hold.remedy or ""
    if job.workloads:
        return "", ""
    kinds = ("Workload", "PodGroup")
    found = [one for one in job.warnings if (one.get("involvedObject") or {}).get("kind") in kinds]
    last = max(found, key=event_time, default={})
    return common_form(str(last.get("message") or "")), ""


def scheduler_messages(events: Iterable[Object]) -> dict[str, str]:
    """Return what a scheduler said last of each pod, by pod name."""
    reasons = ("FailedScheduling", "Unschedulable")
    found = [event for event in events if event.get("reason") in reasons]
    return {
        str((event.get("involvedObject") or {}).get("name")): str(event.get("message") or "")
        for event in sorted(found, key=event_time)
    }


# claims (DRA)


def _claims(
    snapshot: JobSnapshot, job: ObservedJob, pod: ObservedPod, said: str
) -> Iterator[Finding]:
    """Look at the claims of a pod on no node, as far as they could be read."""
    known, templates = snapshot.claims, snapshot.claim_templates
    if known is None:
        return
    made = made_claims(pod)
    for entry in (pod.pod.get("spec") or {}).get("resourceClaims") or ():
        name, template = entry.get("name"), entry.get("resourceClaimTemplateName")
        named = entry.get("resourceClaimName") or made.get(name)
        if named is None:
            if template and templates is not None and (job.namespace, template) not in templates:
                asks = f"asks by claim {name} for ResourceClaimTemplate {template}"
                message = f"{asks}, which does not exist"
                action = _template_advice(snapshot, job, template)
                yield CLAIM_TEMPLATE_MISSING.fail(pod, message, action)
        elif (claim := known.get((job.namespace, named))) is None:
            message = f"asks by claim {name} for a ResourceClaim that does not exist"
            yield CLAIM_MISSING.fail(pod, message, detail=common_form(named, pod.name))
        elif not (claim.get("status") or {}).get("allocation") and not _CEL.search(said):
            message = f"waits for claim {name}, which is not allocated"
            detail = common_form(said, pod.name)
            yield CLAIM_UNALLOCATED.fail(pod, message, detail=detail)


def made_claims(pod: ObservedPod) -> dict[str, str | None]:
    """Return the ResourceClaims that were made of templates, by their names in the pod."""
    made = (pod.pod.get("status") or {}).get("resourceClaimStatuses") or ()
    return {each.get("name"): each.get("resourceClaimName") for each in made}


def _template_advice(snapshot: JobSnapshot, job: ObservedJob, template: str) -> str:
    """Say what to do about a template that is not there: the controller makes a profile's."""
    every = snapshot.profiles.profiles.values() if snapshot.profiles else ()
    giving = [each.name for each in every if template in map(template_name, each.claims)]
    if not is_template_name(template):
        where = f"the name in FabricProfile {giving[0]}" if giving else "the name"
        return f"create it in namespace {job.namespace}, or correct {where} and restart the job"
    if not giving:
        return "no profile gives it any more: restart the job"
    if said := snapshot.not_ready.get(giving[0]):
        return f"correct FabricProfile {giving[0]}, which is not Ready: {said}"
    return f"the controller makes it for profile {giving[0]}: look at its log"


# the nodes of pods that have one


def what_nodes_lost(snapshot: JobSnapshot, job: ObservedJob) -> Iterator[Finding]:
    """Look at the nodes of pods that are bound."""
    if snapshot.nodes is None:
        return
    nodes = {node.name: node for node in snapshot.nodes}
    for pod in job.live:
        if not pod.node:
            continue
        node = nodes.get(pod.node)
        if node is None:
            message = f"is bound to node {pod.node}, which does not exist any more"
            yield NODE_NOT_READY.fail(pod, message, "delete the pod: its owner makes another")
            continue
        if node.not_ready:
            message = f"is on node {pod.node}, which is not Ready: {node.not_ready}"
            yield NODE_NOT_READY.fail(pod, message)
