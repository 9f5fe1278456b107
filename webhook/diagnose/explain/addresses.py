"""Say whether every member is told the address that rank 0 really has, and whether anybody is there to tell it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from webhook.core import names
from webhook.core.reconcile.complaint import UNPUBLISHED
from webhook.core.reconcile.jobs import newest_master, publication
from webhook.core.reconcile.member import is_name
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.observation import Observation, Stage
from webhook.diagnose.explain.part import Part
from webhook.diagnose.explain.reading import Reading
from webhook.diagnose.explain.waiting import seconds_waited
from webhook.diagnose.finding import Code as NewCode
from webhook.diagnose.lease import LEASE_STALE, judge_lease
from webhook.diagnose.wording import counted

_SLACK_SECONDS = 15.0
"""How long a publication may be on its way."""
_MOST_NAMED = 64
"""How many pods a command names."""


def observe(reading: Reading, parts: Iterable[Part]) -> Iterator[Observation]:
    """Look at the controller, and at what it has told each job."""
    jobs: dict[str, list[Part]] = {}
    for part in parts:
        if part.member is not None and part.member.wanted:
            jobs.setdefault(part.member.job, []).append(part)
    untold = 0
    for members in jobs.values():
        lacking, found = _job(reading, members)
        untold += lacking
        yield from found
    if jobs:
        yield from _controller(reading, untold)


def _controller(reading: Reading, untold: int) -> Iterator[Observation]:
    """Look at the controller, which has left *untold* pods without what it should have told them."""
    namespace, title = reading.lease_key[0], f"Lease {'/'.join(reading.lease_key)}"
    code: NewCode | Code = Code.CONTROLLER_SILENT
    said = ""
    whom = f"{counted(untold, 'pod')} of this job"
    message = f"{whom} {'is' if untold == 1 else 'are'} not told of rank 0's address"
    action = f"is the controller running? kubectl -n {namespace} get pods"
    if reading.lease is not None:
        state = judge_lease(reading.lease, reading.now)
        if state.leads:
            message = f"{state.message}, which has not told {whom} of rank 0's address"
            action = f"look at its log: kubectl -n {namespace} logs deployment/fabric-injector-controller"
        else:
            code, said = LEASE_STALE, state.message
            whom = (
                f"nobody tells {whom} of rank 0's address"
                if untold
                else "no pod is told of an address that changes now"
            )
            message = f"{said}: {whom}"
    if untold or said:
        yield Observation(
            Stage.CONTROLLER, "fail" if untold else "warn", code, message, action, subject=title
        )


def _job(reading: Reading, members: Sequence[Part]) -> tuple[int, list[Observation]]:
    """Return how many members the controller should have told something by now, and what is wrong with each."""
    master = newest_master(part.member for part in members if part.member is not None)
    if master is None or not master.secondary.address:
        return 0, list(_by_name(members))
    address = master.secondary.address
    of_master = next(part for part in members if part.name == master.name)
    is_fresh = of_master.seconds_bound(reading) < _SLACK_SECONDS
    untold, found, former = 0, [], list[str]()
    for part in members:
        assert part.member is not None  # noqa: S101  # for mypy: the caller chose them
        told, pods = part.member.published.master_addr, (part.name,)
        if part.name != master.name and (why := _holds_former(part, of_master, address)):
            former.append(part.name)
            found.append(Observation(Stage.ADDRESS, "fail", Code.ADDRESS_FORMER, why, pods=pods))
        if publication(part.member, address) is None or is_fresh:
            continue
        untold += 1
        if told and told != address:
            message = f"is told that rank 0 is at {told}, and {master.name} is at {address}"
            found.append(
                Observation(Stage.ADDRESS, "fail", Code.ADDRESS_OUTDATED, message, pods=pods)
            )
        elif seconds_waited(reading, part) is not None:
            continue  # what it waits for is told
        else:
            own = (
                "its own address"
                if not part.member.devices
                else "what is its own: its address, or its RDMA devices"
            )
            message = f"is not told {own}" if told else f"is not told that rank 0 is at {address}"
            found.append(
                Observation(Stage.ADDRESS, "warn", Code.ADDRESS_UNTOLD, message, pods=pods)
            )
    if former:
        rest = f" and {len(former) - _MOST_NAMED:,} more" if len(former) > _MOST_NAMED else ""
        action = f"restart them, or the job: kubectl delete pod -n {reading.namespace} {' '.join(former[:_MOST_NAMED])}{rest}"
        found = [
            replace(each, action=action) if each.code is Code.ADDRESS_FORMER else each
            for each in found
        ]
    elif not untold:
        whom = f"all {len(members):,} members are" if len(members) > 1 else "it is"
        interface = master.secondary.interface or (
            master.wanted.rpartition("@")[2] if "@" in master.wanted else ""
        )
        where = f"{address} on {interface}" if interface else address
        message = f"rank 0, {master.name}, is at {where}, and {whom} told so"
        if not is_fresh:
            found.append(
                Observation(
                    Stage.SUMMARY, "ok", Code.ADDRESSES_TOLD, message, subject=f"job {master.job}"
                )
            )
    return untold, found


def _by_name(members: Sequence[Part]) -> Iterator[Observation]:
    """Name the members that were given rank 0's name, in a job whose rank 0 has no address."""
    groups: dict[str, list[str]] = {}
    for part in members:
        if part.member is not None and is_name(part.member.published.master_addr):
            groups.setdefault(part.member.published.master_addr, []).append(part.name)
    for name, pods in groups.items():
        message = f"goes by rank 0's name, {name}: rank 0 {UNPUBLISHED}"
        yield Observation(Stage.SUMMARY, "ok", Code.MEETS_BY_NAME, message, "", tuple(pods))


def _holds_former(part: Part, master: Part, address: str) -> str:
    """Say why the training container, which runs, holds another address in its environment than rank 0's present one; else nothing.

    Variables are resolved when a container starts. One that started with rank 0's name, as its wait step says, finds the present one
    by it; one whose wait step says the present address has that.
    """
    waited_for = str(
        (part.state_of(names.WAIT_CONTAINER).get("terminated") or {}).get("message") or ""
    ).strip()
    if is_name(waited_for):
        return ""
    state = part.state_of(str(part.training.get("name")))
    started = str((state.get("running") or {}).get("startedAt") or "")
    if not started or waited_for == address:
        return ""
    if started < str(master.pod["metadata"].get("creationTimestamp") or ""):
        return f"is older than {master.name}, the present rank 0: its environment holds a former one's address"
    if started < _sandbox_made(master) and (waited_for or _is_made_again(master)):
        held = f", {waited_for}" if waited_for else ""
        return (
            f"runs since before the sandbox of rank 0, {master.name}, was made again, as after a reboot of its node: its environment "
            f"holds the former address{held}"
        )
    return ""


def _sandbox_made(part: Part) -> str:
    """Return when its present sandbox was seen ready; empty where the kubelet does not tell. Source: PodReadyToStartContainers."""
    condition = part.condition("PodReadyToStartContainers")
    return (
        str(condition.get("lastTransitionTime") or "") if condition.get("status") == "True" else ""
    )


def _is_made_again(part: Part) -> bool:
    """Tell whether its wait step has ended well more than once, which only another sandbox makes it do."""
    for status in part.container_statuses:
        if status.get("name") == names.WAIT_CONTAINER:
            ended = (status.get("state") or {}).get("terminated") or {}
            before = (status.get("lastState") or {}).get("terminated") or {}
            return bool(status.get("restartCount")) and ended.get("exitCode") == 0 == before.get(
                "exitCode", 0
            )
    return False
