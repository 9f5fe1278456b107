"""Say why a pod was not scheduled: nodes, claims, scheduler, queue; and what its node lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from webhook.core.claim_templates import is_template_name, template_name
from webhook.core.cluster.nodes import judge_supply
from webhook.core.quantity import format_quantity
from webhook.diagnose.common import CLAIM_TEMPLATE_MISSING, RESOURCE_TOO_SMALL, SHORTAGES
from webhook.diagnose.explain import queues
from webhook.diagnose.explain.job import ObservedJob
from webhook.diagnose.explain.queues import QUEUE_WAITING
from webhook.diagnose.finding import Code, Finding
from webhook.diagnose.jobs import ObservedPod, is_gated
from webhook.diagnose.snapshot import Snapshot
from webhook.diagnose.wording import common_form, event_time
from webhook.kube.catalogue import RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS

UNSCHEDULABLE = Code(
    "scheduling/unschedulable",
    "The scheduler finds no node for the pod.",
    "change the pod or the nodes by what the scheduler says",
)
SCHEDULER_SILENT = Code(
    "scheduling/scheduler-silent",
    "The pod is on no node, and no scheduler says why.",
    "is the scheduler that the pod names running?",
)
SCHEDULING_GATED = Code(
    "scheduling/scheduling-gated",
    "A scheduling gate holds the pod back.",
    "whoever set the gate must remove it; Kueue removes its own once it admits the pod's Workload",
)
CLAIM_SELECTOR_FAILS = Code(
    "claims/claim-selector-fails",
    "A CEL selector of a claim's request cannot be evaluated, so the pod stays Pending.",
    "correct the selector in the claim template, the DeviceClass or the profile",
)
RESOURCE_TAKEN = Code(
    "scheduling/resource-taken",
    "Too little of the resource is free on the nodes that the pod can take.",
    "wait, or free the resource on the nodes",
)
CLAIM_MISSING = Code(
    "claims/claim-missing",
    "A ResourceClaim that the pod names does not exist, so the pod stays Pending.",
    "create it, or correct the name",
)
CLAIM_UNALLOCATED = Code(
    "claims/claim-unallocated",
    "A claim of the pod has no device, since the scheduler has found none that is free and fits.",
    "compare the claim's requests with kubectl get resourceslices, and with other claims",
)
NODE_NOT_READY = Code(
    "scheduling/node-not-ready",
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
_WAITS_FOR_GANG = "could be placed, and waits for the rest of its gang"
_GANG_ACTION = "correct what is found of the pods of its gang that cannot be placed"
_NO_NODE = re.compile(r"nodes? are available|node\(s\)|Insufficient|didn't|untolerated")


def why_unscheduled(snapshot: Snapshot, job: ObservedJob) -> Iterator[Finding]:
    """Look at pods on no node. Of a gang, one that only waits for others is a warning."""
    queue = _queue_message(job)
    scheduler = job.last_words("FailedScheduling", "Unschedulable")
    found: dict[str, list[Finding]] = {}
    placeable = set()
    for pod in job.live:
        if not pod.node:
            said = scheduler.get(pod.name, "")
            found[pod.name] = list(_pending(snapshot, job, pod, queue, said))
            if _could_be_placed(pod, said, found[pod.name]):
                placeable.add(pod.name)
    others = (one for name, each in found.items() if name not in placeable for one in each)
    is_blocked = any(one.level == "fail" for one in others)
    for name, each in found.items():
        for one in each:
            waits = replace(one, level="warn", message=_WAITS_FOR_GANG, remedy=_GANG_ACTION)
            yield waits if is_blocked and name in placeable else one


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
    snapshot: Snapshot, job: ObservedJob, pod: ObservedPod, queue: tuple[str, str], said: str
) -> Iterator[Finding]:
    """Look at a pod on no node; *queue*: what its queue says, and what to do of that."""
    if gates := (pod.pod.get("spec") or {}).get("schedulingGates"):
        listed = ", ".join(str(each.get("name")) for each in gates)
        message = f"is held back by scheduling gate {listed}"
        if queue[0] and is_gated(pod.pod):
            yield SCHEDULING_GATED.fail(pod, f"{message}: {queue[0]}", queue[1])
        else:
            yield SCHEDULING_GATED.warn(pod, message)
        return
    scheduled = pod.condition("PodScheduled")
    text = str(scheduled.get("message") or "") or said
    yield from _claims(snapshot, job, pod, text)
    text = text if scheduled.get("status") == "False" else said
    is_beyond = _BEYOND.search(text[:_MOST_SAID]) is not None
    text = common_form(_PREEMPTION.sub("", text), pod.name)
    missing = list(_offered_nowhere(snapshot, pod))
    for code, message in missing:
        yield code.fail(pod, message, detail=f"the scheduler says: {text}" if text else "")
    if missing:
        return
    if is_beyond:
        yield RESOURCE_TOO_SMALL.fail(pod, f"asks for more than any node has: {text}")
    elif text:
        yield _unscheduled(pod, text, queue[0])
    elif queue[0]:
        yield QUEUE_WAITING.fail(pod, _ON_NO_NODE, queue[1], detail=queue[0])
    elif job.age(pod) > _SOON_SECONDS:
        name = (pod.pod.get("spec") or {}).get("schedulerName") or "default-scheduler"
        message = f"{_ON_NO_NODE}, and no scheduler says why"
        yield SCHEDULER_SILENT.warn(pod, message, f"see that scheduler {name} is running")


def _unscheduled(pod: ObservedPod, text: str, queue: str) -> Finding:
    """Say what the scheduler's *text* means, and what to do."""
    resources = list(dict.fromkeys(_INSUFFICIENT.findall(text)))
    code, action = UNSCHEDULABLE, None
    if queue and not resources and queue not in text:
        text = f"{text}; and of its group: {queue}"  # Volcano gives the reason to the group alone
    if _CEL.search(text):
        code = CLAIM_SELECTOR_FAILS
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


