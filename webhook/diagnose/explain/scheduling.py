"""Say why a pod was not scheduled, from nodes, scheduler and queue; and whether its node still offers what it uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from webhook.core.cluster.nodes import NodeOffer, judge_supply, place_of, shown_taint
from webhook.core.model import Object
from webhook.core.quantity import format_quantity
from webhook.core.wording import listed
from webhook.diagnose.codes import SHORTAGES, Code
from webhook.diagnose.explain import kueue
from webhook.diagnose.explain.holders import Holders
from webhook.diagnose.explain.observation import Observation, Stage, common_form
from webhook.diagnose.explain.part import Part
from webhook.diagnose.explain.reading import Reading, seconds_since
from webhook.diagnose.finding import Level
from webhook.diagnose.owners import identity

_INSUFFICIENT = re.compile(r"Insufficient ([\w./-]*\w)")
_PREEMPTION = re.compile(r"(?:\. no new claims to deallocate,|\.)? preemption: .*$", re.DOTALL)
"""What a scheduler adds to every reason: that nothing can be preempted."""
_QUOTA = re.compile(r"quota|ClusterQueue|flavor|queue", re.IGNORECASE)
_REMEDIES = {  # of several the first counts
    "persistentvolumeclaim": "create what is named, or correct the pod's volume",
    "were unschedulable": "nodes are cordoned: kubectl uncordon NODE lets pods on them again",
}
_TAINTED = "untolerated taint"
_ROLES = "node-role.kubernetes.io/"
"""Begins the taints of control planes, which no training pod is to tolerate: another reason keeps it off the other nodes."""
_SOON_SECONDS = 30.0
_ON_NO_NODE = "is on no node yet"
_GANG = re.compile(
    r"can possibly be assigned|pod group is not ready|minAvailable|gang unschedulable|optimistic rejection|gets rejected|minMember",
    re.IGNORECASE,
)
"""What schedulers say of a pod of a gang for which there would be a node."""
_NO_NODE = re.compile(r"nodes? are available|node\(s\)|Insufficient|didn't|untolerated")
_GANG_WAITS = "could be placed, and waits for the rest of its gang"


def observe(reading: Reading, parts: Iterable[Part]) -> Iterator[Observation]:
    """Look at pods on no node, and at the nodes of the others."""
    nodes = {node.name: node for node in reading.nodes or ()}
    queue, remedy = _queue_message(reading)
    scheduler = scheduler_messages(reading.events or ())
    holders = Holders(reading)
    pending: list[tuple[Part, str, list[Observation]]] = []
    for part in parts:
        if not part.is_live:
            continue
        if part.node:
            yield from _on_node(reading, part, nodes if reading.nodes is not None else None)
        else:
            told = scheduler.get(part.name, "")
            said = str(part.condition("PodScheduled").get("message") or "") or told
            pending.append(
                (part, said, list(_pending(reading, part, holders, queue, told, remedy)))
            )
    yield from _causes_first(pending)


def _causes_first(pending: Iterable[tuple[Part, str, list[Observation]]]) -> Iterator[Observation]:
    """Yield what is found of pods on no node; of a gang, a pod that only waits for another of its job is a warning.

    *pending*: each with what its scheduler says, and what was found.
    """
    listed = [(part, found, _could_be_placed(part, said, found)) for part, said, found in pending]
    blocked = {
        _gang(part)
        for part, found, could in listed
        if not could and any(one.level == "fail" for one in found)
    }
    for part, found, could in listed:
        if could and _gang(part) in blocked:
            for one in found:
                action = "see what is said of the pods of its gang that cannot be placed"
                yield replace(one, level="warn", message=_GANG_WAITS, action=action)
        else:
            yield from found


def _could_be_placed(part: Part, said: str, found: Iterable[Observation]) -> bool:
    """Tell a pod that its scheduler holds back for others of its gang alone. Source: Volcano's job_info.go, coscheduling's core.go."""
    if not found or any(one.code is not Code.UNSCHEDULABLE for one in found):
        return False
    is_schedulable = part.condition("PodScheduled").get("reason") == "Schedulable"
    return is_schedulable or _waits_for_gang(said)


def _waits_for_gang(said: str) -> bool:
    return _GANG.search(said) is not None and _NO_NODE.search(said) is None


def _gang(part: Part) -> str:
    return identity(part.pod) or part.job or part.name


def _on_node(
    reading: Reading, part: Part, nodes: Mapping[str, NodeOffer] | None
) -> Iterator[Observation]:
    if nodes is None:
        return
    node, pods, subject = nodes.get(part.node), (part.name,), part.node
    if node is None:
        message = f"is bound to node {subject}, which does not exist any more"
        yield Observation(Stage.SCHEDULING, "fail", Code.NODE_GONE, message, pods=pods)
        return
    if node.not_ready:
        message = f"is on node {subject}, which is not Ready: {node.not_ready}"
        yield Observation(Stage.SCHEDULING, "fail", Code.NODE_NOT_READY, message, pods=pods)
    for resource, amount in part.devices.items():
        if node.offered(resource) < amount and not _is_claimed(reading, part, resource):
            there = format_quantity(node.offered(resource))
            message = (
                f"takes {format_quantity(amount)} {resource}, and node {subject} offers {there} now"
            )
            action = f"look at the device plugin of {resource} on {subject}: containers that start again get no device"
            yield Observation(Stage.SCHEDULING, "warn", Code.DEVICES_LOST, message, action, pods)


def _is_claimed(reading: Reading, part: Part, resource: str) -> bool:
    """Tell a resource that the pod has by a claim (DRA), which no node lists; the scheduler made that claim for the pod."""
    if (part.pod.get("status") or {}).get("extendedResourceClaimStatus"):
        return True
    given = reading.device_offers.given(resource)
    return given is not None and bool(given.classes)


def _pending(
    reading: Reading, part: Part, holders: Holders, queue: str, told: str, remedy: str
) -> Iterator[Observation]:
    """Look at a pod on no node. *queue*: what its queue says; *remedy*: what to do of that, empty for what the text shows."""
    pods, scheduled = (part.name,), part.condition("PodScheduled")
    gates = [
        str(each.get("name")) for each in (part.pod.get("spec") or {}).get("schedulingGates") or ()
    ]
    if gates:
        by_kueue = kueue.is_gated(part.pod)
        said = f": {queue}" if by_kueue and queue else ""
        level: Level = "fail" if said else "warn"
        action = "whoever set the gate must remove it"
        if by_kueue:
            action = (
                remedy or _quota_action(queue)
                if said
                else "look at its Workload and LocalQueue: Kueue has not admitted it"
            )
        message = f"is held back by scheduling gate {', '.join(gates)}{said}"
        yield Observation(Stage.SCHEDULING, level, Code.SCHEDULING_GATED, message, action, pods)
        return
    text = str(scheduled.get("message") or "") if scheduled.get("status") == "False" else ""
    text = common_form(_PREEMPTION.sub("", text or told), part.name)

    missing = (
        list(_offered_nowhere(reading, part, reading.nodes)) if reading.nodes is not None else []
    )
    for code, message in missing:
        said = f"the scheduler says: {text}" if text else ""
        yield Observation(Stage.SCHEDULING, "fail", code, message, pods=pods, detail=said)
    if missing:
        return
    if text:
        resources = _INSUFFICIENT.findall(text)
        if queue and not resources and queue not in text:
            text = f"{text}; and of its group: {queue}"  # Volcano tells the pod of its group alone, and the group the reason
        code = Code.RESOURCE_TAKEN if resources else Code.UNSCHEDULABLE
        if resources:
            action = _free(reading, part, holders, dict.fromkeys(resources))
        elif taints := _taints(reading, part, text):
            code, action = Code.TAINT_UNTOLERATED, Code.TAINT_UNTOLERATED.action
            text = f"{text}; {taints}" if reading.nodes else text
        else:
            action = next(
                (remedy for sign, remedy in _REMEDIES.items() if sign in text),
                Code.UNSCHEDULABLE.action,
            )
            if _waits_for_gang(text):
                action = "see why the rest of its gang is not there: its pods, and the quota and policies of the namespace"
        if _QUOTA.search(text):
            code, action = Code.QUEUE_WAITING, _quota_action(text)
        yield Observation(Stage.SCHEDULING, "fail", code, _ON_NO_NODE, action, pods, detail=text)
    elif queue:
        action = remedy or _quota_action(queue)
        yield Observation(
            Stage.SCHEDULING, "fail", Code.QUEUE_WAITING, _ON_NO_NODE, action, pods, detail=queue
        )
    elif (
        seconds_since(part.pod["metadata"].get("creationTimestamp"), reading.now) or 0.0
    ) > _SOON_SECONDS:
        message = f"{_ON_NO_NODE}, and no scheduler says why"
        action = f"is scheduler {(part.pod.get('spec') or {}).get('schedulerName') or 'default-scheduler'} running?"
        yield Observation(Stage.SCHEDULING, "warn", Code.SCHEDULER_SILENT, message, action, pods)


def _taints(reading: Reading, part: Part, text: str) -> str:
    """Name the taints that keep the pod off nodes; empty where it is not certain that a taint does."""
    if _TAINTED not in text:
        return ""
    if not reading.nodes:
        return text if text.count("node(s)") == text.count(_TAINTED) else ""
    place = place_of(part.pod)
    repelling = [
        f"node {node.name} has the taint {shown}"
        for node in reading.nodes
        if node.usable and place.selector <= node.labels.items()
        for shown in map(shown_taint, place.untolerated(node))
        if not shown.startswith(_ROLES)
    ]
    return listed(repelling)


def _free(reading: Reading, part: Part, holders: Holders, resources: Iterable[str]) -> str:
    known = ((resource, holders.of(part.pod, resource)) for resource in resources)
    told = [f"{resource} ({text})" if text else resource for resource, text in known]
    action = f"wait, or free {', '.join(told)} on the nodes"
    if reading.nodes is None:
        action += "; one who may read nodes can tell whether any offers that much under that name"
    elif reading.neighbours is None:
        action += "; one who may list pods of all namespaces can tell who holds it"
    return action


def _quota_action(text: str) -> str:
    if "/" in text:
        return "give the queue or quota the resources that the pods ask for since they are injected"
    return Code.QUEUE_WAITING.action


def _offered_nowhere(
    reading: Reading, part: Part, nodes: Sequence[NodeOffer]
) -> Iterator[tuple[Code, str]]:
    chosen = place_of(part.pod).selector
    for resource, amount in part.devices.items():
        supply = judge_supply(
            nodes, resource, amount, chosen, reading.device_offers.given(resource)
        )
        if supply.shortage and not supply.uncounted:
            also = f", nor does {supply.given} (DRA)" if supply.given else ""
            message = f"asks for {format_quantity(amount)} {resource}, and {supply.message}{also}"
            yield SHORTAGES[supply.shortage], message


def _queue_message(reading: Reading) -> tuple[str, str]:
    """Return what Kueue says of the job by its Workload, and what to do; else what Kueue or Volcano said last by an Event."""
    if reading.workloads:
        held = (kueue.hold_of(workload, reading.now) for workload in reading.workloads)
        return next(
            (
                (hold.said, kueue.action_for_pods(hold))
                for hold in held
                if hold is not None and hold.said
            ),
            ("", ""),
        )
    found = [
        event
        for event in reading.events or ()
        if (event.get("involvedObject") or {}).get("kind")
        in ("Workload", "PodGroup", "Job", "LocalQueue", "Queue")
        and event.get("reason")
        in ("Pending", "Inadmissible", "Unschedulable", "QuotaExceeded", "Waiting")
    ]
    found.sort(key=event_time)
    return (common_form(str(found[-1].get("message") or ""), "") if found else ""), ""


def scheduler_messages(events: Iterable[Object]) -> dict[str, str]:
    """Return what a scheduler said last of each pod, by pod name."""
    found = [
        event for event in events if event.get("reason") in ("FailedScheduling", "Unschedulable")
    ]
    return {
        str((event.get("involvedObject") or {}).get("name")): str(event.get("message") or "")
        for event in sorted(found, key=event_time)
    }


def event_time(event: Object) -> str:
    """Return when the Event happened last, as the API writes times; they sort as text."""
    series = event.get("series") or {}
    return str(
        series.get("lastObservedTime")
        or event.get("lastTimestamp")
        or event.get("eventTime")
        or event["metadata"].get("creationTimestamp")
        or ""
    )
