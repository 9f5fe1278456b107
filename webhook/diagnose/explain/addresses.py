"""Say whether every member knows the address that rank 0 has, and what each wait step waits for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.core import names, podspec
from webhook.core.injection import wait
from webhook.core.reconcile.jobs import newest_master, publication
from webhook.core.reconcile.member import is_name
from webhook.core.wording import counted
from webhook.core.workloads import TrainingPod
from webhook.diagnose.common import LEASE_STALE, judge_lease
from webhook.diagnose.explain.job import ObservedJob
from webhook.diagnose.explain.networks import further_interfaces, meets_on_pod_network
from webhook.diagnose.finding import Code, Finding, ok
from webhook.diagnose.jobs import ObservedPod
from webhook.diagnose.snapshot import Snapshot
from webhook.diagnose.wording import duration

CONTROLLER_SILENT = Code(
    "controller/controller-silent",
    "The controller has not told members of the job what it should have told them by now.",
    "look at the controller's pods and its log",
)
ADDRESS_FORMER = Code(
    "addresses/address-former",
    "The pod runs since before rank 0, or its sandbox, was made again: it holds a former address.",
    "restart these members: delete the pods, or restart the job",
)
ADDRESS_OUTDATED = Code(
    "addresses/address-outdated",
    "The pod holds an address that rank 0 does not have.",
    "see the findings of the controller, which publishes the new one",
)
_SLACK_SECONDS = 15.0
"""How long a publication may be on its way."""
_MOST_NAMED = 64
"""How many pods a command names."""
_PORTS = ("PET_MASTER_PORT", "MASTER_PORT")


def what_members_know(snapshot: Snapshot, job: ObservedJob) -> Iterator[Finding]:
    """Look at what the controller has published to each job, and at the controller."""
    lacking = 0
    for members in job.members.values():
        number, found = _of_job(job, members)
        lacking += number
        yield from found
    yield from _by_name(job)
    if job.members:
        yield from _controller(snapshot, job, lacking)


def _controller(snapshot: Snapshot, job: ObservedJob, lacking: int) -> Iterator[Finding]:
    """Look at the controller, which has published too little to so many pods."""
    namespace = snapshot.system_namespace
    title = f"Lease {namespace}/fabric-injector"
    whom = counted(lacking, "pod")
    action = f"is the controller running? kubectl -n {namespace} get pods"
    state = snapshot.readable(lambda: judge_lease(snapshot.lease(), job.now))
    if state is None:
        if lacking:
            message = f"nobody has published rank 0's address to {whom} of this job"
            yield CONTROLLER_SILENT.fail(title, message, action)
        return
    if not state.leads:
        follows = f"{whom} of this job get no address" if lacking else "no new address is published"
        message = f"{state.message}: {follows}"
        yield LEASE_STALE.found("fail" if lacking else "warn", title, message, action)
    elif lacking:
        message = f"{state.message}, which has not published rank 0's address to {whom} of this job"
        command = f"kubectl -n {namespace} logs deployment/fabric-injector-controller"
        action = f"look at its log: {command}"
        yield CONTROLLER_SILENT.fail(title, message, action)


def _of_job(job: ObservedJob, members: Sequence[ObservedPod]) -> tuple[int, list[Finding]]:
    """Return how many members should have been given something by now, and what is found."""
    known = {pod.name: pod.member for pod in members if pod.member is not None}
    master = newest_master(known.values())
    if master is None or not master.secondary.address:
        return 0, []
    address = master.secondary.address
    rank_zero = next(pod for pod in members if pod.name == master.name)
    is_fresh = job.seconds_bound(rank_zero) < _SLACK_SECONDS
    told = [(pod, _holds_former(pod, rank_zero, address)) for pod in members]
    former = [pod.name for pod, why in told if why and pod is not rank_zero]
    rest = f" and {len(former) - _MOST_NAMED:,} more" if len(former) > _MOST_NAMED else ""
    command = f"kubectl delete pod -n {job.namespace} {' '.join(former[:_MOST_NAMED])}{rest}"
    lacking, found = 0, []
    for pod, why in told:
        member = known[pod.name]
        if why and pod is not rank_zero:
            found.append(ADDRESS_FORMER.fail(pod, why, f"restart them, or the job: {command}"))
        if publication(member, address) is None or is_fresh:
            continue
        lacking += 1
        held = member.published.master_addr
        if held and held != address:
            message = f"has {held} as rank 0's address, and {master.name} is at {address}"
            found.append(ADDRESS_OUTDATED.fail(pod, message))
    if not former and not lacking and not is_fresh:
        promised = master.wanted.rpartition("@")[2] if "@" in master.wanted else ""
        interface = master.secondary.interface or promised
        where = f"{address} ({interface})" if interface else address
        message = f"rank 0, {master.name}, is at {where}; all members know it"
        found.append(ok("addresses", f"job {master.job}", message))
    return lacking, found


def _by_name(job: ObservedJob) -> Iterator[Finding]:
    """Say where a job meets whose members go by rank 0's name."""
    for pod in job.live:
        meets = pod.meets if isinstance(pod.found, TrainingPod) else None
        if not pod.is_injected or meets is None or pod.is_master or not meets_on_pod_network(pod):
            continue
        published = pod.member.published.master_addr if pod.member else ""
        known = [*sorted(meets.hosts), meets.rank_zero or "rank 0"]
        host = published if is_name(published) else known[0]
        port = next(filter(None, map(pod.literals.get, _PORTS)), "")
        where = f"{host}:{port}" if port else host
        interfaces = sorted(further_interfaces(pod))
        trains = f", trains on {interfaces[0]}" if interfaces else ""
        yield ok("addresses", pod, f"meets at {where} on the pod network{trains}")