def _offered_nowhere(snapshot: Snapshot, pod: ObservedPod) -> Iterator[tuple[Code, str]]:
    nodes = snapshot.readable(snapshot.nodes) if pod.devices else None
    if nodes is None:
        return
    chosen = ((pod.pod.get("spec") or {}).get("nodeSelector") or {}).items()
    for resource, amount in pod.devices.items():
        offers = snapshot.device_offers(resource)
        supply = judge_supply(nodes, resource, amount, chosen, offers)
        if supply.shortage and not supply.uncounted:
            message = f"asks for {format_quantity(amount)} {resource}, and {supply.message}"
            yield SHORTAGES[supply.shortage], message


def _queue_message(job: ObservedJob) -> tuple[str, str]:
    """Return what Kueue says of the job, and what to do; else what Kueue or Volcano said last."""
    for workload in job.workloads or ():
        hold = queues.hold_of(workload, job.now)
        if hold is not None and hold.said:
            return hold.said, hold.remedy or _quota_action(hold.said)
    kinds = () if job.workloads else ("Workload", "PodGroup")
    found = [one for one in job.warnings if (one.get("involvedObject") or {}).get("kind") in kinds]
    last = max(found, key=event_time, default={})
    said = common_form(str(last.get("message") or ""))
    return said, _quota_action(said)


# claims (DRA)


def _claims(snapshot: Snapshot, job: ObservedJob, pod: ObservedPod, said: str) -> Iterator[Finding]:
    """Look at the claims of a pod on no node, as far as they could be read."""
    asked = (pod.pod.get("spec") or {}).get("resourceClaims")
    known = snapshot.readable(partial(snapshot.by_key, RESOURCE_CLAIMS)) if asked else None
    if known is None:
        return
    statuses = (pod.pod.get("status") or {}).get("resourceClaimStatuses") or ()
    made = {each.get("name"): each.get("resourceClaimName") for each in statuses}
    for entry in asked or ():
        name, template = entry.get("name"), entry.get("resourceClaimTemplateName")
        named = entry.get("resourceClaimName") or made.get(name)
        if named is None:
            read = partial(snapshot.by_key, RESOURCE_CLAIM_TEMPLATES.metadata)
            templates = snapshot.readable(read) if template else None
            if templates is not None and (job.namespace, template) not in templates:
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


def _template_advice(snapshot: Snapshot, job: ObservedJob, template: str) -> str:
    """Say what to do about a template that is not there: the controller makes a profile's."""
    read = snapshot.readable(snapshot.usable_profiles)
    every = read.profiles.profiles.values() if read and read.profiles else ()
    giving = [each.name for each in every if template in map(template_name, each.claims)]
    if not is_template_name(template):
        where = f"the name in FabricProfile {giving[0]}" if giving else "the name"
        return f"create it in namespace {job.namespace}, or correct {where} and restart the job"
    if not giving:
        return "no profile gives it any more: restart the job"
    if read and (said := read.not_ready.get(giving[0])):
        return f"correct FabricProfile {giving[0]}, which is not Ready: {said}"
    return f"the controller makes it for profile {giving[0]}: look at its log"


# the nodes of pods that have one


def what_nodes_lost(snapshot: Snapshot, job: ObservedJob) -> Iterator[Finding]:
    """Look at the nodes of pods that are bound."""
    nodes = {node.name: node for node in snapshot.nodes()}
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