def _holds_former(pod: ObservedPod, master: ObservedPod, address: str) -> str:
    """Say why a running training container holds another address than rank 0's; else nothing.

    Variables are resolved when a container starts. One that has rank 0's name by its wait step
    finds the present one; one that has the present address is right.
    """
    ended = pod.state_of(names.WAIT_CONTAINER).get("terminated") or {}
    waited_for = str(ended.get("message") or "").strip()
    running = pod.state_of(str(pod.training.get("name"))).get("running") or {}
    started = str(running.get("startedAt") or "")
    if not started or waited_for == address or is_name(waited_for):
        return ""
    if started < master.created:
        return f"started before {master.name}, the present rank 0: it holds a former one's address"
    made = master.since("PodReadyToStartContainers")
    if started < made and (waited_for or is_made_again(master)):
        held = f", {waited_for}" if waited_for else ""
        return (
            f"started before the sandbox of rank 0, {master.name}, was recreated, as by a reboot: "
            f"it holds the former address{held}"
        )
    return ""


def is_made_again(pod: ObservedPod) -> bool:
    """Tell whether its wait step has ended well more than once: another sandbox made it do so."""
    status = pod.status_of(names.WAIT_CONTAINER)
    ended = (status.get("state") or {}).get("terminated") or {}
    before = (status.get("lastState") or {}).get("terminated") or {}
    is_well = ended.get("exitCode") == 0 == before.get("exitCode", 0)
    return bool(status.get("restartCount")) and is_well


# the wait step

WAIT_ENDED = Code(
    "wait/wait-ended",
    "The pod's wait for rank 0's address was ended, for that address will not come.",
    "do what the message says; a wait that is started again then goes on",
)
WAIT_LONG = Code(
    "wait/wait-long",
    "The pod's wait step waits for an address that is not published.",
    "look at rank 0's pod, and at the controller's log",
)

_STUCK = "delete the pod; if its next one waits too, look at the kubelet's log"
_PATIENCE_SECONDS = 60.0
_MEANING = {
    "master-addr": "rank 0's address",
    "master-addr:own": "its own address",
    "local-addr": "its own address",
    "local-addr:own": "its own address",
    **dict.fromkeys(wait.DEVICE_FILES, "the names of its RDMA devices"),
}


def what_they_wait_for(_snapshot: Snapshot, job: ObservedJob) -> Iterator[Finding]:
    """Look at every wait step that runs."""
    groups: dict[tuple[str, ...], list[tuple[str, float]]] = {}
    for pod in job.live:
        if pod.member and pod.member.waits and pod.member.published.wait_ends:
            message = f"will not get rank 0's address: {pod.member.published.wait_ends}"
            yield WAIT_ENDED.fail(pod, message)
        elif (seconds := job.seconds_waited(pod)) is not None:
            groups.setdefault(lacks(pod), []).append((pod.name, seconds))
    for missing, waiting in groups.items():
        pods, longest = [name for name, _ in waiting], max(seconds for _, seconds in waiting)
        what = " and ".join(dict.fromkeys(_MEANING.get(need, need) for need in missing))
        since = duration(longest) if len(waiting) == 1 else f"up to {duration(longest)}"
        if longest < _PATIENCE_SECONDS:
            told = f"waits for {what}" if missing else "is about to start: all addresses are there"
            yield ok("wait", pods, f"{told}, for {since}")
        elif missing:
            yield WAIT_LONG.fail(pods, f"waits for {what}, for {since}")
        else:
            message = f"has waited for {since}, and its annotations hold all that it needs"
            yield WAIT_LONG.fail(pods, message, _STUCK)


def needs(pod: ObservedPod) -> tuple[str, ...]:
    """Return what the wait step waits for, ``("master-addr", "local-addr:own")``, or nothing."""
    return tuple(map(str, wait.needs(pod.pod)))


def lacks(pod: ObservedPod) -> tuple[str, ...]:
    """Return those of its needs that are not published, or are not the address that the pod has."""
    told, own = podspec.annotations(pod.pod), pod.member.secondary.address if pod.member else ""
    missing = []
    for need in needs(pod):
        value = told.get(f"{names.PREFIX}{need.partition(':')[0]}")
        if not value or (need.endswith(":own") and own and value != own):
            missing.append(need)
    return tuple(missing)
